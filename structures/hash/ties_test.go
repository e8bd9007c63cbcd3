package hash

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// tied returns groups of fields whose hashes have the same first 32 bits.
func tied(t *testing.T, keys int) (groups [][][]byte) {
	h := New(structurestest.Keys(7))
	first := make(map[uint32][]byte)
	for i := range keys {
		field := fmt.Append(nil, "field", i)
		bits := uint32(h.hashOf(field) >> 32)
		if other, ok := first[bits]; ok {
			groups = append(groups, [][]byte{other, field})
			continue
		}
		first[bits] = field
	}
	if len(groups) < 5 {
		t.Fatalf("%d groups of fields: too few", len(groups))
	}
	return groups
}

// Fields with equal tags lie in the order of their whole hashes, as versions expect of a page
// whose tags began at each bit. They are found, scanned and shared whichever came first, in
// tables of every size.
func TestFieldsWithEqualTagsLieInOrder(t *testing.T) {
	groups := tied(t, 400000)
	for _, others := range []int{1000, 60000} {
		for _, reverse := range []bool{false, true} {
			h, small := New(structurestest.Keys(7)), New(structurestest.Keys(7))
			for i := range others {
				h.Set(nil, fmt.Append(nil, "other", i), nil)
			}
			for _, g := range groups {
				g = slices.Clone(g)
				if reverse {
					slices.Reverse(g)
				}
				for _, field := range g {
					h.Set(nil, field, field)
					small.Set(nil, field, nil)
				}
			}
			for i := range 1000 {
				small.Set(nil, fmt.Append(nil, "of small", i), nil)
			}
			checkTable(t, h)
			seen, shared := make(map[string]bool), 0
			structurestest.Scan(t, func(cursor uint64) uint64 {
				return h.Scan(cursor, 1, 0, func(field, value []byte) {
					if seen[string(field)] {
						t.Fatalf("%s is visited twice", field)
					}
					seen[string(field)] = true
				})
			})
			small.EachShared([]*Hash{h}, func([]byte) bool { shared++; return true })
			if len(seen) != h.Len() || shared != 2*len(groups) {
				t.Fatalf("%d fields of %d were scanned, %d of %d are shared", len(seen), h.Len(), shared, 2*len(groups))
			}
			for _, g := range groups {
				if got, ok := h.Get(g[0], 0); !ok || string(got) != string(g[0]) {
					t.Fatalf("%s: got %q", g[0], got)
				}
				if !h.Delete(nil, g[0]) {
					t.Fatalf("%s is not there", g[0])
				}
				if got, ok := h.Get(g[1], 0); !ok || string(got) != string(g[1]) {
					t.Fatalf("%s: got %q after the other was deleted", g[1], got)
				}
			}
			checkTable(t, h)
		}
	}
}

// Fields whose hashes begin alike lie in segments so deep that their tags are other bits of
// the hash; when most are gone the segments join, and tags are the bits that they were.
func TestDeepSegmentsHaveOtherTags(t *testing.T) {
	h := New(structurestest.Keys(7))
	var fields [][]byte
	for i := range 20 {
		fields = append(fields, fmt.Append(nil, "elsewhere", i))
	}
	for i := 0; len(fields) < 80; i++ {
		field := fmt.Append(nil, "field", i)
		if h.hashOf(field)>>(64-tagStep+2) == 5 {
			fields = append(fields, field)
		}
	}
	value := make([]byte, 1000)
	for _, field := range fields {
		h.Set(nil, field, value)
	}
	checkTable(t, h)
	steps := make(map[uint8]bool)
	h.table.each(0, func(s *segment) bool {
		steps[s.tagFrom()] = true
		return true
	})
	if !steps[0] || !steps[tagStep] {
		t.Fatalf("tags begin at bits %v", steps)
	}
	list := make([]structures.Sought, len(fields))
	for i := range list {
		list[i].Name = fields[i]
	}
	for step := range structures.ApproachSteps {
		h.Approach(list, step)
	}
	for i := range list {
		s, _, e, _ := h.tableFind(fields[i])
		if !covers(&list[i], unsafe.Pointer(&s.buf[e.at]), usualEntry) {
			t.Fatalf("the entry of %s was not found ahead", fields[i])
		}
	}
	for i, field := range fields[2:] {
		if !h.Delete(nil, field) {
			t.Fatalf("%s is not there", field)
		}
		if h.table != nil && i%7 == 0 {
			checkTable(t, h)
		}
	}
	for _, field := range fields[:2] {
		if _, ok := h.Get(field, 0); !ok {
			t.Fatalf("%s is gone", field)
		}
	}
}

// A page of an earlier version may have fields with equal tags in any order. When a deeper
// segment adopts them, whose tags tell them apart, they are put in order.
func TestAdoptedFieldsAreInOrder(t *testing.T) {
	s := &segment{depth: tagStep}
	for _, tag := range []uint32{3, 9, 5, 9, 4} {
		s.adopt(tag, []byte{2, 1, byte('a' + tag)}, 0)
	}
	for i, want := range "defjj" {
		if i >= len(s.slots) || string(readField(s.buf, int(s.slots[i].at))) != string(want) {
			t.Fatalf("slots %v of %q", s.slots, s.buf)
		}
	}
}
