package scheduler

// candidate is a node that may be chosen, by its value.
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

// compare is that order for sorting.
func (a candidate) compare(b candidate) int {
	if a.before(b) {
		return -1
	}
	return 1
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
