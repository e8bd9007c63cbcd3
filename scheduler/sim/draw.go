package sim

import (
	"math"
	"math/rand/v2"
)

// Draws of counts cost O(1): a node that was left alone for 10^6 steps has as
// many items as it has, and they are not to be drawn one by one.

const (
	// manyExpected is the mean from which rejection is used: the constants of
	// the envelopes hold from 10 on.
	manyExpected = 10
	// hugeExpected is the mean from which the normal law is used in place of
	// the Poisson law. They differ by a part of 10^-5 there, and differences
	// of logarithms of factorials have lost their digits soon after.
	hugeExpected = 1e9
)

// poisson draws from the Poisson law: by multiplying uniforms if the mean is
// small, else by transformed rejection (W. Hoermann, "The transformed rejection
// method for generating Poisson random variables", 1993, algorithm PTRS).
func poisson(mean float64, draws *rand.Rand) float64 {
	switch {
	case !(mean > 0):
		return 0
	case mean >= hugeExpected:
		return max(0, math.Round(mean+math.Sqrt(mean)*draws.NormFloat64()))
	case mean < manyExpected:
		found, floor := 0.0, math.Exp(-mean)
		for product := draws.Float64(); product > floor; product *= draws.Float64() {
			found++
		}
		return found
	}
	b := 0.931 + 2.53*math.Sqrt(mean)
	a := -0.059 + 0.02483*b
	inverse := 1.1239 + 1.1328/(b-3.4)
	quick, log := 0.9277-3.6224/(b-2), math.Log(mean)
	for {
		u, v := draws.Float64()-0.5, draws.Float64()
		edge := 0.5 - math.Abs(u)
		k := math.Floor((2*a/edge+b)*u + mean + 0.43)
		if edge >= 0.07 && v <= quick {
			return k
		}
		if k < 0 || edge < 0.013 && v > edge {
			continue
		}
		if math.Log(v*inverse/(a/(edge*edge)+b)) <= k*log-mean-factorial(k) {
			return k
		}
	}
}

// binomial draws the successes of n trials of probability p: by skipping to
// the next success if few are expected, else by transformed rejection (W.
// Hoermann, "The generation of binomial random variates", 1993, algorithm BTRS).
func binomial(n, p float64, draws *rand.Rand) float64 {
	switch {
	case !(n > 0 && p > 0):
		return 0
	case p >= 1:
		return n
	case p > 0.5:
		return n - binomial(n, 1-p, draws)
	case n*p < manyExpected:
		found, fail := 0.0, math.Log1p(-p)
		for at := 0.0; ; found++ {
			if at += math.Floor(math.Log(1-draws.Float64())/fail) + 1; at > n {
				return found
			}
		}
	}
	spread := math.Sqrt(n * p * (1 - p))
	b := 1.15 + 2.53*spread
	a := -0.0873 + 0.0248*b + 0.01*p
	quick, alpha := 0.92-4.2/b, (2.83+5.1/b)*spread
	mode, odds := math.Floor((n+1)*p), math.Log(p/(1-p))
	top := factorial(mode) + factorial(n-mode)
	for {
		u, v := draws.Float64()-0.5, draws.Float64()
		edge := 0.5 - math.Abs(u)
		k := math.Floor((2*a/edge+b)*u + n*p + 0.5)
		if edge >= 0.07 && v <= quick {
			return k
		}
		if k < 0 || k > n {
			continue
		}
		if math.Log(v*alpha/(a/(edge*edge)+b)) <= top-factorial(k)-factorial(n-k)+(k-mode)*odds {
			return k
		}
	}
}

// factorial is ln k!.
func factorial(k float64) float64 {
	log, _ := math.Lgamma(k + 1)
	return log
}

// geometric draws from 1, 2, ... with a mean of at least 1: the age at which a
// node is found that is probed with the same probability in every step.
func geometric(mean float64, draws *rand.Rand) float64 {
	if mean <= 1 {
		return 1
	}
	return math.Floor(math.Log(1-draws.Float64())/math.Log1p(-1/mean)) + 1
}
