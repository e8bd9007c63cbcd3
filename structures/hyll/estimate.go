package hyll

import (
	"encoding/binary"
	"math"
)

// The estimate of Ertl, "New cardinality estimation algorithms for HyperLogLog
// sketches" (2017), algorithm 6. With m registers, c[k] of them holding k, and q
// = 50,
//
//	z = m*tau(1 - c[q+1]/m);  z = (z + c[k])/2 for k = q .. 1;  z += m*sigma(c[0]/m)
//	estimate = alpha * m*m / z,  alpha = 1/(2 ln 2)
//
// It needs no table of biases and is good over the whole range. PFCOUNT must
// return Redis's number to the last unit, so every product is rounded by a
// conversion: a compiler may otherwise fuse it with the sum that follows.

const alpha = 0.721347520444481703680

// histogram counts the registers by what they hold. A damaged dense string
// can hold up to 63, which the estimate ignores.
type histogram [64]int

// addDense counts 12288 bytes of registers, eight registers from six bytes at a
// time. Two histograms take turns, because most registers of a sketch hold one
// of few numbers and each count waits for the last one of that number.
func (h *histogram) addDense(regs []byte) {
	var other histogram
	for ; len(regs) >= 8; regs = regs[6:] {
		w := binary.LittleEndian.Uint64(regs)
		h[w&63]++
		other[w>>6&63]++
		h[w>>12&63]++
		other[w>>18&63]++
		h[w>>24&63]++
		other[w>>30&63]++
		h[w>>36&63]++
		other[w>>42&63]++
	}
	// The last six bytes cannot be read as eight.
	var w uint64
	for i, x := range regs {
		w |= uint64(x) << (8 * i)
	}
	for i := 0; i < len(regs)*8/6; i++ {
		h[w>>(6*i)&63]++
	}
	for i, n := range other {
		h[i] += n
	}
}

func (h *histogram) addSparse(value []byte) error {
	set := 0
	err := eachSparse(value, func(_, n int, count uint8) {
		h[count] += n
		set += n
	})
	h[0] += registers - set
	return err
}

func (h *histogram) addRegisters(regs []byte) {
	for _, count := range regs {
		h[count&63]++
	}
}

func (h *histogram) estimate() uint64 {
	const m = float64(registers)
	z := float64(m * ertlTau((m-float64(h[q+1]))/m))
	for k := q; k >= 1; k-- {
		z = float64((z + float64(h[k])) * 0.5)
	}
	z += float64(m * ertlSigma(float64(h[0])/m))
	e := math.Round(float64(alpha*m*m) / z)
	if e < 0 || e >= math.MaxInt64 || math.IsNaN(e) {
		// No register of 0 to 51 is left to count: only a forged string.
		return math.MaxInt64
	}
	return uint64(e)
}

// ertlSigma is the correction for registers that are still 0.
func ertlSigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x = float64(x * x)
		before := z
		z += float64(x * y)
		y += y
		if z == before {
			return z
		}
	}
}

// ertlTau is the correction for registers that can rise no further.
func ertlTau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		rest := 1 - x
		z -= float64(float64(rest*rest) * y)
		if z == before {
			return z / 3
		}
	}
}
