package hash

import (
	"bytes"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
)

// A page that only gained fields since it was written is written by these. On disk they
// follow the entries of the page:
//
//	page   entry ... | tail ...
//	tail   128 | 0 | entry ...       no entry begins so
//
// Entries of a tail are in any order. One may be of a field that an earlier entry has: the
// last one counts. So it does no harm if a tail is there twice, or if the value still has the
// fields of a tail that is there: a segment that is away keeps fields that it got until they are
// sure to be on disk.
const (
	tailMark = "\x80\x00"
	// tailCost is what a tail costs more than its bytes, about: its key, and places for it.
	tailCost = 128
)

func isTail(b []byte) bool { return len(b) >= len(tailMark) && string(b[:len(tailMark)]) == tailMark }

// loadTails adds the fields of tails to a segment that was read.
func (h *Hash) loadTails(s *segment, tails []byte) error {
	for len(tails) > 0 {
		if isTail(tails) {
			tails = tails[len(tailMark):]
			continue
		}
		e, err := parseEntry(tails)
		if err != nil {
			return err
		}
		hash := h.hashOf(e.field)
		if hash&^(math.MaxUint64>>s.depth) != s.prefix {
			return fmt.Errorf("field of another page in a tail: %w", structures.ErrCorrupt)
		}
		s.put(h.keys.Fields, hash, e.field, e.value, e.expiry, nil)
		h.longest = max(h.longest, uint32(len(e.field)), uint32(len(e.value)))
		tails = tails[e.size:]
	}
	s.dirty, s.whole, s.tail = false, false, len(s.buf)
	return nil
}

// may reports that a segment that is away may have a field with a tag on disk.
func (s *segment) may(tag uint32) bool { return s.filter == nil || s.filter.May(tag) }

// takes reports that a segment that is away can get some new fields, without expiries and of so
// many bytes, without being read, and that one with a tag is new.
func (s *segment) takes(tag uint32, fields, size int) bool {
	return !s.may(tag) && s.len()+fields <= segmentFields && s.live()+size <= segmentBytes
}

// has reports that a field may be in a segment that is away.
func (s *segment) has(tag uint32, field []byte) bool {
	if s.may(tag) {
		return true
	}
	_, _, found := s.find(tag, field)
	return found
}

// addTo adds the fields that a segment that is away got to a copy of what the disk has.
func (h *Hash) addTo(c, s *segment) {
	for at := 0; at < len(s.buf); {
		if at == s.tail {
			c.dirty, c.whole, c.tail = false, false, len(c.buf)
		}
		e := readEntry(s.buf, at)
		at += e.size
		hash := h.hashOf(e.field)
		if _, old, found := c.find(c.tag(hash), e.field); !found || !bytes.Equal(old.value, e.value) {
			c.put(h.keys.Fields, hash, e.field, e.value, e.expiry, nil)
		}
	}
	if s.tail == len(s.buf) {
		c.dirty, c.whole, c.tail = false, false, len(c.buf)
	}
}

// send has a segment leave memory, and returns how many bytes that frees.
func (t *table) send(s *segment) (freed int) {
	before := s.memory()
	s.filter = structures.NewFilter(len(s.slots) + len(s.slots)/4)
	for _, p := range s.slots {
		s.filter.Add(p.tag)
	}
	s.fields, s.disk = uint16(len(s.slots)), uint32(s.here())
	s.slots, s.buf, s.dead, s.tail, s.away = nil, nil, 0, 0, true
	freed = before - s.memory()
	t.memory -= freed
	t.away++
	return freed
}

// forget has the fields leave memory that a segment that is away got, and returns how many
// bytes that frees. The disk has them.
func (t *table) forget(s *segment) (freed int) {
	before := s.memory()
	for _, p := range s.slots {
		s.filter.Add(p.tag)
	}
	s.fields += uint16(len(s.slots))
	s.disk += uint32(s.here())
	s.slots, s.buf, s.dead, s.tail = nil, nil, 0, 0
	freed = before - s.memory()
	t.memory -= freed
	return freed
}

// tailed reports that the page of a changed segment is to be written by a tail: one that is
// in memory, and changed a lot, is written whole.
func (s *segment) tailed() bool {
	return s.stored && !s.whole && (s.away || len(s.buf)-s.tail <= s.here()/2)
}

// unwritten is about what writing the segment costs, in bytes.
func (s *segment) unwritten() int {
	switch {
	case !s.dirty:
		return 0
	case s.tailed():
		return tailCost + len(s.buf) - s.tail
	}
	return s.live()
}

// written notes that the segment was written.
func (t *table) written(s *segment) {
	t.changed -= s.unwritten()
	s.dirty, s.whole, s.stored, s.tail = false, false, true, len(s.buf)
}

// Part visits up to n of the pages that changed since Clean, marks them as stored, and
// reports whether there may be more than n others. It goes round again for pages that
// changed behind it: of a hash larger than memory these are soon most of them. Pages that
// are gone are visited by Pages.
func (h *Hash) Part(n int, visit func(id uint64, page []byte)) (more bool) {
	return h.Portion(n, visit, nil)
}

// Portion is Part, but with tails, see structures.Tailed. Without a function for these all
// pages are whole.
func (h *Hash) Portion(n int, visit, tail func(id uint64, page []byte)) (more bool) {
	if h.table == nil {
		return false
	}
	from, left, most := h.part, n*segmentBytes, n*segmentBytes
	h.part = 0
	var buf []byte
	h.table.each(from, func(s *segment) bool {
		if !s.dirty {
			return true
		}
		if left <= 0 {
			h.part = s.prefix
			return false
		}
		left -= s.cost(tail != nil)
		return h.write(s, &buf, visit, tail)
	})
	if h.part != 0 {
		return true
	}
	h.table.each(0, func(s *segment) bool {
		if s.dirty {
			most -= s.cost(tail != nil)
		}
		return most >= 0
	})
	return most < 0
}

// cost is what writing a changed segment costs of a portion.
func (s *segment) cost(tails bool) int {
	if tails && s.tailed() {
		return s.unwritten()
	}
	return segmentBytes
}

// write visits the page of a changed segment, whole or its tail. It reports false if the page
// cannot be read.
func (h *Hash) write(s *segment, buf *[]byte, visit, tail func(id uint64, page []byte)) bool {
	switch {
	case tail != nil && s.tailed():
		*buf = append(append((*buf)[:0], tailMark...), s.buf[s.tail:]...)
		tail(s.id(), *buf)
	case s.away:
		c, ok := h.peek(s)
		if !ok {
			return false
		}
		*buf = c.appendPage((*buf)[:0])
		visit(s.id(), *buf)
	default:
		*buf = s.appendPage((*buf)[:0])
		visit(s.id(), *buf)
	}
	h.table.written(s)
	return true
}
