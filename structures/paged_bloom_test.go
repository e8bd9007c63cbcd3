package structures_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
)

// bloomModel is a Bloom filter that grows, and what is in it at least.
type bloomModel struct {
	items map[string]bool
	names []string
}

func (m *bloomModel) create() structures.Paged {
	f := bloom.New()
	if err := f.Reserve(nil, bloom.Shape{Error: 0.001, Capacity: 60_000, Expansion: 1}, 1<<30); err != nil {
		panic(err)
	}
	for i := range 59_000 { // it has a second layer soon
		if _, err := f.Add(nil, fmt.Append(nil, i), 1<<30); err != nil {
			panic(err)
		}
	}
	return f
}
func (m *bloomModel) decode(head []byte) (structures.Paged, error) { return bloom.Decode(head) }

func (m *bloomModel) change(t testing.TB, r *rand.Rand, v structures.Paged, ch *structures.Change) {
	t.Helper()
	f := v.(*bloom.Filter)
	var items [][]byte
	for range 1 + r.IntN(3) {
		items = append(items, fmt.Append(nil, "item ", r.IntN(20_000)))
	}
	if !f.Ready(items...) {
		return
	}
	for _, item := range items {
		if _, err := f.Add(ch, item, 1<<30); err != nil {
			t.Fatal(err)
		}
		if !m.items[string(item)] {
			m.items[string(item)] = true
			m.names = append(m.names, string(item))
		}
	}
}

func (m *bloomModel) check(t testing.TB, r *rand.Rand, v structures.Paged) {
	t.Helper()
	f := v.(*bloom.Filter)
	for range 20 {
		name := fmt.Sprint(r.IntN(59_000))
		if len(m.names) > 0 && r.IntN(2) == 0 {
			name = m.names[r.IntN(len(m.names))]
		}
		if !f.Exists([]byte(name)) {
			t.Fatalf("%s was added, and does not exist", name)
		}
	}
}
