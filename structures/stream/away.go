package stream

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"github.com/vigildb/vigil/structures"
)

// Pages of entries of a large stream can be away: on disk only. Such a page has no
// bytes. It keeps its first and last ID, how many entries it has, and how many bytes, so
// that entries are found and counted and whole pages trimmed without it. The last page,
// which XADD needs, is always in memory, and so is what groups know.

// SetPager says where pages are read that are away.
func (s *Stream) SetPager(p structures.Pager) { s.pager = p }

// ResidentFrom is the number of the first page that is never away.
func (s *Stream) ResidentFrom() uint64 { return 1 << groupShift }

// Away is the number of pages that are on disk only, and their bytes.
func (s *Stream) Away() (pages int, bytes int64) {
	for i := 0; i < len(s.pages) && s.away > 0; i++ {
		if p := s.pages[i]; p.away {
			bytes += int64(p.size())
		}
	}
	return s.away, bytes
}

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

// size is the number of bytes of a page.
func (p *page) size() int {
	if p.away {
		return p.body
	}
	return len(p.buf)
}

// present makes sure that a page is in memory, which fails if it cannot be read. Others
// may leave memory for it.
func (s *Stream) present(p *page) bool { return p.recent || s.use(p) }

// use is present for a page that was not used since the last visit of Shed.
func (s *Stream) use(p *page) bool {
	if p.away {
		s.makeRoom(p.size())
	}
	return s.hold(p)
}

// makeRoom has pages leave memory if it is exceeded by far.
func (s *Stream) makeRoom(bytes int) {
	if s.pager != nil && s.pager.Tight() {
		s.Shed(bytes)
	}
}

// hold is present without others leaving memory.
func (s *Stream) hold(p *page) bool {
	if p.away {
		c := s.peek(p)
		if c == nil {
			return false
		}
		s.adopt(p, c)
	}
	p.recent = true
	return true
}

// peek returns a copy of a page that is away, nil if it cannot be read.
func (s *Stream) peek(p *page) (c *page) {
	if s.pager == nil || !s.pager.ReadPage(p.id, func(b []byte) (err error) {
		c, err = p.match(b)
		return err
	}) {
		return nil
	}
	return c
}

// match makes a page of stored bytes, which have to be those that the index describes.
func (p *page) match(b []byte) (*page, error) {
	c, err := loadPage(p.id, b)
	if err == nil && (c.first() != p.first() || c.last != p.last || c.count != p.count || c.live != p.live || len(b) != p.size()) {
		err = fmt.Errorf("stream page %x from %v to %v with %d of %d entries in %d bytes is one from %v to %v with %d of %d in %d: %w",
			p.id, p.first(), p.last, p.live, p.count, p.size(), c.first(), c.last, c.live, c.count, len(b), structures.ErrCorrupt)
	}
	return c, err
}

// adopt brings a page in whose copy was read.
func (s *Stream) adopt(p, c *page) {
	p.span, p.away, p.lent = c.span, false, false
	s.memory += cap(p.buf)
	s.away--
}

// visitAway passes the bytes of a page that is away to visit.
func (s *Stream) visitAway(p *page, visit func(id uint64, page []byte)) bool {
	return s.pager != nil && s.pager.ReadPage(p.id, func(b []byte) error {
		visit(p.id, b)
		return nil
	})
}

// supply takes the bytes of a page that is away.
func (s *Stream) supply(p *page, b []byte) error {
	c, err := p.match(b)
	if err == nil {
		s.adopt(p, c)
	}
	return err
}

// keptPages is the number of pages that a walk keeps in memory: those near an end are
// likely to be asked for again.
const keptPages = 16

// entries returns page i, for a walk that has passed some pages before. One that is away
// is kept if it is among the first or memory has room, else it is a copy. The result is
// nil if it cannot be read.
func (s *Stream) entries(i, passed int) *page {
	p := s.pages[i]
	if p.recent {
		return p
	}
	if p.away && passed >= keptPages && (s.pager == nil || !s.pager.Room()) {
		return s.peek(p)
	}
	if !s.use(p) {
		return nil
	}
	return p
}

// holdLast makes sure that the last page is in memory.
func (s *Stream) holdLast() error {
	if s.away > 0 && !s.hold(s.pages[len(s.pages)-1]) {
		return fmt.Errorf("last page of a stream cannot be read: %w", structures.ErrCorrupt)
	}
	return nil
}

// Gather reads every page that is away and reports whether it could.
func (s *Stream) Gather() bool {
	for i := 0; i < len(s.pages) && s.away > 0; i++ {
		if !s.hold(s.pages[i]) {
			return false
		}
	}
	return true
}

const (
	// shedLooks bounds how many pages one call of Shed looks at for each that it is to
	// let go of. Those in memory can lie side by side, far from where it begins.
	shedLooks = 256
	// shedSize is what a page is taken to have for that.
	shedSize = 4096
)

// Shed lets go of pages, see structures.Paged. It goes round from the first page to the
// one before the last.
func (s *Stream) Shed(bytes int) (freed, changed int) {
	last := len(s.pages) - 1
	if last < 1 {
		return 0, 0
	}
	at := sort.Search(last, func(i int) bool { return s.pages[i].id >= s.hand })
	for looks := min(shedLooks*(1+bytes/shedSize), 2*last); looks > 0 && freed < bytes; looks-- {
		if at == last {
			at = 0
		}
		p := s.pages[at]
		at++
		switch {
		case p.away:
		case p.dirty:
			changed += cap(p.buf)
		case p.recent:
			p.recent = false
		case s.pager != nil && s.pager.Held(p.id):
		default:
			freed += cap(p.buf)
			s.leave(p)
		}
	}
	s.hand = s.pages[at].id
	return freed, changed
}

// leave lets go of the bytes of a page.
func (s *Stream) leave(p *page) {
	s.memory -= cap(p.buf)
	p.span = span{body: len(p.buf), base: p.first()}
	p.away, p.lent = true, false
	s.away++
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

// loadIndex makes the pages of an index, all of them away.
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
		p := &page{leaf: leaf{id: number, stored: true}, away: true, last: end, count: int(live + dead), live: int(live),
			span: span{body: int(size), base: first}}
		s.pages[i], last = p, end
		s.len += p.live
		s.memory += p.memory()
	}
	s.away, s.nextPage = len(s.pages), number+1
	return nil
}
