package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Bytes on disk. These numbers are on disk and never change; all of them are
// uvarints.
//
//	head   0 | state | page of entries, or nothing     a small stream without groups
//	head   1 | state | entries | pages of entries | groups
//	                                                   a stream with pages
//	head   2 | as 1 | for each page of entries, in their order:
//	         number - the one before | first ID: milliseconds - those of the last ID of
//	         the page before, sequence number | last ID: milliseconds - those of the
//	         first, sequence number | entries | deleted entries | bytes
//	                                                   a stream with many pages
//	head   3, 4, 5 | state | names | as 0, 1, 2      a stream whose entries were named, or
//	                                                   released by a group
//	names  seconds for which they are remembered | how many of a producer | names ever |
//	       how often one was given again | names that are remembered
//	state  last ID (2) | greatest deleted ID (2) | entries ever
//	group  name | last ID (2) | entries read + 1 | consumers | pending entries
//	       name: length | bytes
//
// The number of a page says what it has:
//
//	bits 40 to 63   0: entries, and the rest grows with the IDs
//	                2^24-1: names of entries, and the rest grows
//	                else the number of a group
//	bit 39          consumers, and the rest is the lowest of their numbers / 64
//	bits 0 to 38    0: the group; else pending entries
//
// Entries are drawn in entry.go, pending ones in pending.go, consumers in sheet.go, names in named.go.
const (
	streamInHead = 0
	streamPaged  = 1
	streamIndex  = 2
	streamNamed  = 3 // what is added to the form of a stream with names

	groupShift = 40
	sheetBit   = 1 << 39
)

// headBytes bounds a stream that is stored in its head.
const headBytes = 4096

func (g *Group) pageID(n uint64) uint64 { return g.number<<groupShift | n }

// promise is what the head of a stream with pages says of them.
type promise struct{ entries, pages, groups uint64 }

// groupPromise is what the page of a group says of its other pages.
type groupPromise struct{ consumers, pending uint64 }

// inHead reports whether the stream is stored without pages.
func (s *Stream) inHead() bool {
	return len(s.groups) == 0 && (s.names == nil || s.names.count == 0) && (len(s.pages) == 0 || len(s.pages) == 1 && len(s.pages[0].buf) <= headBytes)
}

// AppendHead appends the encoding of the head to dst.
func (s *Stream) AppendHead(dst []byte) []byte {
	if s.inHead() {
		dst = s.appendState(dst, streamInHead)
		if len(s.pages) > 0 {
			dst = s.pages[0].appendPage(dst)
		}
		return dst
	}
	form := byte(streamPaged)
	if len(s.pages) > structures.IndexedPages() || !s.kept.Whole() {
		form = streamIndex
	}
	dst = s.appendState(dst, form)
	dst = binary.AppendUvarint(dst, uint64(s.len))
	dst = binary.AppendUvarint(dst, uint64(len(s.pages)))
	dst = binary.AppendUvarint(dst, uint64(len(s.groups)))
	if form == streamIndex {
		dst = s.appendIndex(dst)
	}
	return dst
}

// Form is 1 if versions before cannot read the head or the pages, see structures.Formed.
func (s *Stream) Form() byte {
	if s.names != nil || s.released() {
		return 1
	}
	return 0
}

// released reports whether there are entries that were released.
func (s *Stream) released() bool {
	for _, g := range s.groups {
		if g.nobody.pending > 0 {
			return true
		}
	}
	return false
}

// appendState appends the form of the head and what all forms have.
func (s *Stream) appendState(dst []byte, form byte) []byte {
	if s.Form() == 0 {
		return s.appendCounts(append(dst, form))
	}
	n := s.names
	if n == nil {
		n = &names{window: DefaultWindow()}
	}
	return n.append(s.appendCounts(append(dst, form+streamNamed)))
}

func (s *Stream) appendCounts(dst []byte) []byte {
	return binary.AppendUvarint(appendID(appendID(dst, s.last), s.maxDeleted), s.added)
}

// Decode makes a stream from its head. If it has pages, SetPage must follow for
// each of them, and then Complete. Bytes are copied. A bad head gives ErrCorrupt.
func Decode(head []byte) (*Stream, error) {
	if len(head) == 0 || head[0] > streamIndex+streamNamed {
		return nil, fmt.Errorf("stream head of %d bytes: %w", len(head), structures.ErrCorrupt)
	}
	s := New()
	r := reader{b: head, at: 1}
	s.last, s.maxDeleted, s.added = r.id(), r.id(), r.uvarint()
	form := head[0]
	if form >= streamNamed {
		form -= streamNamed
		s.loadNames(&r)
	}
	if form == streamInHead && s.names != nil && s.names.promised > 0 {
		r.bad = true // names are in pages
	}
	if form != streamInHead {
		s.promised = &promise{r.uvarint(), r.uvarint(), r.uvarint()}
		if s.promised.entries > math.MaxInt64 {
			r.bad = true
		}
		if form == streamIndex && !r.bad {
			if err := s.loadIndex(&r, s.promised.pages); err != nil {
				return nil, err
			}
		}
		return s, r.done("stream head")
	}
	if r.bad || r.at == len(head) {
		return s, r.done("stream head")
	}
	p, err := loadPage(s.nextPage, head[r.at:])
	if err != nil {
		return nil, err
	}
	p.Stored = false
	s.addPage(0, p)
	s.markDirty(p)
	return s, s.checkLast()
}

// addPage puts a page that was read at index i.
func (s *Stream) addPage(i int, p *page) {
	s.pages = slices.Insert(s.pages, i, p)
	s.nextPage = max(s.nextPage, p.id+1)
	s.len += p.live
	s.memory += p.memory()
}

// checkLast reports an error if there is an entry behind the last ID.
func (s *Stream) checkLast() error {
	if n := len(s.pages); n > 0 && s.last.Less(s.pages[n-1].last) {
		return fmt.Errorf("entry %v behind the last ID %v: %w", s.pages[n-1].last, s.last, structures.ErrCorrupt)
	}
	return nil
}

// SetPage takes a stored page, in any order. A bad page, a page that was given
// already, or one for a stream without pages gives ErrCorrupt.
func (s *Stream) SetPage(id uint64, b []byte) error {
	if s.promised == nil {
		return fmt.Errorf("page %x of a stream without pages: %w", id, structures.ErrCorrupt)
	}
	if err := s.setPage(id, b); err != nil {
		return fmt.Errorf("stream page %x: %w", id, err)
	}
	return nil
}

func (s *Stream) setPage(id uint64, b []byte) error {
	number := id >> groupShift
	if number == namesGroup {
		return s.loadNamePage(id, b)
	}
	if number == 0 {
		i, twice := slices.BinarySearchFunc(s.pages, id, func(p *page, id uint64) int { return int(int64(p.id) - int64(id)) })
		if twice && s.pages[i].Evicted {
			return s.kept.Supply(s.paging(), s.pages[i].id, s.pages[i], b)
		}
		if twice || id == 0 {
			return fmt.Errorf("given twice: %w", structures.ErrCorrupt)
		}
		p, err := loadPage(id, b)
		if err == nil {
			s.addPage(i, p)
		}
		return err
	}
	g := s.loading(number)
	n := id & (1<<groupShift - 1)
	switch {
	case n == 0:
		return g.load(b)
	case n&sheetBit != 0:
		return g.loadSheet(n&^sheetBit, b)
	}
	p, err := loadPending(id, b)
	if err != nil {
		return err
	}
	g.nextPage = max(g.nextPage, n)
	g.pending = append(g.pending, p)
	s.memory += p.memory()
	return nil
}

// loading returns the group with a number while pages are read, in which it has no
// name.
func (s *Stream) loading(number uint64) *Group {
	if s.loaded == nil {
		s.loaded = map[uint64]*Group{}
	}
	g := s.loaded[number]
	if g == nil {
		g = s.newGroup(number)
		g.Stored = true
		s.loaded[number] = g
		s.nextGroup = max(s.nextGroup, number+1)
	}
	return g
}

func (g *Group) appendPage(dst []byte) []byte {
	dst = appendID(appendString(dst, []byte(g.name)), g.last)
	dst = binary.AppendUvarint(dst, uint64(g.read+1))
	dst = binary.AppendUvarint(dst, uint64(len(g.consumers)))
	return binary.AppendUvarint(dst, uint64(g.count))
}

// load takes the page of the group itself.
func (g *Group) load(b []byte) error {
	if g.promised != nil {
		return fmt.Errorf("group given twice: %w", structures.ErrCorrupt)
	}
	r := reader{b: b}
	g.name, g.last, g.read = string(r.string()), r.id(), int64(r.uvarint())-1
	g.promised = &groupPromise{r.uvarint(), r.uvarint()}
	if g.read < Unknown {
		r.bad = true
	}
	return r.done("group")
}

// Complete reports an error if pages are missing or do not fit each other. To be
// asked once after the last SetPage.
func (s *Stream) Complete() error {
	if s.promised == nil {
		return nil
	}
	for i := 1; i < len(s.pages); i++ {
		if !s.pages[i-1].last.Less(s.pages[i].base) {
			return fmt.Errorf("stream page %d out of order: %w", i, structures.ErrCorrupt)
		}
	}
	for _, g := range s.loaded {
		if err := g.complete(); err != nil {
			return fmt.Errorf("group %q: %w", g.name, err)
		}
		s.groups[g.name] = g
		s.memory += g.fixedMemory()
	}
	if p := s.promised; p.entries != uint64(s.len) || p.pages != uint64(len(s.pages)) || p.groups != uint64(len(s.groups)) {
		return fmt.Errorf("stream of %d entries, %d pages, %d groups has %d, %d, %d: %w", p.entries, p.pages, p.groups,
			s.len, len(s.pages), len(s.groups), structures.ErrCorrupt)
	}
	if s.names != nil {
		if err := s.completeNames(); err != nil {
			return err
		}
	}
	if !s.kept.Whole() && s.kept.Pager == nil {
		return fmt.Errorf("stream lacks %d pages: %w", s.kept.Count(), structures.ErrCorrupt)
	}
	s.promised, s.loaded = nil, nil
	return errors.Join(s.checkLast(), s.pinLast())
}

// complete puts the pages of a group in order and counts what they have.
func (g *Group) complete() error {
	if g.promised == nil {
		return fmt.Errorf("page of the group is missing: %w", structures.ErrCorrupt)
	}
	slices.SortFunc(g.pending, func(a, b *pendingPage) int { return a.first().Compare(b.first()) })
	for i, p := range g.pending {
		if i > 0 && !g.pending[i-1].last().Less(p.first()) {
			return fmt.Errorf("pages of pending entries overlap: %w", structures.ErrCorrupt)
		}
		for k := range p.records {
			c := g.byNumber[p.records[k].consumer]
			if c == nil {
				return fmt.Errorf("pending entry of consumer %d: %w", p.records[k].consumer, structures.ErrCorrupt)
			}
			if c == g.nobody {
				g.released = max(g.released, p.records[k].time-math.MinInt64)
			}
			c.pending++
			g.enter(p, c)
		}
		g.count += len(p.records)
	}
	if p := g.promised; p.consumers != uint64(len(g.consumers)) || p.pending != uint64(g.count) {
		return fmt.Errorf("%d consumers and %d pending entries of %d and %d: %w",
			len(g.consumers), g.count, p.consumers, p.pending, structures.ErrCorrupt)
	}
	g.promised = nil
	return nil
}
