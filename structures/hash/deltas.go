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
//	page   entry ... | delta ...
//	delta  128 | 0 | entry ...       no entry begins so
//
// Entries of a delta are in any order. One may be of a field that an earlier entry has: the
// last one counts. So it does no harm if a delta is there twice, or if the value still has the
// fields of a delta that is there: an evicted segment keeps fields that it got until they are
// sure to be on disk.
const deltaMark = "\x80\x00"

func isDelta(b []byte) bool {
	return len(b) >= len(deltaMark) && string(b[:len(deltaMark)]) == deltaMark
}

// loadDeltas adds the fields of deltas to a segment that was read.
func (h *Hash) loadDeltas(s *segment, deltas []byte) error {
	for len(deltas) > 0 {
		if isDelta(deltas) {
			deltas = deltas[len(deltaMark):]
			continue
		}
		e, err := parseEntry(deltas)
		if err != nil {
			return err
		}
		hash := h.hashOf(e.field)
		if hash&^(math.MaxUint64>>s.depth) != s.prefix {
			return fmt.Errorf("field of another page in a delta: %w", structures.ErrCorrupt)
		}
		s.put(h.keys.Fields, hash, e.field, e.value, e.expiry, nil)
		h.longest = max(h.longest, uint32(len(e.field)), uint32(len(e.value)))
		deltas = deltas[e.size:]
	}
	s.Dirty, s.Whole, s.delta = false, false, len(s.buf)
	return nil
}

// may reports that an evicted segment may have a field with a tag on disk.
func (s *segment) may(tag uint32) bool { return s.filter == nil || s.filter.May(tag) }

// takes reports that an evicted segment can get some new fields, without expiries and of so
// many bytes, without being read, and that one with a tag is new.
func (s *segment) takes(tag uint32, fields, size int) bool {
	return !s.may(tag) && s.len()+fields <= segmentFields && s.live()+size <= segmentBytes
}

// has reports that a field may be in an evicted segment.
func (s *segment) has(tag uint32, field []byte) bool {
	if s.may(tag) {
		return true
	}
	_, _, found := s.find(tag, field)
	return found
}

// addTo adds the fields that an evicted segment got to a copy of what the disk has.
func (h *Hash) addTo(c, s *segment) {
	for at := 0; at < len(s.buf); {
		if at == s.delta {
			c.Dirty, c.Whole, c.delta = false, false, len(c.buf)
		}
		e := readEntry(s.buf, at)
		at += e.size
		hash := h.hashOf(e.field)
		if _, old, found := c.find(c.tag(hash), e.field); !found || !bytes.Equal(old.value, e.value) {
			c.put(h.keys.Fields, hash, e.field, e.value, e.expiry, nil)
		}
	}
	if s.delta == len(s.buf) {
		c.Dirty, c.Whole, c.delta = false, false, len(c.buf)
	}
}
