package placement

import (
	"math"
	"math/bits"
)

// overlay walks two partitions of the hashes into arcs at once and visits the
// arcs' numbers with the share of hashes that lie in both. end returns the
// last hash of an arc; the last arc of each ends with the largest hash.
// O(arcs), and nothing is stored.
func overlay(endA, endB func(int) uint64, visit func(a, b int, share Fraction)) {
	var from uint64
	for a, b := 0, 0; ; {
		ea, eb := endA(a), endB(b)
		e := min(ea, eb)
		if e >= from { // an arc may be empty
			visit(a, b, width(from, e))
		}
		if e == math.MaxUint64 {
			return
		}
		if ea == e {
			a++
		}
		if eb == e {
			b++
		}
		from = max(from, e+1)
	}
}

// width returns the share of the hashes from..to, both included.
func width(from, to uint64) Fraction {
	return Fraction((float64(to-from) + 1) / (1 << 64))
}

// equalEnd returns the last hash of the i-th of n equal arcs, those with
// floor(n h / 2^64) = i.
func equalEnd(i, n int) uint64 {
	if i == n-1 {
		return math.MaxUint64
	}
	q, r := bits.Div64(uint64(i+1), 0, uint64(n))
	if r > 0 {
		return q
	}
	return q - 1
}
