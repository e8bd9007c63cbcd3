package structures

import (
	"math"
	"math/big"
	"sync"
)

// LogRounded returns the natural logarithm of x > 0, rounded to nearest.
//
// The size of a Bloom layer follows from a logarithm, and its header carries
// the quotient in full; which centroids of a t-digest become one follows from another.
// math.Log may be one unit off, and differently so on different processors, while the C
// libraries under RedisBloom round correctly but for very rare cases. A record must give the
// same value on every machine, so the last bit matters.
//
// With x = f * 2^k and f in [1/sqrt 2, sqrt 2),
//
//	ln x = k ln 2 + 2 artanh((f-1)/(f+1)),  artanh s = s + s^3/3 + s^5/5 + ...
//
// where |s| < 0.172. logTerms terms leave less than 2^-140.
func LogRounded(x float64) float64 {
	f, k := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, k = f*2, k-1
	}
	num := new(big.Float).SetPrec(logPrec).Sub(big.NewFloat(f), big.NewFloat(1))
	den := new(big.Float).SetPrec(logPrec).Add(big.NewFloat(f), big.NewFloat(1))
	sum := new(big.Float).SetPrec(logPrec).Mul(halfLn2(), big.NewFloat(float64(k)))
	sum.Add(sum, artanh(num, den))
	y, _ := sum.Mul(sum, big.NewFloat(2)).Float64()
	return y
}

const (
	logPrec = 192 // far more bits than are needed to round the 53 of a float64
	// logTerms is for s = 1/3, the slower series: 9^-60 is below 2^-190. A sum changes no more by terms that
	// are so many bits shorter.
	logTerms, logBits = 60, 150
)

// halfLn2 is half the logarithm of 2, which is artanh 1/3.
var halfLn2 = sync.OnceValue(func() *big.Float { return artanh(big.NewFloat(1), big.NewFloat(3)) })

// artanh returns artanh(num/den) for quotients of at most 1/3.
func artanh(num, den *big.Float) *big.Float {
	power := new(big.Float).SetPrec(logPrec).Quo(num, den)
	square := new(big.Float).SetPrec(logPrec).Mul(power, power)
	sum := new(big.Float).SetPrec(logPrec).Set(power)
	term := new(big.Float).SetPrec(logPrec)
	for i := 1; i < logTerms; i++ {
		power.Mul(power, square)
		term.Quo(power, big.NewFloat(float64(2*i+1)))
		if term.Sign() == 0 || term.MantExp(nil) < sum.MantExp(nil)-logBits {
			break
		}
		sum.Add(sum, term)
	}
	return sum
}
