package hash

import (
	"math"

	"github.com/vigildb/vigil/structures"
)

// ExpireAt gives a field an expiry in absolute milliseconds; less than 1 is
// taken as 1. It returns false if there is no such field. An expiry in the
// past does not delete the field.
func (h *Hash) ExpireAt(ch *structures.Change, field []byte, ms int64) bool {
	e, found := h.find(field)
	if !found || h.pages.Unread() {
		return false
	}
	ms = max(ms, 1)
	if e.expiry == ms {
		return true
	}
	ch.Op(opHashExpireAt, 2)
	ch.Bytes(field)
	ch.Int(ms)
	h.reput(field, &e, ms)
	return true
}

// Persist takes the expiry of a field away, and reports whether there was one.
func (h *Hash) Persist(ch *structures.Change, field []byte) bool {
	e, found := h.find(field)
	if !found || e.expiry == 0 || h.pages.Unread() {
		return false
	}
	ch.Op(opHashPersist, 1)
	ch.Bytes(field)
	h.reput(field, &e, 0)
	return true
}

// reput gives an entry another expiry. The value is copied, because the entry
// moves as it changes its size.
func (h *Hash) reput(field []byte, e *entry, expiry int64) {
	var room [256]byte
	h.put(field, append(room[:0], e.value...), expiry)
}

// ExpiryOf returns the expiry of a field, whether it has one, and whether the
// field is there at all. An expired field is there.
func (h *Hash) ExpiryOf(field []byte) (ms int64, has, found bool) {
	e, found := h.find(field)
	return e.expiry, e.expiry != 0, found
}

// NextExpiry returns a time before which no field expires, and false if no
// field has an expiry. The time may be early, after an expiry was taken away;
// ExpireFields at that time makes it exact.
func (h *Hash) NextExpiry() (ms int64, ok bool) {
	return h.nextExpiry, h.nextExpiry != math.MaxInt64
}

// ExpireFields deletes up to limit fields that are expired at now and passes
// each to visit, which may be nil. It returns how many there were; fewer than
// limit means that none is left. Each is recorded as deleted. The field passed
// is valid only during the call.
func (h *Hash) ExpireFields(ch *structures.Change, now int64, limit int, visit func(field []byte)) int {
	if h.nextExpiry > now || limit <= 0 {
		return 0
	}
	removed := 0
	expire := func(e *entry) {
		ch.Op(opHashDelete, 1)
		ch.Bytes(e.field)
		if visit != nil {
			visit(e.field)
		}
		removed++
	}
	nextExpiry := int64(math.MaxInt64)
	if h.table == nil {
		nextExpiry = h.pack.expire(now, limit, expire)
	} else {
		h.table.each(0, func(s *segment) bool {
			before := removed
			if s.nextExpiry <= now && h.touch(s) {
				h.expireSegment(s, now, limit-removed, expire)
			}
			nextExpiry = min(nextExpiry, s.nextExpiry)
			if removed > before {
				h.settle(s)
			}
			return removed < limit
		})
	}
	h.count -= removed
	h.timed -= removed
	if removed < limit {
		h.nextExpiry = nextExpiry
	}
	if h.timed == 0 {
		h.nextExpiry = math.MaxInt64
	}
	h.repack()
	return removed
}

// expireSegment deletes up to limit expired fields of a segment, whose bound
// on the next expiry becomes exact.
func (h *Hash) expireSegment(s *segment, now int64, limit int, expire func(e *entry)) {
	nextExpiry := int64(math.MaxInt64)
	for i := 0; i < len(s.slots); {
		e := readEntry(s.buf, int(s.slots[i].at))
		if e.expired(now) && limit > 0 {
			expire(&e)
			h.take(s, i, &e)
			limit--
			continue
		}
		if e.expiry != 0 {
			nextExpiry = min(nextExpiry, e.expiry)
		}
		i++
	}
	s.nextExpiry = nextExpiry
}
