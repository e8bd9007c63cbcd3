package structures_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/countmin"
	"github.com/vigildb/vigil/structures/cuckoo"
)

// countModel is a count-min sketch that is made large, and what was counted at least.
type countModel struct{ counts map[string]uint32 }

func (m *countModel) create() structures.Paged {
	s := countmin.New()
	if err := s.Init(nil, 9000, 3, 1<<30); err != nil {
		panic(err)
	}
	return s
}
func (m *countModel) decode(head []byte) (structures.Paged, error) { return countmin.Decode(head) }

func (m *countModel) change(t testing.TB, r *rand.Rand, v structures.Paged, ch *structures.Change) {
	t.Helper()
	s := v.(*countmin.Sketch)
	items := [][]byte{fmt.Append(nil, r.IntN(500)), fmt.Append(nil, r.IntN(500))}
	if !s.Ready(items...) {
		return
	}
	for _, item := range items {
		m.counts[string(item)] += 3
		s.Add(ch, item, 3)
	}
}

func (m *countModel) check(t testing.TB, r *rand.Rand, v structures.Paged) {
	t.Helper()
	for item, n := range m.counts {
		if r.IntN(10) > 0 {
			continue
		}
		if got := v.(*countmin.Sketch).Estimate([]byte(item)); got < n || got == math.MaxUint32 {
			t.Fatalf("%s: got %d, want %d or little more", item, got, n)
		}
	}
}

// cuckooModel is a cuckoo filter that grows and shrinks, and what is in it at least.
type cuckooModel struct{ items map[string]int }

func (m *cuckooModel) create() structures.Paged {
	f := cuckoo.New()
	if err := f.Reserve(nil, cuckoo.Shape{Capacity: 16 << 10, BucketSize: 3, Iterations: 20, Expansion: 2}, 1<<30); err != nil {
		panic(err)
	}
	return f
}
func (m *cuckooModel) decode(head []byte) (structures.Paged, error) { return cuckoo.Decode(head) }

func (m *cuckooModel) change(t testing.TB, r *rand.Rand, v structures.Paged, ch *structures.Change) {
	t.Helper()
	f, before := v.(*cuckoo.Filter), ch.Len()
	item := fmt.Sprint(r.IntN(20_000))
	switch n := r.IntN(8); {
	case n == 0:
		if m.items[item] > 0 && f.Delete(ch, []byte(item)) {
			m.items[item]--
		}
	case n == 1 && r.IntN(30) == 0:
		f.Compact(ch)
	default:
		var items [][]byte
		for i := range 1 + r.IntN(8) {
			items = append(items, fmt.Append(nil, item, i))
		}
		if f.Insert(ch, items, cuckoo.Every, 1<<30, func(cuckoo.Result) {}) && ch.Len() > before {
			for _, item := range items {
				m.items[string(item)]++
			}
		}
	}
}

// check asks for a part of the items: each reads pages that may be evicted.
func (m *cuckooModel) check(t testing.TB, r *rand.Rand, v structures.Paged) {
	t.Helper()
	f, total := v.(*cuckoo.Filter), 0
	for item, n := range m.items {
		if total += n; n > 0 && r.IntN(50) == 0 && !f.Exists([]byte(item)) {
			t.Fatalf("%s is missing", item)
		}
	}
	if f.Items() != uint64(total) {
		t.Fatalf("got %d items, want %d", f.Items(), total)
	}
}
