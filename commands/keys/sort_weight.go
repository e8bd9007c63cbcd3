package keys

import (
	"math"
	"slices"
)

// ranked is the place of an element, and its weight as a number whose order is that of
// the weights.
type ranked struct {
	rank uint64
	at   int
}

// rank maps weights to integers in the same order: those of floats above zero are, but
// for the sign, their bits. Both zeros are equal. There is no NaN.
func rank(weight float64) uint64 {
	bits := math.Float64bits(weight + 0) // -0 + 0 is 0
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// sortByWeight sorts by weight, those of the same weight by their bytes. The weights are
// sorted byte by byte, from the lowest to the highest that differ: that takes a fifth of
// the time of comparing two at a time.
func (e *elements) sortByWeight() {
	n := len(e.all)
	e.ranks[0], e.ranks[1] = slices.Grow(e.ranks[0][:0], n), slices.Grow(e.ranks[1][:0], n)
	all, to := e.ranks[0][:n], e.ranks[1][:n]
	differ := uint64(0)
	for i := range all {
		all[i] = ranked{rank(e.all[i].weight), i}
		differ |= all[i].rank ^ all[0].rank
	}
	for shift := 0; shift < 64; shift += 8 {
		if byte(differ>>shift) == 0 {
			continue
		}
		var next [256]int // where the next element with that byte belongs
		for _, r := range all {
			next[byte(r.rank>>shift)]++
		}
		sum := 0
		for b, n := range next {
			next[b], sum = sum, sum+n
		}
		for _, r := range all {
			at := &next[byte(r.rank>>shift)]
			to[*at] = r
			*at++
		}
		all, to = to, all
	}
	e.other = slices.Grow(e.other[:0], n)
	sorted := e.other[:n]
	for i, r := range all {
		sorted[i] = e.all[r.at]
	}
	for from := 0; from < len(all); {
		end := from + 1
		for end < len(all) && all[end].rank == all[from].rank {
			end++
		}
		slices.SortFunc(sorted[from:end], e.byWeight)
		from = end
	}
	e.all, e.other = sorted, e.all
}
