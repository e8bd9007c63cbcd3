package hash

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

var _ structures.Spread = (*Hash)(nil)

// What is told of a field is where a look-up finds it, while the hash grows.
func TestAheadIsWhereALookUpReads(t *testing.T) {
	const fields = 5000
	h := New(structurestest.Keys(7))
	name := func(i int) []byte { return fmt.Append(nil, "field", i, strings.Repeat("-", i%97/90*70)) }
	for i := range fields {
		h.Set(nil, name(i), fmt.Append(nil, i))
		if i%500 > 0 && i > 0 {
			continue
		}
		for k := range i + 1 {
			place, known := h.Place(name(k))
			if known != (h.table != nil) {
				t.Fatalf("%d fields: the place of one is known: %v", i+1, known)
			}
			if first, last := h.Ahead(place, 2); !known && (first != nil || last != nil) {
				t.Fatalf("%d fields in one run have places", i+1)
			}
			if !known {
				continue
			}
			s, slot, e, _ := h.tableFind(name(k))
			near, _ := h.Ahead(place, 1)
			if off := (int(uintptr(near)) - int(uintptr(unsafe.Pointer(&s.slots[slot])))) / slotSize; off < -100 || off > 100 {
				t.Fatalf("the slot of %s is %d off", name(k), off)
			}
			first, last := h.Ahead(place, 2)
			if first != unsafe.Pointer(&s.buf[e.at]) || uintptr(last)-uintptr(first) >= usualEntry ||
				uintptr(last) > uintptr(unsafe.Pointer(&s.buf[len(s.buf)-1])) {
				t.Fatalf("the entry of %s is at %p, and Ahead tells %p to %p", name(k), &s.buf[e.at], first, last)
			}
		}
	}
	if place, known := h.Place([]byte("none")); !known {
		t.Error("a field that is missing has no place")
	} else if first, _ := h.Ahead(place, 2); first != nil {
		t.Error("a field that is missing has an entry")
	}
}

// Of segments that are too many to be in the caches, the part is told that a look-up reads.
func TestAheadIsWhereASegmentIs(t *testing.T) {
	const fields = 30000
	h := New(structurestest.Keys(7))
	for i := range fields {
		h.Set(nil, fmt.Append(nil, "field", i), make([]byte, 50))
	}
	told := 0
	for i := range fields {
		place, _ := h.Place(fmt.Append(nil, "field", i))
		first, last := h.Ahead(place, 0)
		if first == nil {
			continue
		}
		told++
		_, _, s := h.table.seek(place)
		if first != unsafe.Pointer(s) || uintptr(last) < uintptr(unsafe.Pointer(&s.slots)) ||
			uintptr(last)-uintptr(first) >= uintptr(segmentSize) {
			t.Fatalf("the segment is at %p, and Ahead tells %p to %p", s, first, last)
		}
	}
	if told < fields/2 {
		t.Errorf("the segments of %d of %d fields are told", told, fields)
	}
}
