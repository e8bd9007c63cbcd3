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

// covers reports whether a look-up that reads from p on, so many bytes, finds them fetched.
func covers(f *structures.Sought, p unsafe.Pointer, bytes int) bool {
	return f.First != nil && uintptr(f.First) <= uintptr(p) && uintptr(f.Last) >= uintptr(p)+uintptr(bytes)-1
}

// What is told of a field is where a look-up finds it, while the hash grows.
func TestApproachEndsWhereALookUpReads(t *testing.T) {
	const fields = 30000
	h := New(structurestest.Keys(7))
	name := func(i int) []byte { return fmt.Append(nil, "field", i, strings.Repeat("-", i%97/90*70)) }
	guessed, slots := 0, 0
	for i := range fields {
		h.Set(nil, name(i), fmt.Append(nil, i))
		if i%3000 > 0 && i > 0 {
			continue
		}
		list := make([]structures.Sought, i+1)
		for k := range list {
			list[k].Name = name(k)
		}
		for step := range structures.ApproachSteps {
			if h.Approach(list, step) != (h.table != nil) {
				t.Fatalf("%d fields, step %d: the table is not what counts", i+1, step)
			}
			if h.table == nil {
				break
			}
			for k := range list {
				f := &list[k]
				s, slot, e, _ := h.tableFind(f.Name)
				switch step {
				case 0:
					if !covers(f, unsafe.Pointer(s), segmentSize) {
						t.Fatalf("%d fields: the segment of %s is at %p, fetched are %p to %p", i+1, f.Name, s, f.First, f.Last)
					}
				case 1:
					slots++
					if covers(f, unsafe.Pointer(&s.slots[slot]), slotSize) {
						guessed++
					}
					if n := uintptr(f.Last) - uintptr(f.First); n > uintptr(2*usualError*slotSize) {
						t.Fatalf("%d bytes of slots are fetched", n)
					}
				case 2:
					// Where tags are equal, it is the entry of the first.
					e = readEntry(s.buf, int(s.slots[s.lower(s.slots[slot].tag)].at))
					end := uintptr(unsafe.Pointer(&s.buf[len(s.buf)-1]))
					if !covers(f, unsafe.Pointer(&s.buf[e.at]), min(e.size, usualEntry)) || uintptr(f.Last) > end {
						t.Fatalf("%d fields: the entry of %s is at %p, fetched are %p to %p", i+1, f.Name, &s.buf[e.at], f.First, f.Last)
					}
				}
			}
		}
	}
	if guessed < slots/3 {
		t.Errorf("%d of %d slots are where they were looked for", guessed, slots)
	}
}

// A field that is missing has no entry.
func TestNothingIsFetchedForAMissingField(t *testing.T) {
	h := New(structurestest.Keys(7))
	for i := range 1000 {
		h.Set(nil, fmt.Append(nil, "field", i), fmt.Append(nil, i))
	}
	list := []structures.Sought{{Name: []byte("none")}}
	for step := range structures.ApproachSteps {
		if !h.Approach(list, step) {
			t.Fatal("a large hash has no table")
		}
	}
	if list[0].First != nil {
		t.Error("a field that is missing has an entry")
	}
}
