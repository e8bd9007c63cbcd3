package stream

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// Pages of entries of a large stream can be evicted: on disk only. Such a page has no
// bytes. It keeps its first and last ID, how many entries it has, and how many bytes, so
// that entries are found and counted and whole pages trimmed without it. The last page,
// which XADD needs, is always in memory, and so is what groups know.

// SetPager sets what reads evicted pages.
func (s *Stream) SetPager(p structures.Pager) { s.kept.Pager = p }

// ResidentFrom is the number of the first page that is never evicted.
func (s *Stream) ResidentFrom() uint64 { return 1 << groupShift }

// Evicted is the number of pages that are on disk only, and their bytes.
func (s *Stream) Evicted() (pages int, bytes int64) { return s.kept.Evicted(s.paging()) }

// LoadAll reads every evicted page and reports whether it could.
func (s *Stream) LoadAll() bool { return s.kept.LoadAll(s.paging()) }

// Evict evicts pages, see structures.Paged.
func (s *Stream) Evict(bytes int) (freed, changed int) { return s.kept.Evict(s.paging(), bytes) }

// changedLooks is how many of the pages that changed Changed looks at.
const changedLooks = 8

// Changed is about how many bytes of pages changed since Clean.
func (s *Stream) Changed() int {
	bytes, looks := 0, 0
	for i := 0; i < len(s.dirty); i += 1 + len(s.dirty)/changedLooks {
		looks++
		if p, ok := s.dirty[i].(interface{ memory() int }); ok && !s.dirty[i].leafOf().gone {
			bytes += p.memory()
		}
	}
	return bytes / max(looks, 1) * len(s.dirty)
}

// touch makes sure that page i is in memory, which fails if it cannot be read. Others
// may leave memory for it.
func (s *Stream) touch(i int) bool {
	return s.pages[i].Recent || s.kept.Touch(s.paging(), s.pages[i].id, s.pages[i])
}

// entries returns page i, for a walk that has passed some pages before. The result is nil if it cannot be read.
func (s *Stream) entries(i, passed int) *page {
	p := s.pages[i]
	if p.Recent {
		return p
	}
	if c, ok := s.kept.View(s.paging(), p.id, p, passed); ok {
		return c
	}
	return nil
}

// pinLast makes sure that the last page is in memory.
func (s *Stream) pinLast() error {
	if !s.kept.Whole() && !s.kept.Pin(s.paging(), s.pages[len(s.pages)-1].id, s.pages[len(s.pages)-1]) {
		return fmt.Errorf("last page of a stream cannot be read: %w", structures.ErrCorrupt)
	}
	return nil
}

// appendIndex appends what the head of a large stream has of each page.
func (s *Stream) appendIndex(dst []byte) []byte {
	number, before := uint64(0), uint64(0)
	for _, p := range s.pages {
		first := p.first()
		for _, v := range []uint64{p.id - number, first.Ms - before, first.Seq, p.last.Ms - first.Ms, p.last.Seq,
			uint64(p.live), uint64(p.count - p.live), uint64(p.size())} {
			dst = binary.AppendUvarint(dst, v)
		}
		number, before = p.id, p.last.Ms
	}
	return dst
}

// loadIndex makes the pages of an index, all of them evicted.
func (s *Stream) loadIndex(r *reader, pages uint64) error {
	if pages > uint64(len(r.b)-r.at) {
		return fmt.Errorf("index of %d stream pages in %d bytes: %w", pages, len(r.b)-r.at, structures.ErrCorrupt)
	}
	s.pages = make([]*page, pages)
	number, last := uint64(0), ID{}
	for i := range s.pages {
		distance := r.uvarint()
		first := ID{last.Ms + r.uvarint(), r.uvarint()}
		end := ID{first.Ms + r.uvarint(), r.uvarint()}
		live, dead, size := r.uvarint(), r.uvarint(), r.uvarint()
		number += distance
		if r.bad || distance == 0 || number < distance || number >= s.ResidentFrom() || !last.Less(first) || end.Less(first) ||
			live == 0 || size > math.MaxUint32 || live > size || dead > size {
			return fmt.Errorf("stream page %x from %v to %v: %w", number, first, end, structures.ErrCorrupt)
		}
		p := &page{leaf: leaf{id: number, State: paged.State{Stored: true, Evicted: true}}, last: end, count: int(live + dead), live: int(live),
			span: span{body: int(size), base: first}}
		s.pages[i], last = p, end
		s.kept.Found()
		s.len += p.live
		s.memory += p.memory()
	}
	s.nextPage = number + 1
	return nil
}
