package structures

import "bytes"

// EachShared visits the fields that all others have too, expired ones included, until
// visit returns false. All hashes are of one store.
//
// Fields lie in the order of their hashes everywhere: where one lies in a table says
// where to look in the others, and none is hashed.
func (h *Hash) EachShared(others []*Hash, visit func(field []byte) bool) {
	if h.table == nil {
		h.walk(func(e entry) bool {
			for _, other := range others {
				if _, found := other.find(e.field); !found {
					return true
				}
			}
			return visit(e.field)
		})
		return
	}
	h.table.each(0, func(s *segment) bool {
		for _, p := range s.slots {
			e := readEntry(s.buf, int(p.at))
			hash := s.prefix | uint64(p.tag)<<32>>s.depth
			if allHaveNear(others, hash, s.depth, e.field) && !visit(e.field) {
				return false
			}
		}
		return true
	})
}

func allHaveNear(hashes []*Hash, hash uint64, depth uint8, field []byte) bool {
	for _, h := range hashes {
		if !h.hasNear(hash, depth, field) {
			return false
		}
	}
	return true
}

// hasNear reports whether a field is there of whose hash the first depth + 32 bits are
// known; the others are 0.
func (h *Hash) hasNear(hash uint64, depth uint8, field []byte) bool {
	if h.table == nil {
		_, found := h.packFind(field)
		return found
	}
	_, _, s := h.table.seek(hash) // which needs maxDepth bits
	if s == nil {
		return false
	}
	first, unknown := s.tag(hash), uint32(0)
	if s.depth > depth {
		unknown = 1<<(s.depth-depth) - 1
	}
	for i := s.lower(first); i < len(s.slots) && s.slots[i].tag-first <= unknown; i++ {
		if e := readEntry(s.buf, int(s.slots[i].at)); bytes.Equal(e.field, field) {
			return true
		}
	}
	return false
}
