package hash

import "github.com/vigildb/vigil/structures"

// walk visits all entries, expired ones included, until visit returns false:
// a small hash in the order of arrival, a larger one in the order of hashes.
func (h *Hash) walk(visit func(e entry) bool) {
	if h.table == nil {
		h.pack.each(visit)
		return
	}
	h.each(0, func(s *segment) bool {
		for _, p := range s.slots {
			e := readEntry(s.buf, int(p.at))
			if !visit(e) {
				return false
			}
		}
		return true
	})
}

// Each visits the fields that are not expired at now (0: all), with their
// values and expiries (0 for none): a small hash in the order in which fields
// arrived, a larger one in no order that means anything.
func (h *Hash) Each(now int64, visit func(field, value []byte, expiry int64)) {
	h.walk(func(e entry) bool {
		if !e.expired(now) {
			visit(e.field, e.value, e.expiry)
		}
		return true
	})
}

// EachField visits all fields, expired ones included, until visit returns false.
func (h *Hash) EachField(visit func(field []byte) bool) {
	h.walk(func(e entry) bool { return visit(e.field) })
}

// Live is the number of fields that are not expired at now. It costs O(1)
// unless fields can be expired, and then a walk.
func (h *Hash) Live(now int64) int {
	if h.nextExpiry > now {
		return h.count
	}
	n := 0
	h.walk(func(e entry) bool {
		if !e.expired(now) {
			n++
		}
		return true
	})
	return n
}

// Scan visits about count fields (at least one) that are not expired at now,
// and returns the cursor for the next call. Cursor 0 begins, and is returned at
// the end. A small hash is visited whole.
//
// A cursor hides the first 31 bits of a hash: the scan goes through the fields in
// the order of their hashes. Fields that are there from the first call to the
// last are visited at least once, however the hash grows or shrinks meanwhile,
// and more than once only if it shrinks.
func (h *Hash) Scan(cursor uint64, count int, now int64, visit func(field, value []byte)) (next uint64) {
	keys := h.keys.Cursors
	return keys.Hide(h.ScanFrom(keys.Reveal(cursor), structures.CursorBits, count, now, visit))
}

// ScanFrom is Scan with positions in place of cursors: the first bits of a hash, at most
// 31 of them.
func (h *Hash) ScanFrom(position uint64, bits, count int, now int64, visit func(field, value []byte)) (next uint64) {
	if h.table == nil {
		h.Each(now, func(field, value []byte, _ int64) { visit(field, value) })
		return 0
	}
	last, from := position, position<<(64-bits)
	count = max(count, 1)
	h.each(from, func(s *segment) bool {
		i := 0
		if from > s.prefix {
			i = s.lower(s.tag(from))
		}
		for ; i < len(s.slots); i++ {
			p := s.slots[i]
			// Fields with the same position must be visited together.
			at := s.hashOf(p.tag) >> (64 - bits)
			if count <= 0 && at > last {
				next = at
				return false
			}
			e := readEntry(s.buf, int(p.at))
			if !e.expired(now) {
				visit(e.field, e.value)
			}
			last = max(last, at)
			count--
		}
		return true
	})
	return next
}

// Random returns a field that is not expired at now, each with the same chance
// if segments are equally full. Draw returns a number from 0 to n-1,
// each with the same chance. A hash without such a field gives false.
func (h *Hash) Random(now int64, draw func(n int) int) (field, value []byte, ok bool) {
	// Fields that are expired but there make an attempt fail; when most are,
	// a walk finds one of the others.
	const attempts = 64
	for range attempts {
		if h.count == 0 || h.pages.Unread() {
			return nil, nil, false
		}
		if e, found := h.draw(draw); found && !e.expired(now) {
			return e.field, e.value, true
		}
	}
	seen := 0
	h.walk(func(e entry) bool {
		if e.expired(now) {
			return true
		}
		if seen++; draw(seen) == 0 {
			field, value = e.field, e.value
		}
		return true
	})
	return field, value, seen > 0
}

// draw makes an attempt to find a random entry. In a table of many segments it
// chooses a hash, and accepts the segment there in proportion to how densely it
// is filled: taking any would prefer fields of sparse segments. A bound of four
// times the mean density lets a quarter of the attempts succeed.
func (h *Hash) draw(draw func(n int) int) (e entry, found bool) {
	const (
		few   = 64
		bits  = 30
		dense = 4
	)
	if h.table == nil || h.table.segments <= few {
		return h.nth(draw(h.count))
	}
	_, _, s := h.table.seek(uint64(draw(1<<bits)) << (64 - bits))
	if s == nil {
		return entry{}, false
	}
	limit := uint64(draw(1<<bits)) * uint64(h.count) >> (bits - 2)
	if uint64(s.len())<<s.depth < limit || !h.touch(s) {
		return entry{}, false
	}
	return readEntry(s.buf, int(s.slots[draw(len(s.slots))].at)), true
}

// nth returns entry n in the order of walk, passing over whole segments.
func (h *Hash) nth(n int) (found entry, ok bool) {
	if h.table == nil {
		h.walk(func(e entry) bool {
			if n == 0 {
				found, ok = e, true
			}
			n--
			return !ok
		})
		return found, ok
	}
	h.table.each(0, func(s *segment) bool {
		if n < s.len() {
			if ok = h.touch(s); ok {
				found = readEntry(s.buf, int(s.slots[n].at))
			}
			return false
		}
		n -= s.len()
		return true
	})
	return found, ok
}

// Sample visits count different random fields that are not expired at now, or
// all if there are fewer, as HRANDFIELD with a positive count does. Draw is as
// for Random.
func (h *Hash) Sample(now int64, count int, draw func(n int) int, visit func(field, value []byte)) {
	taken := map[string]struct{}{}
	live := h.Live(now)
	count = min(count, live)
	if live > 1024 && count < live/4 {
		// A few of many: drawn one by one, twice drawn ones again. If chance
		// does not give enough, the choice below completes them.
		for range 4 * count {
			field, value, ok := h.Random(now, draw)
			if _, twice := taken[string(field)]; !ok || twice {
				continue
			}
			taken[string(field)] = struct{}{}
			visit(field, value)
			if len(taken) == count {
				return
			}
		}
	}
	// Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S.
	left, need := live-len(taken), count-len(taken)
	h.walk(func(e entry) bool {
		if _, twice := taken[string(e.field)]; twice || e.expired(now) {
			return true
		}
		if need > 0 && draw(left) < need {
			visit(e.field, e.value)
			need--
		}
		left--
		return need > 0
	})
}
