package scheduler

import (
	"math"
	"math/bits"
)

// cycle is the layout of a cyclic schedule; see cyclicPolicy for the rule.
type cycle struct {
	exponent []uint8 // r of each slot, or noExponent
	order    []int32 // slots by exponent, then number
	levels   []level // one for each exponent that occurs, ascending
}

// level holds the nodes of one exponent r: order[first : first+size], whose
// code words, numbers of r bits, are word, word+1, ...
type level struct {
	r, first, size int
	word           uint64
}

const (
	// logTolerance is far more than what sums and roots lose to rounding, and
	// less than any difference that matters.
	logTolerance = 1e-12
	// maxExponent keeps Kraft's sum, in units of 2^-maxExponent, in 64 bits. A
	// node that should be probed less often than every 2^62 slots, which is
	// longer than any schedule lasts, is probed that often.
	maxExponent = 62
	// nearOne are the digits of a float64 that are all ones if its mantissa is
	// less than 1 by at most 2^-31, which is more than any tolerance here.
	nearOne = (1<<30 - 1) << 22
	// noExponent marks nodes without slots: those of rate zero.
	noExponent = 255
)

// build lays out nodes with given roots of worth; zero: no node. It costs O(n):
// a sum, an exponent for each, and a sort by counting.
func (y *cycle) build(roots []float64) {
	if cap(y.exponent) < len(roots) {
		y.exponent = make([]uint8, len(roots), len(roots)+len(roots)/8)
	}
	y.exponent = y.exponent[:len(roots)]
	var sizes [maxExponent + 1]int
	total := sumOf(roots)
	for slot, root := range roots {
		y.exponent[slot] = noExponent
		if root > 0 {
			r := exponentOf(root / total)
			y.exponent[slot] = uint8(r)
			sizes[r]++
		}
	}
	y.fit(&sizes)
	y.lay(&sizes)
}

// sumOf adds with the lost low parts carried along (Neumaier 1974), because a
// plain sum of 10^6 equal numbers is off by more than logTolerance.
func sumOf(values []float64) float64 {
	sum, lost := 0.0, 0.0
	for _, v := range values {
		next := sum + v
		if sum >= v {
			lost += (sum - next) + v
		} else {
			lost += (v - next) + sum
		}
		sum = next
	}
	return sum + lost
}

// exponentOf is the least r >= 0 with 2^-r <= share, with tolerance.
func exponentOf(share float64) int {
	// Unless its first 30 binary digits are ones, share is far from rounding.
	if b := math.Float64bits(share); b&nearOne != nearOne {
		return min(max(1023-int(b>>52), 0), maxExponent)
	}
	// share is m 2^e with 1/2 <= m < 1, so log2(1/share) is above -e and at
	// most 1 - e.
	m, e := math.Frexp(share)
	r := 1 - e
	// Relatively to the logarithm -e: a 1/share that exceeds 2^-e by no more
	// is taken for it. 1 - m is ln 2 times the excess of the logarithm.
	if 1-m <= logTolerance*math.Ln2*float64(max(1, -e)) {
		r = -e
	}
	return min(max(r, 0), maxExponent)
}

// fit restores sum 2^-r <= 1 where tolerance broke it. The excess is so small
// that raising one exponent is enough.
func (y *cycle) fit(sizes *[maxExponent + 1]int) {
	const one = uint64(1) << maxExponent
	for {
		sum := uint64(0)
		for r, size := range sizes {
			sum += uint64(size) << (maxExponent - r)
		}
		if sum <= one {
			return
		}
		// Raising r to r+1 frees 2^-(r+1).
		r := maxExponent - 1
		for r > 0 && (sizes[r] == 0 || one>>(r+1) < sum-one) {
			r--
		}
		slot := len(y.exponent) - 1
		for slot > 0 && int(y.exponent[slot]) != r {
			slot--
		}
		y.exponent[slot]++
		sizes[r]--
		sizes[r+1]++
	}
}

// lay sorts the nodes by exponent and gives each level its first code word.
func (y *cycle) lay(sizes *[maxExponent + 1]int) {
	y.levels = y.levels[:0]
	var next [noExponent + 1]int // place in order of the next node of an exponent
	placed, sum := 0, uint64(0)
	for r, size := range sizes {
		next[r] = placed
		if size > 0 {
			y.levels = append(y.levels, level{r: r, first: placed, size: size, word: sum >> (maxExponent - r)})
		}
		placed += size
		sum += uint64(size) << (maxExponent - r)
	}
	if cap(y.order) < placed {
		y.order = make([]int32, placed, placed+placed/8)
	}
	y.order = y.order[:placed]
	for slot, r := range y.exponent {
		if r != noExponent {
			y.order[next[r]] = int32(slot)
			next[r]++
		}
	}
}

// owner is the node that owns a slot of the schedule, or -1: of each exponent,
// the last r bits of t reversed are the only code word that could.
func (y *cycle) owner(t uint64) int {
	for i := range y.levels {
		l := &y.levels[i]
		word := bits.Reverse64(t << (64 - l.r)) // of r = 0: 0, as shifts by 64 are
		if at := word - l.word; at < uint64(l.size) {
			return int(y.order[l.first+int(at)])
		}
	}
	return -1
}
