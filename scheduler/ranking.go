package scheduler

import "slices"

// ranking is a policy that picks the nodes of greatest value, where the value
// of a node depends on its own parameters and grows with its age. Ties go to
// the lowest slot. Nodes of value zero are never picked.
//
// Cost of Pick: O(n log count) by a scan; nothing is derived.
type ranking struct {
	table *Table
	value func(n *Node, age int64) float64
	best  []candidate // reused by Pick
}

type candidate struct {
	value float64
	slot  int
}

// before is the order of choice: greater values first, then lower slots.
func (a candidate) before(b candidate) bool {
	if a.value != b.value {
		return a.value > b.value
	}
	return a.slot < b.slot
}

func (r *ranking) Attach(t *Table) { r.table = t }

func (r *ranking) Touch(int) {}

func (r *ranking) Learn(int, int64, float64) {}

func (r *ranking) Value(slot int, step int64) float64 {
	var n Node
	if !r.table.Load(slot, &n) {
		return 0
	}
	return r.value(&n, n.Age(step))
}

func (r *ranking) Bytes() int { return 0 }

func (r *ranking) Pick(dst []int, step int64, count int, _ Source) []int {
	r.best = r.best[:0]
	if count <= 0 {
		return dst
	}
	var n Node
	for slot := r.table.After(0); slot >= 0; slot = r.table.After(slot + 1) {
		if r.table.Hidden(slot) {
			continue
		}
		r.table.Load(slot, &n)
		c := candidate{r.value(&n, n.Age(step)), slot}
		if !(c.value > 0) {
			continue
		}
		if len(r.best) < count {
			r.best = append(r.best, c)
			siftUp(r.best)
		} else if c.before(r.best[0]) {
			r.best[0] = c
			siftDown(r.best)
		}
	}
	slices.SortFunc(r.best, func(a, b candidate) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	for _, c := range r.best {
		dst = append(dst, c.slot)
	}
	return dst
}

// siftUp restores the heap of the best candidates so far, the worst at the
// root, after its last element was added.
func siftUp(h []candidate) {
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[up].before(h[i]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// siftDown restores the heap after its root was replaced.
func siftDown(h []candidate) {
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < len(h) && h[down].before(h[down+1]) {
			down++
		}
		if down >= len(h) || !h[i].before(h[down]) {
			return
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}
