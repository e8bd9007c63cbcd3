package cuckoo

import (
	"errors"
	"fmt"
	"testing"

	"github.com/vigildb/vigil/structures/structurestest"
)

// What any filter has is in the union, as often as all of them have it and no less, after disk, and
// can be deleted as often: nothing else is missing then.
func TestUnionHasWhatAnyHad(t *testing.T) {
	r := structurestest.Seeded(t)
	merged, full, grown := 0, 0, 0
	for range 150 {
		s := Shape{BucketSize: uint64(1 + r.IntN(4)), Iterations: uint64(1 + r.IntN(40)), Expansion: uint64(r.IntN(4))}
		s.Capacity = 2*s.BucketSize + r.Uint64N(1000)
		items := map[string]uint64{}
		var filters []*Filter
		arrays := 0
		for range 1 + r.IntN(4) {
			f := New()
			if err := f.Reserve(nil, s, 1<<30); err != nil {
				t.Fatal(err)
			}
			for range r.Uint64N(s.Capacity) {
				item := fmt.Sprint(r.IntN(800))
				f.Insert(nil, [][]byte{[]byte(item)}, Every, 1<<30, func(got Result) {
					if got == Added {
						items[item]++
					}
				})
			}
			filters, arrays = append(filters, f), max(arrays, f.Arrays())
		}
		sum, err := Merge(filters, 32, 1<<30)
		if errors.Is(err, ErrNoRoom) && s.Expansion != 1 {
			full++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		merged++
		grown += sum.Arrays() - arrays
		sum = structurestest.Again(t, sum, Decode)
		total := uint64(0)
		for item, n := range items {
			if total += n; sum.Count([]byte(item)) < n {
				t.Fatalf("%+v: %s was added %d times, and is counted %d times", s, item, n, sum.Count([]byte(item)))
			}
		}
		if sum.Items() != total {
			t.Fatalf("%d items, want %d", sum.Items(), total)
		}
		checkSlots(t, sum)
		for item, n := range items {
			for range n {
				if !sum.Delete(nil, []byte(item)) {
					t.Fatalf("%+v: %s cannot be deleted %d times", s, item, n)
				}
			}
		}
		if sum.Items() != 0 {
			t.Errorf("%d items are left", sum.Items())
		}
	}
	if merged < 50 || full == 0 || grown == 0 {
		t.Errorf("%d unions, %d without room, %d new sub-filters", merged, full, grown)
	}
}

// checkSlots checks that as many slots are in use as there are items.
func checkSlots(t *testing.T, f *Filter) {
	t.Helper()
	used := uint64(0)
	for k := range f.Arrays() {
		slots, _ := f.Array(k).Append(nil, 0, f.Array(k).Size())
		for _, b := range slots {
			if b != 0 {
				used++
			}
		}
	}
	if used != f.Items() {
		t.Fatalf("%d slots are in use by %d items", used, f.Items())
	}
}

func TestFiltersOfDifferentShapesAreNotMerged(t *testing.T) {
	good := Shape{Capacity: 1000, BucketSize: 2, Iterations: 20, Expansion: 1}
	filter := func(s Shape) *Filter {
		f := New()
		if err := f.Reserve(nil, s, 1<<30); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for name, change := range map[string]func(*Shape){
		"capacity": func(s *Shape) { s.Capacity = 2000 }, "bucket size": func(s *Shape) { s.BucketSize = 4 }, "expansion": func(s *Shape) { s.Expansion = 2 },
	} {
		s := good
		change(&s)
		if _, err := Merge([]*Filter{filter(good), filter(s)}, 32, 1<<30); !errors.Is(err, ErrShape) {
			t.Errorf("another %s: got %v", name, err)
		}
	}
	odd := New()
	if err := odd.Load(Header{Buckets: 4, Filters: 3, BucketSize: 2, Iterations: 20, Expansion: 3}, 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge([]*Filter{odd, odd}, 32, 1<<30); !errors.Is(err, ErrShape) {
		t.Errorf("buckets that are no power of two: got %v", err)
	}
	full := func() *Filter {
		f := filter(good)
		for i := 0; f.Arrays() < 2; i++ {
			f.Insert(nil, [][]byte{fmt.Append(nil, i)}, Every, 1<<30, func(Result) {})
		}
		return f
	}
	for name, try := range map[string]func() (*Filter, error){
		"sub-filters": func() (*Filter, error) { return Merge([]*Filter{full(), full(), full(), full()}, 2, 1<<30) },
		"bytes":       func() (*Filter, error) { return Merge([]*Filter{full(), full(), full(), full()}, 32, 2048) },
		"own bytes":   func() (*Filter, error) { return Merge([]*Filter{full()}, 32, 2047) },
	} {
		if _, err := try(); !errors.Is(err, ErrNoRoom) {
			t.Errorf("limit of %s: got %v", name, err)
		}
	}
}
