package placement

import "math/bits"

// rangeSet is a set of range numbers that finds its least member quickly. A
// table keeps its free ranges in one: units always grow at the lowest address,
// so that the upper half of a domain drains as units leave.
type rangeSet struct {
	words []uint64
	hint  int // words before it are empty
}

// newRangeSet returns the empty set with room for 0 .. n-1.
func newRangeSet(n int) rangeSet {
	return rangeSet{words: make([]uint64, (n+63)/64)}
}

func (s *rangeSet) add(r uint32) {
	w := int(r / 64)
	for len(s.words) <= w {
		s.words = append(s.words, 0)
	}
	s.words[w] |= 1 << (r % 64)
	s.hint = min(s.hint, w)
}

func (s *rangeSet) remove(r uint32) { s.words[r/64] &^= 1 << (r % 64) }

// takeLeast removes and returns the least member. The caller knows that the
// set is not empty: it counts the free measure.
func (s *rangeSet) takeLeast() uint32 {
	for s.words[s.hint] == 0 {
		s.hint++
	}
	w := &s.words[s.hint]
	r := uint32(s.hint*64 + bits.TrailingZeros64(*w))
	*w &= *w - 1
	return r
}

func (s *rangeSet) clone() rangeSet {
	return rangeSet{words: append([]uint64(nil), s.words...), hint: s.hint}
}

// ceilLog2 returns the least e with 2^e >= n, for n >= 1.
func ceilLog2(n int) int { return bits.Len64(uint64(n - 1)) }

// mergeRanges merges two ascending lists into one; it may reuse a.
func mergeRanges(a, b []uint32) []uint32 {
	i, j := len(a)-1, len(b)-1
	a = append(a, b...)
	for k := len(a) - 1; j >= 0; k-- {
		if i >= 0 && a[i] > b[j] {
			a[k] = a[i]
			i--
		} else {
			a[k] = b[j]
			j--
		}
	}
	return a
}

// draw makes 64 random bits of hash + i*odd, i-th of a stream of its own. It
// is half of a 128-bit product folded into the other, which takes a third of
// the time of Mix: hash is mixed already, and only streams have to be kept
// apart.
func draw(x uint64) uint64 {
	hi, lo := bits.Mul64(x, x^drawKey)
	return hi ^ lo
}

const drawKey = 0x636920D871574E69
