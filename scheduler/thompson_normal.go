package scheduler

import (
	"math"
	"math/rand/v2"
)

// logarithm is ln x for x > 0 within a few units of the last place, computed
// only with operations that IEEE 754 rounds exactly (see decay).
//
// With x = m 2^e, m in [sqrt(1/2), sqrt 2) and z = (m-1)/(m+1),
// ln m = 2 (z + z^3/3 + z^5/5 + ...), and |z| <= 0.1716.
func logarithm(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	z := (m - 1) / (m + 1)
	square := z * z
	sum := 0.0
	for i := 23.0; i > 0; i -= 2 {
		sum = 1/i + float64(square*sum)
	}
	return float64(float64(e)*ln2High) + (float64(float64(e)*ln2Low) + float64(2*z*sum))
}

// saturation is 1 - exp(-x) for x >= 0 without cancellation.
func saturation(x float64) float64 {
	if x > 0.5 {
		return 1 - decay(x)
	}
	sum := 0.0
	for i := 17.0; i > 0; i-- {
		sum = 1 - float64(x*sum)/(i+1)
	}
	return x * sum
}

// normal draws a standard normal number by Marsaglia's polar method (1964). The
// one of package rand uses functions that differ between machines.
func normal(draws *rand.Rand) float64 {
	for {
		x, y := 2*draws.Float64()-1, 2*draws.Float64()-1
		r := float64(x*x) + float64(y*y)
		if r > 0 && r < 1 {
			return x * math.Sqrt(-2*logarithm(r)/r)
		}
	}
}
