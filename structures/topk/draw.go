package topk

import (
	"math"
	"sync"
)

// source draws numbers for one change. It is SplitMix64 (Steele, Lea and Flood, "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014), and never changes: records in journals are
// replayed by it.
type source struct{ state uint64 }

// draw returns a number from 0 to below 1, a multiple of 2^-53.
func (s *source) draw() float64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) * 0x1p-53
}

// chances is decay^n for n below its length.
type chances [256]float64

// standardChances are those of the decay of most lists, which have them in common.
var standardChances = sync.OnceValue(func() *chances { return powers(DefaultDecay) })

func newChances(decay float64) *chances {
	if decay == DefaultDecay {
		return standardChances()
	}
	return powers(decay)
}

func powers(decay float64) *chances {
	var c chances
	// Products in order rather than math.Pow, which may differ in the last bit from
	// processor to processor.
	for i, x := 0, 1.0; i < len(c); i++ {
		c[i] = x
		x = float64(x * decay)
	}
	return &c
}

// of returns decay^count.
func (c *chances) of(count uint32) float64 {
	const last = uint32(len(c) - 1)
	if count <= last {
		return c[count]
	}
	return float64(power(c[last], count/last) * c[count%last])
}

// power returns x^n by squaring: the same number on every processor.
func power(x float64, n uint32) float64 {
	p := 1.0
	for ; n > 0 && x > math.SmallestNonzeroFloat64; n >>= 1 {
		if n&1 != 0 {
			p = float64(p * x)
		}
		x = float64(x * x)
	}
	if n > 0 {
		return 0
	}
	return p
}
