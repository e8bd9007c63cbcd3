package hash

import (
	"unsafe"

	"github.com/vigildb/vigil/structures"
)

const (
	// usualEntry is what is read of an entry: more than a short field and its value take.
	usualEntry = 48
	// usualError is how many slots the place of a tag is off its guess more often than not.
	usualError = 4
)

// Approach finds the segments of fields, then their slots, and then their entries. The
// first branches of the tree are small, and mostly in the caches. A small hash is one run
// of bytes.
func (h *Hash) Approach(list []structures.Sought, step int) bool {
	if h.table == nil {
		return false
	}
	for i := range list {
		f := &list[i]
		if step == 0 {
			f.Place = h.hashOf(f.Name)
			f.Part = unsafe.Pointer(h.table.first(f.Place))
		}
		s := (*segment)(f.Part)
		f.First, f.Last = nil, nil
		switch {
		case s == nil:
		case step == 0:
			approachSegment(f, s)
		case step == 1:
			approachSlot(f, s)
		default:
			approachEntry(f, s)
		}
	}
	return true
}

// first is the segment of a hash in the root, or what stands for it there.
func (t *table) first(hash uint64) *segment {
	if t.root == nil {
		return t.only
	}
	return t.root[placeOf(hash, 0)]
}

// approachSegment goes on from the segment of the root, or what stands for it there.
func approachSegment(f *structures.Sought, s *segment) {
	if s.below != nil {
		s = s.below[placeOf(f.Place, 1)]
		f.Part = unsafe.Pointer(s)
		if s == nil {
			return
		}
	}
	f.First, f.Last = unsafe.Pointer(s), unsafe.Add(unsafe.Pointer(s), segmentSize-1)
}

// approachSlot goes on from a segment, or what stands for it in the second branch.
func approachSlot(f *structures.Sought, s *segment) {
	for level := 2; s.below != nil; level++ {
		s = s.below[placeOf(f.Place, level)]
		f.Part = unsafe.Pointer(s)
		if s == nil {
			return
		}
	}
	n := len(s.slots)
	if n == 0 {
		f.Part = nil
		return
	}
	near := s.guess(s.tag(f.Place))
	f.First, f.Last = unsafe.Pointer(&s.slots[max(near-usualError, 0)]), unsafe.Pointer(&s.slots[min(near+usualError, n-1)])
}

// approachEntry finds the entry in a segment.
func approachEntry(f *structures.Sought, s *segment) {
	tag := s.tag(f.Place)
	i := s.lower(tag)
	if i == len(s.slots) || s.slots[i].tag != tag {
		return
	}
	at := int(s.slots[i].at)
	f.First, f.Last = unsafe.Pointer(&s.buf[at]), unsafe.Pointer(&s.buf[min(at+usualEntry, len(s.buf))-1])
}
