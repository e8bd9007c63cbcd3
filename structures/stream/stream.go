package stream

import (
	"slices"
	"sort"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// Stream is a stream with its groups. The zero Stream is not to be used.
//
// What methods return or pass to a visitor aliases the stream and is valid until its
// next change, unless it says otherwise. What is passed in is copied.
type Stream struct {
	pages []*page // in the order of IDs
	len   int
	last  ID // greatest ID ever, or what SetID made of it
	// maxDeleted is the greatest ID that Delete removed.
	maxDeleted ID
	added      uint64 // entries ever, or what SetID made of it
	nextPage   uint64 // number of the next page of entries

	groups     map[string]*Group
	nextGroup  uint64   // number of the next group if none is free
	freeGroups []uint64 // numbers of groups that are gone

	names *names // of entries, given by producers; nil: none ever, in the standard window

	memory int
	dirty  []storable // pages that changed, some of which may be gone
	dead   int        // how many of them are
	gone   []uint64   // stored pages that are gone

	kept paged.Resident[*page]

	promised *promise          // of the head of a paged stream until it is complete
	loaded   map[uint64]*Group // groups by number, until then
}

// PageLimits say when a page of entries is full. Zero is no limit.
type PageLimits struct {
	Bytes, Entries int
}

// maxPage bounds a page whatever the limits are: an entry is found by reading the
// page from its beginning.
const (
	maxPageBytes   = 64 << 10
	maxPageEntries = 4096
)

// New returns an empty stream.
func New() *Stream { return &Stream{nextPage: 1, nextGroup: 1} }

// Kind returns KindStream.
func (s *Stream) Kind() structures.Kind { return structures.KindStream }

// Empty returns false: a stream without entries is kept.
func (s *Stream) Empty() bool { return false }

// Size estimates the memory held, in bytes.
func (s *Stream) Size() int {
	return int(unsafe.Sizeof(*s)) + s.memory + cap(s.dirty)*16 + cap(s.gone)*8
}

// Len is the number of entries.
func (s *Stream) Len() int { return s.len }

// Nodes is the number of pages that hold entries.
func (s *Stream) Nodes() int { return len(s.pages) }

// Last returns the greatest ID that the stream ever had; 0-0 if it never had any.
func (s *Stream) Last() ID { return s.last }

// MaxDeleted returns the greatest ID that Delete removed.
func (s *Stream) MaxDeleted() ID { return s.maxDeleted }

// Added is the number of entries that were ever added.
func (s *Stream) Added() uint64 { return s.added }

// First returns the ID of the first entry, 0-0 if there is none.
func (s *Stream) First() ID {
	if len(s.pages) == 0 {
		return ID{}
	}
	return s.pages[0].first()
}

// Add appends an entry. pairs are its fields, each before its value. It returns
// false and does nothing if id is not greater than Last.
func (s *Stream) Add(ch *structures.Change, id ID, pairs [][]byte, limits PageLimits) bool {
	if !s.last.Less(id) || s.Unread() {
		return false
	}
	op := byte(opAdd)
	if s.full(id, pairs, limits) {
		op = opAddPage
	}
	ch.Op(op, 2+len(pairs))
	recordID(ch, id)
	for _, b := range pairs {
		ch.Bytes(b)
	}
	s.add(id, pairs, op == opAddPage)
	return true
}

// full reports whether an entry opens a page.
func (s *Stream) full(id ID, pairs [][]byte, l PageLimits) bool {
	if len(s.pages) == 0 {
		return true
	}
	p := s.pages[len(s.pages)-1]
	bytes, entries := maxPageBytes, maxPageEntries
	if l.Bytes > 0 {
		bytes = min(bytes, l.Bytes)
	}
	if l.Entries > 0 {
		entries = min(entries, l.Entries)
	}
	size := len(p.buf)
	for _, b := range pairs {
		size += len(b)
	}
	return p.count >= entries || size >= bytes || !fits(p.last, id)
}

// add appends an entry, in a page of its own if open is set.
func (s *Stream) add(id ID, pairs [][]byte, open bool) {
	var p *page
	if !open {
		p = s.pages[len(s.pages)-1]
		s.memory -= p.memory()
	} else {
		if n := len(s.pages); n > 0 {
			full := s.pages[n-1]
			s.memory -= full.memory()
			full.clip()
			s.memory += full.memory()
		}
		p = newPage(s.nextPage, id, pairs)
		s.nextPage++
		s.pages = append(s.pages, p)
	}
	p.add(id, pairs)
	s.memory += p.memory()
	s.markDirty(p)
	s.len++
	s.added++
	s.last = id
}

// SetID sets what XSETID does. An ID less than that of an entry is the caller's to
// refuse.
func (s *Stream) SetID(ch *structures.Change, last ID, added uint64, maxDeleted ID) {
	if s.Unread() {
		return
	}
	ch.Op(opSetID, 5)
	recordID(ch, last)
	ch.Uint(added)
	recordID(ch, maxDeleted)
	s.last, s.added, s.maxDeleted = last, added, maxDeleted
}

// seek returns the index of the page that has the entry with this ID, if any has,
// and else of the first page behind it.
func (s *Stream) seek(id ID) int {
	return sort.Search(len(s.pages), func(i int) bool { return !s.pages[i].last.Less(id) })
}

// Has reports whether there is an entry with this ID.
func (s *Stream) Has(id ID) bool {
	var e Entry
	return s.Get(&e, id)
}

// Get fills e with an entry. It returns false if there is none with this ID.
func (s *Stream) Get(e *Entry, id ID) bool {
	i := s.seek(id)
	if i == len(s.pages) || id.Less(s.pages[i].floor()) || !s.touch(i) {
		return false
	}
	_, ok := s.pages[i].find(e, id)
	return ok
}

// Delete removes entries and returns how many there were. It records nothing if
// there was none.
func (s *Stream) Delete(ch *structures.Change, ids []ID) (removed int) {
	if !s.Ready(ids...) {
		return 0
	}
	found := ids[:0:0]
	for _, id := range ids {
		if s.remove(id) {
			found = append(found, id)
		}
	}
	if len(found) == 0 {
		return 0
	}
	ch.Op(opDelete, 2*len(found))
	for _, id := range found {
		recordID(ch, id)
	}
	return len(found)
}

// remove deletes an entry, and its page with the last one of it.
func (s *Stream) remove(id ID) bool {
	i := s.seek(id)
	if i == len(s.pages) {
		return false
	}
	p := s.pages[i]
	if id.Less(p.floor()) {
		return false
	}
	var e Entry
	at, ok := p.find(&e, id)
	if !ok {
		return false
	}
	if s.maxDeleted.Less(id) {
		s.maxDeleted = id
	}
	s.len--
	if p.live == 1 {
		s.pages = slices.Delete(s.pages, i, i+1)
		s.memory -= p.memory()
		s.drop(p)
		return true
	}
	s.memory -= p.memory()
	p.erase(at)
	s.memory += p.memory()
	s.markDirty(p)
	return true
}

// markDirty notes that a page changed.
func (s *Stream) markDirty(p storable) {
	if l := p.leafOf(); !l.Dirty {
		l.Dirty = true
		s.dirty = append(s.dirty, p)
	}
}

// drop notes that a page is no longer of the stream.
func (s *Stream) drop(p storable) {
	l := p.leafOf()
	l.gone = true
	if l.Stored {
		s.gone = append(s.gone, l.id)
	}
	if !l.Dirty {
		return
	}
	// A stream that is filled and trimmed between two passes must not keep what it
	// has no more.
	if s.dead++; s.dead > 64 && s.dead > len(s.dirty)/2 {
		s.dirty = slices.DeleteFunc(s.dirty, func(p storable) bool { return p.leafOf().gone })
		s.dead = 0
	}
}
