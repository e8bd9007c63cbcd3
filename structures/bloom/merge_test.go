package bloom

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/vigildb/vigil/structures/structurestest"
)

func shaped(t *testing.T, s Shape) *Filter {
	t.Helper()
	f := New()
	if err := f.Reserve(nil, s, noLimit); err != nil {
		t.Fatal(err)
	}
	return f
}

// Whatever filters of one shape had is in their union, also after disk and when it goes on growing; the count of
// items is about that of different ones, and the rate of false positives is as promised.
func TestUnionHasWhatAnyHad(t *testing.T) {
	r := structurestest.Seeded(t)
	merged, crowded := 0, 0
	for range 40 {
		s := Shape{Error: 0.001 + 0.1*r.Float64(), Capacity: 500 + r.Uint64N(20_000), Expansion: 2, Fixed: r.IntN(2) == 0}
		items := map[int]bool{}
		var filters []*Filter
		for range 1 + r.IntN(4) {
			f := shaped(t, s)
			for range r.Uint64N(s.Capacity) {
				item := r.IntN(2 * int(s.Capacity))
				items[item] = true
				if _, err := f.Add(nil, fmt.Append(nil, item), 1<<30); err != nil {
					t.Fatal(err)
				}
			}
			filters = append(filters, f)
		}
		sum, err := Merge(filters)
		if errors.Is(err, ErrCrowded) {
			crowded++
			if len(items) < int(s.Capacity)*9/10 {
				t.Errorf("%d items are too many for %d", len(items), s.Capacity)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		merged++
		sum = structurestest.Again(t, sum, Decode)
		if got, want := float64(sum.Card()), float64(len(items)); math.Abs(got-want) > 0.05*want+20 {
			t.Errorf("%.0f items are counted as %.0f", want, got)
		}
		if wrong, promised := falsePositives(sum, 20_000), s.Error*20_000; float64(wrong) > 1.2*promised+5*math.Sqrt(promised) {
			t.Errorf("%d false positives of 20,000 at %g", wrong, s.Error)
		}
		for i := 0; i < 500 && !s.Fixed; i++ {
			items[-1-i] = true
			if _, err := sum.Add(nil, fmt.Append(nil, -1-i), 1<<30); err != nil {
				t.Fatal(err)
			}
		}
		for item := range items {
			if !sum.Exists(fmt.Append(nil, item)) {
				t.Fatalf("item %d of %d is missing in the union of %d filters", item, len(items), len(filters))
			}
		}
	}
	if merged < 10 || crowded == 0 {
		t.Errorf("%d unions, %d that were too crowded", merged, crowded)
	}
}

func falsePositives(f *Filter, n int) (wrong int) {
	for i := range n {
		if f.Exists(fmt.Append(nil, "absent:", i)) {
			wrong++
		}
	}
	return wrong
}

// A filter that grew is the union of itself and of what it was before.
func TestUnionOfAFilterWithItsPastIsTheFilter(t *testing.T) {
	f := shaped(t, Shape{Error: 0.01, Capacity: 1000, Expansion: 2})
	var past *Filter
	for i := range 10_000 {
		if _, err := f.Add(nil, fmt.Append(nil, i), 1<<30); err != nil {
			t.Fatal(err)
		}
		if i == 2500 {
			past = structurestest.Again(t, f, Decode)
		}
	}
	for _, order := range [][]*Filter{{f, past}, {past, f}, {f, f, past}, {f}} {
		sum, err := Merge(order)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := throughChunks(t, sum), throughChunks(t, f); got != want {
			t.Error("the union is not the filter")
		}
	}
	if f.Info().Layers < 3 || past.Info().Layers >= f.Info().Layers {
		t.Errorf("layers: %d, before %d", f.Info().Layers, past.Info().Layers)
	}
}

// throughChunks is the whole dump of a filter.
func throughChunks(t *testing.T, f *Filter) string {
	t.Helper()
	var out []byte
	for iter := int64(0); ; {
		next, chunk := f.DumpChunk(nil, iter)
		if next == 0 {
			return string(out)
		}
		out, iter = append(out, chunk...), next
	}
}

func TestFiltersOfDifferentLayersAreNotMerged(t *testing.T) {
	good := Shape{Error: 0.01, Capacity: 1000, Expansion: 2}
	for name, change := range map[string]func(*Shape){
		"error": func(s *Shape) { s.Error = 0.02 }, "capacity": func(s *Shape) { s.Capacity = 1001 },
		"expansion": func(s *Shape) { s.Expansion = 3 }, "fixed": func(s *Shape) { s.Fixed = true },
	} {
		s := good
		change(&s)
		if _, err := Merge([]*Filter{shaped(t, good), shaped(t, s)}); !errors.Is(err, ErrShape) {
			t.Errorf("another %s: got %v", name, err)
		}
	}
	full := func(from int) *Filter {
		f := shaped(t, Shape{Error: 0.01, Capacity: 1000, Fixed: true})
		for i := from; f.Card() < 1000; i++ {
			if _, err := f.Add(nil, fmt.Append(nil, i), 1<<30); err != nil {
				t.Fatal(err)
			}
		}
		return f
	}
	if _, err := Merge([]*Filter{full(0), full(1 << 20)}); !errors.Is(err, ErrCrowded) {
		t.Errorf("two full filters: got %v", err)
	}
	if sum, err := Merge([]*Filter{full(0), full(0)}); err != nil || sum.Card() != 1000 {
		t.Errorf("a full filter and itself: got %v", err)
	}
	// A header may lie about its items.
	f := shaped(t, good)
	f.items, f.layers[0].items = 1<<63, 1<<63
	if sum, err := Merge([]*Filter{f, f}); err != nil || sum.Card() != 1<<63 {
		t.Errorf("headers that lie: got %v", err)
	}
}
