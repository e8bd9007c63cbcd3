package hash

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
)

// Segments of a large hash can be away: on disk only. Such a segment keeps the number of
// its fields, their bytes, what it knows of expiries, and a filter of the fields. A field that
// the filter does not know is new, so that it need not be read: it is kept in slots and buffer
// until the disk has it, see tails.go.

// maxAway bounds the fields of a segment that can be away.
const maxAway = math.MaxUint16

// len is the number of fields of a segment.
func (s *segment) len() int { return int(s.fields) + len(s.slots) }

// SetPager says where pages are read that are away.
func (h *Hash) SetPager(p structures.Pager) { h.pager = p }

// Away is the number of pages that are on disk only, and their bytes.
func (h *Hash) Away() (pages int, bytes int64) {
	if h.Whole() {
		return 0, 0
	}
	h.table.each(0, func(s *segment) bool {
		if s.away {
			bytes += int64(s.live())
		}
		return true
	})
	return h.table.away, bytes
}

// Whole reports that no page is away.
func (h *Hash) Whole() bool { return h.table == nil || h.table.away == 0 }

// present makes sure that a segment is in memory, which fails if it cannot be read.
func (h *Hash) present(s *segment) bool { return s.used || h.touch(s) }

// touch is present for a segment that was not used since the last visit of Shed.
func (h *Hash) touch(s *segment) bool {
	if !s.away {
		s.used = true
		return true
	}
	if h.pager != nil && h.pager.Tight() {
		h.Shed(s.live())
	}
	return h.fetch(s)
}

// fetch reads a segment that is away.
func (h *Hash) fetch(s *segment) bool {
	c, ok := h.peek(s)
	if !ok {
		return false
	}
	h.table.arrive(s, c)
	s.used = true
	return true
}

// arrive gives a segment that is away what its whole copy has.
func (t *table) arrive(s, c *segment) {
	t.memory -= s.memory()
	t.changed -= s.unwritten()
	s.slots, s.buf, s.dead, s.tail, s.whole = c.slots, c.buf, c.dead, c.tail, c.whole
	s.away, s.fields, s.disk, s.filter = false, 0, 0, nil
	t.changed += s.unwritten()
	t.memory += s.memory()
	t.away--
}

// peek returns a whole copy of a segment that is away.
func (h *Hash) peek(s *segment) (c *segment, ok bool) {
	if h.pager == nil {
		return nil, false
	}
	ok = h.pager.ReadPage(s.id(), func(page []byte) (err error) {
		c, err = h.read(s, page)
		return err
	})
	return c, ok
}

// read makes a whole copy of a segment that is away of its page.
func (h *Hash) read(s *segment, page []byte) (c *segment, err error) {
	if c, err = h.load(s.id(), page); err == nil {
		h.addTo(c, s)
		err = s.matches(c)
	}
	return c, err
}

// matches returns an error if a page is not the one that the index describes.
func (s *segment) matches(c *segment) error {
	if len(c.slots) != s.len() || c.live() != s.live() || c.timed != s.timed || c.nextExpiry < s.nextExpiry {
		return fmt.Errorf("hash page %x of %d fields in %d bytes, %d of them timed, has %d in %d, %d timed: %w",
			s.id(), s.len(), s.live(), s.timed, len(c.slots), c.live(), c.timed, structures.ErrCorrupt)
	}
	return nil
}

// unread reports that a page could not be read for the command under way, which changes
// nothing then.
func (h *Hash) unread() bool {
	return !h.Whole() && h.pager != nil && h.pager.Failed()
}

// each visits the segments as the table does, with their fields. Those that are away
// stay so, unless memory has room. It ends early if one of them cannot be read.
func (h *Hash) each(hash uint64, visit func(s *segment) bool) {
	if h.table.away == 0 {
		h.table.each(hash, visit)
		return
	}
	keep := h.pager != nil && h.pager.Room()
	h.table.each(hash, func(s *segment) bool {
		if s.away && !keep {
			c, ok := h.peek(s)
			return ok && visit(c)
		}
		return h.present(s) && visit(s)
	})
}

// Ready makes sure that the pages of fields, of which there is one in each step of
// names, are in memory: what is done to these fields then does not fail half way. It
// reports false if one of the pages cannot be read.
func (h *Hash) Ready(step int, names ...[]byte) bool {
	return h.ready(step, names, func(*segment, uint64) bool { return false })
}

// ReadyPut is Ready for fields that are to be set, with values and without expiries: names
// has the values too. Pages of fields that are surely new are not needed.
func (h *Hash) ReadyPut(step int, names ...[]byte) bool {
	if h.Whole() {
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
	if h.Whole() {
		return true
	}
	if h.unread() {
		return false
	}
	for i := 0; i < len(names); i += step {
		hash := h.hashOf(names[i])
		if _, _, s := h.table.seek(hash); s != nil && s.away && !unneeded(s, hash) && !h.fetch(s) {
			return false
		}
	}
	return true
}

// Changed is about how many bytes of pages are to be written.
func (h *Hash) Changed() int {
	if h.table == nil {
		return 0
	}
	return h.table.changed
}

// Gather reads every page that is away and reports whether it could.
func (h *Hash) Gather() bool {
	ok := true
	if !h.Whole() {
		h.table.each(0, func(s *segment) bool {
			ok = !s.away || h.fetch(s)
			return ok
		})
	}
	return ok && h.Whole()
}

// shedLooks bounds how many segments one call of Shed looks at for each that it is to
// let go of.
const shedLooks = 64

// Shed lets go of pages, see structures.Paged. It goes round over the hashes of fields.
func (h *Hash) Shed(bytes int) (freed, changed int) {
	t := h.table
	if t == nil || t.segments == 1 {
		return 0, 0
	}
	looks := min(shedLooks*(1+bytes/segmentBytes), 2*t.segments)
	for ; looks > 0 && freed < bytes; looks-- {
		_, level, s := t.seek(h.hand)
		h.hand = after(h.hand, level, s)
		switch {
		case s == nil || s.away && len(s.buf) == 0:
		case s.dirty || !s.stored:
			changed += s.memory()
		case s.away:
			if !h.held(s.id()) {
				freed += t.forget(s)
			}
		case s.used:
			s.used = false
		case len(s.slots) <= maxAway && !h.held(s.id()):
			freed += t.send(s)
		}
	}
	return freed, changed
}

// held reports that a page must stay in memory, as it cannot be read yet.
func (h *Hash) held(id uint64) bool { return h.pager != nil && h.pager.Held(id) }

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

// loadIndex makes the segments of an index, all of them away.
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
		if n == 0 || n > maxAway || live < 2*n || live > math.MaxUint32 || timed > n {
			return fmt.Errorf("hash page %x of %d fields, %d bytes: %w", id, n, live, structures.ErrCorrupt)
		}
		s := &segment{nextExpiry: math.MaxInt64, stored: true, away: true,
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
		h.table.away++
		fields += n
	}
	if pages > 0 || len(rest) > 0 || fields != uint64(h.declared) {
		return fmt.Errorf("index of a hash of %d fields has %d: %w", h.declared, fields, structures.ErrCorrupt)
	}
	return nil
}

// supply takes the page of a segment that is away.
func (h *Hash) supply(id uint64, page []byte) error {
	_, _, s := h.table.seek(id & (id - 1))
	if s == nil || !s.away || s.id() != id {
		return fmt.Errorf("hash page %x is not in the index or was given twice: %w", id, structures.ErrCorrupt)
	}
	c, err := h.read(s, page)
	if err != nil {
		return fmt.Errorf("hash page %x: %w", id, err)
	}
	h.table.arrive(s, c)
	return nil
}

// Taint marks every page as changed. None is away: all that are have been stored as
// they are.
func (h *Hash) Taint() {
	if h.table != nil {
		h.table.each(0, func(s *segment) bool {
			if !s.away {
				h.table.changed -= s.unwritten()
				s.dirty, s.whole = true, true
				h.table.changed += s.unwritten()
			}
			return true
		})
	}
}
