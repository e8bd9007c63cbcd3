package hash

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// Segments of a large hash can be evicted: on disk only. Such a segment keeps the number of
// its fields, their bytes, what it knows of expiries, and a filter of the fields. A field that
// the filter does not know is new, so that it need not be read: it is kept in slots and buffer
// until the disk has it, see deltas.go.

// maxEvicted bounds the fields of a segment that can be evicted.
const maxEvicted = math.MaxUint16

// len is the number of fields of a segment.
func (s *segment) len() int { return int(s.fields) + len(s.slots) }

// touch makes sure that a segment is in memory, which fails if it cannot be read.
func (h *Hash) touch(s *segment) bool { return s.Recent || h.pages.Touch(h.paging(), s.id(), s) }

// matches returns an error if a page is not the one that the index describes.
func (s *segment) matches(c *segment) error {
	if len(c.slots) != s.len() || c.live() != s.live() || c.timed != s.timed || c.nextExpiry < s.nextExpiry {
		return fmt.Errorf("hash page %x of %d fields in %d bytes, %d of them timed, has %d in %d, %d timed: %w",
			s.id(), s.len(), s.live(), s.timed, len(c.slots), c.live(), c.timed, structures.ErrCorrupt)
	}
	return nil
}

// each visits the segments as the table does, with their fields. Those that are evicted
// stay so, unless memory has room. It ends early if one of them cannot be read.
func (h *Hash) each(hash uint64, visit func(s *segment) bool) {
	if h.pages.Whole() {
		h.table.each(hash, visit)
		return
	}
	h.table.each(hash, func(s *segment) bool {
		c, ok := h.pages.View(h.paging(), s.id(), s, paged.Walking)
		return ok && visit(c)
	})
}

// Ready makes sure that the pages of fields, one in each step of
// names, are in memory: what is done to these fields then does not fail half way. It
// reports false if one of the pages cannot be read.
func (h *Hash) Ready(step int, names ...[]byte) bool {
	return h.ready(step, names, func(*segment, uint64) bool { return false })
}

// ReadyPut is Ready for fields that are to be set, with values and without expiries: names
// has the values too. Pages of fields that are surely new are not needed.
func (h *Hash) ReadyPut(step int, names ...[]byte) bool {
	if h.pages.Whole() {
		return true
	}
	fields, size := (len(names)+step-1)/step, 0
	for _, name := range names {
		size += structures.UvarintLen(uint64(len(name))<<1) + len(name)
	}
	return h.ready(step, names, func(s *segment, hash uint64) bool {
		return s.takes(s.tag(hash), fields, size+fields)
	})
}

// ready is Ready but for segments that are not needed for a hash.
func (h *Hash) ready(step int, names [][]byte, unneeded func(s *segment, hash uint64) bool) bool {
	if h.pages.Whole() {
		return true
	}
	if h.pages.Unread() {
		return false
	}
	for i := 0; i < len(names); i += step {
		hash := h.hashOf(names[i])
		if _, _, s := h.table.seek(hash); s != nil && s.Evicted && !unneeded(s, hash) && !h.pages.Pin(h.paging(), s.id(), s) {
			return false
		}
	}
	return true
}

// appendIndex appends what the head of a large hash has of each page.
func (t *table) appendIndex(dst []byte) []byte {
	before := uint64(0)
	t.each(0, func(s *segment) bool {
		dst = binary.AppendUvarint(dst, s.id()-before)
		before = s.id()
		dst = binary.AppendUvarint(dst, uint64(s.len()))
		dst = binary.AppendUvarint(dst, uint64(s.live()))
		dst = binary.AppendUvarint(dst, uint64(s.timed))
		if s.timed > 0 {
			dst = binary.AppendUvarint(dst, uint64(s.nextExpiry))
		}
		return true
	})
	return dst
}

// loadIndex makes the segments of an index, all of them evicted.
func (h *Hash) loadIndex(rest []byte, pages uint64) error {
	id, fields := uint64(0), uint64(0)
	next := func() (v uint64) {
		v, w := binary.Uvarint(rest)
		if w <= 0 {
			rest = nil
			return 0
		}
		rest = rest[w:]
		return v
	}
	for ; pages > 0 && len(rest) > 0; pages-- {
		id += next()
		n, live, timed := next(), next(), next()
		if n == 0 || n > maxEvicted || live < 2*n || live > math.MaxUint32 || timed > n {
			return fmt.Errorf("hash page %x of %d fields, %d bytes: %w", id, n, live, structures.ErrCorrupt)
		}
		s := &segment{nextExpiry: math.MaxInt64, DeltaState: paged.DeltaState{State: paged.State{Stored: true, Evicted: true}},
			fields: uint16(n), disk: uint32(live), timed: uint32(timed)}
		if timed > 0 {
			s.nextExpiry = int64(next() & math.MaxInt64)
		}
		if err := s.number(id); err != nil {
			return err
		}
		if err := h.hang(s); err != nil {
			return err
		}
		h.pages.Found()
		fields += n
	}
	if pages > 0 || len(rest) > 0 || fields != uint64(h.declared) {
		return fmt.Errorf("index of a hash of %d fields has %d: %w", h.declared, fields, structures.ErrCorrupt)
	}
	return nil
}

// supply takes the page of an evicted segment.
func (h *Hash) supply(id uint64, page []byte) error {
	_, _, s := h.table.seek(id & (id - 1))
	if s == nil || !s.Evicted || s.id() != id {
		return fmt.Errorf("hash page %x is not in the index or was given twice: %w", id, structures.ErrCorrupt)
	}
	if err := h.pages.Supply(h.paging(), id, s, page); err != nil {
		return fmt.Errorf("hash page %x: %w", id, err)
	}
	return nil
}
