package hash

import "bytes"

// Fields lie in the order of their hashes in every hash of a store. Where one lies in a
// table says where to look in the others, so that hashes are compared without hashing
// a field.

// EachShared visits the fields that all others have too, expired ones included, until
// visit returns false. All hashes are of one store.
func (h *Hash) EachShared(others []*Hash, visit func(field []byte) bool) {
	h.eachNear(func(n near, field []byte) bool {
		for _, other := range others {
			if !other.hasNear(n, field) {
				return true
			}
		}
		return visit(field)
	})
}

// EachMissing visits the fields that none of the others has, expired ones included, until
// visit returns false. All hashes are of one store.
func (h *Hash) EachMissing(others []*Hash, visit func(field []byte) bool) {
	h.eachNear(func(n near, field []byte) bool {
		for _, other := range others {
			if other.hasNear(n, field) {
				return true
			}
		}
		return visit(field)
	})
}

// near is what is known of the hash of a field: the bits before tagFrom, and 32 more. The
// others are 0.
type near struct {
	hash    uint64
	tagFrom uint8
}

// eachNear visits all fields, until visit returns false.
func (h *Hash) eachNear(visit func(n near, field []byte) bool) {
	if h.table == nil {
		h.walk(func(e entry) bool { return visit(near{h.hashOf(e.field), 32}, e.field) })
		return
	}
	h.each(0, func(s *segment) bool {
		for _, p := range s.slots {
			if !visit(near{s.hashOf(p.tag), s.tagFrom()}, readField(s.buf, int(p.at))) {
				return false
			}
		}
		return true
	})
}

// hasNear reports whether a field is there.
func (h *Hash) hasNear(n near, field []byte) bool {
	if h.table == nil {
		_, found := h.pack.find(field)
		return found
	}
	_, _, s := h.table.seek(n.hash) // which needs maxDepth bits
	if s == nil || !h.touch(s) {
		return false
	}
	first, unknown := s.tag(n.hash), uint32(0)
	if from := s.tagFrom(); from > n.tagFrom {
		unknown = 1<<(from-n.tagFrom) - 1
	}
	for i := s.lower(first); i < len(s.slots) && s.slots[i].tag-first <= unknown; i++ {
		if bytes.Equal(readField(s.buf, int(s.slots[i].at)), field) {
			return true
		}
	}
	return false
}
