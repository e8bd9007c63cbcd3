package hash

import "unsafe"

// Place is the hash of a field. A small hash is one run of bytes, which needs none.
func (h *Hash) Place(field []byte) (place uint64, ok bool) {
	if h.table == nil {
		return 0, false
	}
	return h.hashOf(field), true
}

// usualEntry is what is read of an entry: more than a short field and its value take.
const usualEntry = 48

// Ahead returns where the segment of a field is, then its slot, and then its entry. The
// first branches of the tree are small, and mostly in the caches; segments are not.
func (h *Hash) Ahead(place uint64, step int) (first, last unsafe.Pointer) {
	if h.table == nil {
		return nil, nil
	}
	if step == 0 {
		s := h.table.root[placeOf(place, 0)]
		if s == nil || s.below == nil {
			return nil, nil // there are few
		}
		return headOf(s.below[placeOf(place, 1)])
	}
	_, _, s := h.table.seek(place)
	if s == nil || len(s.slots) == 0 {
		return nil, nil
	}
	tag := s.tag(place)
	if step == 1 {
		slot := unsafe.Pointer(&s.slots[s.guess(tag)])
		return slot, slot
	}
	i := s.lower(tag)
	if i == len(s.slots) || s.slots[i].tag != tag {
		return nil, nil
	}
	at := int(s.slots[i].at)
	return unsafe.Pointer(&s.buf[at]), unsafe.Pointer(&s.buf[min(at+usualEntry, len(s.buf))-1])
}

// headOf is the part of a segment that a look-up reads.
func headOf(s *segment) (first, last unsafe.Pointer) {
	if s == nil {
		return nil, nil
	}
	return unsafe.Pointer(s), unsafe.Pointer(&s.below)
}
