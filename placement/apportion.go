package placement

import (
	"math/bits"
	"slices"
)

// Apportion divides seats among weights by largest remainders, exactly: weight
// w of a total W first gets floor(seats w / W), and what is left goes, one
// each, to the largest remainders, ties to the lower index. Weight 0 gets
// none. The weights must not all be 0, nor add up to more than MaxTotal.
func Apportion(seats int, weights []Capacity) []int {
	var total uint64
	for _, w := range weights {
		total += uint64(w)
	}
	out := make([]int, len(weights))
	rest := make([]uint64, len(weights))
	left := seats
	for i, w := range weights {
		hi, lo := bits.Mul64(uint64(seats), uint64(w))
		q, r := bits.Div64(hi, lo, total)
		out[i], rest[i] = int(q), r
		left -= int(q)
	}
	if left == 0 {
		return out
	}
	byRest := make([]int, len(weights))
	for i := range byRest {
		byRest[i] = i
	}
	slices.SortFunc(byRest, func(a, b int) int {
		switch {
		case rest[a] > rest[b]:
			return -1
		case rest[a] < rest[b]:
			return 1
		}
		return a - b
	})
	for _, i := range byRest[:left] { // fewer than there are remainders above 0
		out[i]++
	}
	return out
}
