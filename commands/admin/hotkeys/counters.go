package hotkeys

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// counters keep amounts of some keys: see the package.
type counters struct {
	most int // of them
	of   map[string]*counter
	heap smallest
}

// counter is the amount of a key.
type counter struct {
	Amount       // with what it has taken over
	over   int64 // of the key before
	at     int   // in the heap
}

// add adds to the amount of a key.
func (c *counters) add(key []byte, n int64) {
	if e := c.of[string(key)]; e != nil {
		e.N += n
		heap.Fix(&c.heap, e.at)
		return
	}
	if c.of == nil {
		c.of = map[string]*counter{}
	}
	e := &counter{Amount: Amount{string(key), n}}
	if len(c.heap) < c.most {
		heap.Push(&c.heap, e)
	} else {
		least := c.heap[0]
		delete(c.of, least.Key)
		e.over = least.N
		e.N += e.over
		c.heap[0] = e
		heap.Fix(&c.heap, 0)
	}
	c.of[e.Key] = e
}

// top returns the n largest amounts, without what was taken over, and those that are equal by key.
func (c *counters) top(n int) []Amount {
	list := make([]Amount, 0, len(c.heap))
	for _, e := range c.heap {
		list = append(list, Amount{e.Key, e.N - e.over})
	}
	slices.SortFunc(list, func(a, b Amount) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Key, b.Key))
	})
	return list[:min(n, len(list))]
}

// smallest is a heap with the smallest amount on top.
type smallest []*counter

// Len implements [heap.Interface].
func (h smallest) Len() int { return len(h) }

// Less implements [heap.Interface].
func (h smallest) Less(i, j int) bool { return h[i].N < h[j].N }

// Swap implements [heap.Interface].
func (h smallest) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push implements [heap.Interface].
func (h *smallest) Push(x any) {
	e := x.(*counter)
	e.at = len(*h)
	*h = append(*h, e)
}

// Pop implements [heap.Interface]. It is not used: a counter is taken over in its place.
func (h *smallest) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
