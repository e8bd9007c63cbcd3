package scheduler

import "math"

// A curve is the law of a value that grows with age like a parabola at first
// and saturates. With y = c a and E = exp(-y),
//
//	f(a) = s/c (1 - E - a g E) = s a (phi(y) + h) E,  phi(y) = (exp(y) - 1 - y)/y
//	f'(a) = s E (h + a g),                            h = (c - g)/c
//
// With g = 1 - exp(-c) this is the Whittle index of ephemeral content (see
// [Interest.Index]); with g = c and h = 0 it is the index of freshness.
//
// From a maximal age M on the value may be another constant, s/c (1-exp(-c M)).
type curve struct {
	s, c, g, h float64
	top        float64 // s/c, the limit
	last       float64 // value from age full on
	full       int64   // from this age on the value is constant, to the last bit
	jumps      bool    // full is the maximal age, where the value jumps
}

const (
	// fullY is the y from which f is its limit: 1 - E - a g E rounds to 1.
	fullY = 42
	// seriesY is the y below which phi is summed as a series. Above it the
	// closed form loses a factor 2/y^2 = 128 of the last bit to cancellation.
	seriesY = 0.125
	// minDecay stands for slower decays, zero among them: it is so slow that
	// no age that matters tells the difference from the limit, and it is a
	// power of two, so that the limit has the bits of a triangle.
	minDecay = 1.0 / (1 << 60)
)

// ephemeral makes k the curve of the Whittle index with decay c.
func (k *curve) ephemeral(s, c float64, maxAge int64) {
	c = max(c, minDecay)
	k.s, k.c = s, c
	if c < seriesY {
		k.h = -phi(-c)
		k.g = c - float64(c*k.h)
	} else {
		k.g = -math.Expm1(-c)
		k.h = (c - k.g) / c
	}
	k.limits()
	if maxAge > 0 && maxAge < k.full {
		k.full, k.jumps = maxAge, true
		k.last = k.top * -math.Expm1(-float64(c*float64(maxAge)))
	}
}

// fresh makes k the curve of the index of freshness with change rate c.
func (k *curve) fresh(s, c float64) {
	c = max(c, minDecay)
	k.s, k.c, k.g, k.h = s, c, c, 0
	k.limits()
}

// limits sets what follows from s and c if there is no maximal age.
func (k *curve) limits() {
	k.jumps = false
	k.top = k.s / k.c
	k.last = k.top
	// The margin covers the rounding of the product with an age.
	k.full = int64(min(fullY/k.c*(1+leadMargin), float64(ahead/2))) + 2
}

// at is f at an age of at least 1.
func (k *curve) at(age int64) float64 {
	f, _ := k.faded(age)
	return f
}

// faded are f at an age of at least 1 and E there, 0 where f is constant.
func (k *curve) faded(age int64) (f, e float64) {
	if age >= k.full {
		return k.last, 0
	}
	a := float64(age)
	y := k.c * a
	if y >= fullY {
		return k.top, 0
	}
	e = math.Exp(-y)
	return k.grown(a, y, e), e
}

// grown is f at age a, where y = c a and e = exp(-y). It is a product with s
// or s/c, so that of two curves that differ in s only the one of greater s is
// never below the other.
func (k *curve) grown(a, y, e float64) float64 {
	if y < seriesY {
		return k.s * float64(a*float64(phi(y)+k.h)*e)
	}
	return k.top * float64(float64(1-e)-float64(a*k.g*e))
}

// both are f and the derivative of its logarithm at an age of at least 1, as if
// there were no maximal age.
func (k *curve) both(age int64) (f, growth float64) {
	a := float64(age)
	y := k.c * a
	if y >= fullY {
		return k.top, 0
	}
	e := math.Exp(-y)
	f = k.grown(a, y, e)
	return f, k.growth(a, e, f)
}

// growth is the derivative of the logarithm of f, given E and f.
func (k *curve) growth(a, e, f float64) float64 {
	return k.s * e * float64(k.h+float64(a*k.g)) / f
}

// phi is (exp(x) - 1 - x)/x for |x| <= seriesY: the sum of x^(k-1)/k! over k
// from 2 to 12; the rest is below the last bit. For x > 0 all terms
// are positive.
func phi(x float64) float64 {
	z := float64(x * x)
	even := 1.0/2 + float64(z*(1.0/24+float64(z*(1.0/720+float64(z*(1.0/40320+float64(z*(1.0/3628800+float64(z/479001600)))))))))
	odd := 1.0/6 + float64(z*(1.0/120+float64(z*(1.0/5040+float64(z*(1.0/362880+float64(z/39916800)))))))
	return float64(x * (even + float64(x*odd)))
}

// curveContest is the contest of nodes whose values are curves.
type curveContest struct {
	of func(p *page, i int, k *curve)
}

func (r curveContest) enter(p *page, i int, c *contender) {
	r.of(p, i, &c.curve)
	c.scale = c.curve.s
}

func (curveContest) value(c *contender, age int64) (f float64) {
	f, c.fade = c.curve.faded(age)
	return f
}

func (curveContest) lead(i, j *contender, vi, vj float64, step int64) int64 {
	return curveLead(i, j, step-i.last, step-j.last, vi, vj)
}

// reach is an age below which f is below a level, but for rounding (see reacher),
// within a step or so of the one at which f reaches it. With k = g/c, w = 1/k + c a and
// u = -log(1 - level/top) + 1/k + log k - 1,
//
//	f(a) = level  when  w - log w = 1 + u.
//
// The greater root is at least 1 + sqrt(2u) + 2u/3 (Chatzigeorgiou, "Bounds on
// the Lambert function and their application to the outage analysis of user
// cooperation", 2013). Newton's step from there is too long by no more than
// its square over 2 w (w-1), as w - log w is convex and less so for greater w.
// Where c a is tiny f is a parabola, or less.
func (k *curve) reach(level float64) int64 {
	if level > k.last*(1+leadMargin) {
		return ahead
	}
	offset := k.h / k.g
	age := math.Sqrt(float64(offset*offset)+2*(level/k.s)/k.g) - offset
	if k.c*age > 1e-5 {
		u := -math.Log1p(-min(level/k.top, 1-leadMargin))
		inverse := k.c / k.g
		if k.c >= seriesY { // otherwise 1/k + log k - 1 is c^2/8, at least 0
			u += inverse - math.Log(inverse) - 1
		}
		x := math.Sqrt(2*u) + 2./3*u // w - 1: w has too few bits for it where it is small
		for range 2 {
			far := (u + (math.Log1p(x) - x)) * (1 + x) / x
			x += far - far*far/(2*x*(1+x))
		}
		age = max(age, (x-(inverse-1))/k.c)
	}
	reached := int64(min(age*(1-reachMargin), float64(ahead/2)))
	if k.jumps {
		return min(reached, k.full)
	}
	return reached
}

// reachMargin is the relative distance of an age from one at which a value is
// reached that rounding cannot exchange.
const reachMargin = 1e-9

func (curveContest) reach(c *contender, level float64) int64 { return c.curve.reach(level) }
