package types

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/structurestest"
)

// heapOf returns what make leaves on the heap, next to what Size says.
func heapOf(makeAll func() []structures.Value) (real, counted float64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := makeAll()
	runtime.GC()
	runtime.ReadMemStats(&after)
	for _, v := range all {
		counted += float64(v.Size())
	}
	return float64(after.HeapAlloc) - float64(before.HeapAlloc), counted
}

func TestSizeIsWhatTheCollectorSees(t *testing.T) {
	r, keys := rand.New(rand.NewPCG(1, 2)), structurestest.Keys(1)
	for _, c := range []struct{ values, elems, size int }{{2000, 5, 20}, {100, 300, 50}, {1, 50_000, 40}, {5, 60, 30_000}} {
		lists := func() (all []structures.Value) {
			for range c.values {
				l := list.New()
				for range c.elems {
					l.Push(nil, list.End(r.IntN(2)), make([]byte, r.IntN(2*c.size)))
				}
				for range c.elems / 3 {
					l.Pop(nil, list.End(r.IntN(2)))
				}
				all = append(all, l)
			}
			return all
		}
		hashes := func() (all []structures.Value) {
			for range c.values {
				h := hash.New(keys)
				for range 2 * c.elems {
					h.Set(nil, fmt.Append(nil, r.IntN(c.elems)), make([]byte, r.IntN(2*c.size)))
				}
				for range c.elems / 3 {
					h.Delete(nil, fmt.Append(nil, r.IntN(c.elems)))
				}
				all = append(all, h)
			}
			return all
		}
		for name, makeAll := range map[string]func() []structures.Value{"lists": lists, "hashes": hashes} {
			real, counted := heapOf(makeAll)
			if counted < 0.8*real || counted > 1.2*real {
				t.Errorf("%d %s of %d: counted %.0f bytes, real %.0f", c.values, name, c.elems, counted, real)
			}
		}
	}
}

func TestMemoryIsGivenBackAsCollectionsShrink(t *testing.T) {
	l, h := list.New(), hash.New(structurestest.Keys(1))
	for i := range 20_000 {
		l.Push(nil, list.Tail, fmt.Append(nil, "element", i))
		h.Set(nil, fmt.Append(nil, "field", i), []byte("value"))
	}
	for i := range 19_990 {
		l.Pop(nil, list.Head)
		h.Delete(nil, fmt.Append(nil, "field", i))
	}
	trimmed := list.New()
	for range 1000 {
		trimmed.Push(nil, list.Tail, []byte("element"))
	}
	trimmed.Trim(nil, 500, 501)
	if trimmed.Size() > 400 {
		t.Errorf("two elements left by trim: %d bytes", trimmed.Size())
	}
	if l.Size() > 2000 || h.Size() > 1000 {
		t.Errorf("ten elements left: list of %d bytes, hash of %d", l.Size(), h.Size())
	}
}
