package structures

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// heapOf returns what make leaves on the heap, next to what Size says.
func heapOf(makeAll func() []Value) (real, counted float64) {
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
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ values, elems, size int }{{2000, 5, 20}, {100, 300, 50}, {1, 50_000, 40}, {5, 60, 30_000}} {
		list := func() (all []Value) {
			for range c.values {
				l := NewList()
				for range c.elems {
					l.Push(nil, End(r.IntN(2)), make([]byte, r.IntN(2*c.size)))
				}
				for range c.elems / 3 {
					l.Pop(nil, End(r.IntN(2)))
				}
				all = append(all, l)
			}
			return all
		}
		hash := func() (all []Value) {
			for range c.values {
				h := NewHash(testKeys(1))
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
		for name, makeAll := range map[string]func() []Value{"lists": list, "hashes": hash} {
			real, counted := heapOf(makeAll)
			if counted < 0.8*real || counted > 1.2*real {
				t.Errorf("%d %s of %d: counted %.0f bytes, real %.0f", c.values, name, c.elems, counted, real)
			}
		}
	}
}

func TestMemoryIsGivenBackAsCollectionsShrink(t *testing.T) {
	l, h := NewList(), NewHash(testKeys(1))
	for i := range 20_000 {
		l.Push(nil, Tail, fmt.Append(nil, "element", i))
		h.Set(nil, fmt.Append(nil, "field", i), []byte("value"))
	}
	for i := range 19_990 {
		l.Pop(nil, Head)
		h.Delete(nil, fmt.Append(nil, "field", i))
	}
	trimmed := NewList()
	for range 1000 {
		trimmed.Push(nil, Tail, []byte("element"))
	}
	trimmed.Trim(nil, 500, 501)
	if trimmed.Size() > 400 {
		t.Errorf("two elements left by trim: %d bytes", trimmed.Size())
	}
	if l.Size() > 2000 || h.Size() > 1000 {
		t.Errorf("ten elements left: list of %d bytes, hash of %d", l.Size(), h.Size())
	}
}
