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
const tailMark = "\x80\x00"

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
	s.Dirty, s.Whole, s.tail = false, false, len(s.buf)
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
			c.Dirty, c.Whole, c.tail = false, false, len(c.buf)
		}
		e := readEntry(s.buf, at)
		at += e.size
		hash := h.hashOf(e.field)
		if _, old, found := c.find(c.tag(hash), e.field); !found || !bytes.Equal(old.value, e.value) {
			c.put(h.keys.Fields, hash, e.field, e.value, e.expiry, nil)
		}
	}
	if s.tail == len(s.buf) {
		c.Dirty, c.Whole, c.tail = false, false, len(c.buf)
	}
}
