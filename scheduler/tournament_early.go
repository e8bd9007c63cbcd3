package scheduler

import "math"

// early is an offset at least 0 and below end up to which i stays before j,
// from closed forms that need no more values: nothing but curvature is lost
// while c a is small, which is where the curves of slow decays spend their time.
// exact says that a search would not find much more.
//
// With E the values exp(-c a) of now, for offsets t >= 0
//
//	fj(t) <= fj + sj Ej (hj t + gj (aj t + t^2/2))
//	fi(t) >= fi + si Ei exp(-ci H) (hi t + gi (ai t + t^2/2))  for t <= H,
//
// so that i stays before j up to H or the root of a quadratic equation. And the
// distance grows as long as fj' < fi', where
//
//	fj'/fi' = (sj Ej (hj + gj (aj+t))) / (si Ei (hi + gi (ai+t))) exp((ci-cj) t)
//
// and the first factor is monotonic.
func (d *duel) early(end int64) (sure int64, exact bool) {
	x, y := d.x, d.y
	// Slopes as shares of fi: p + q t is the growth in a step without decay.
	si, sj := x.s*d.ei/d.vi, y.s*d.ej/d.vi*(1+4*leadMargin)
	qi, qj := si*x.g, sj*y.g
	if !(qj*d.vi > tiny) || !(y.s*y.g > tiny) {
		return 0, false // bits were lost to underflow
	}
	pi, pj := si*x.h+qi*float64(d.ai), sj*y.h+qj*float64(d.aj)
	gap := 1 - d.vj/d.vi*(1+4*leadMargin)

	reach := 0.0
	if steep := max(pj/pi, qj/qi) * (1 + leadMargin); steep < 1 {
		if x.c <= y.c {
			return end - 1, true
		}
		reach = -math.Log(steep) / (x.c - y.c) * (1 - growthMargin)
	}
	far := rise(qj-qi, pj-pi, gap)
	if d.standing {
		reach = far
	} else {
		h := min(far, 1/(4*x.c), float64(end))
		fade := math.Exp(-x.c*h) * (1 - leadMargin)
		reach = max(reach, min(h, rise(qj-qi*fade, pj-pi*fade, gap)))
	}
	exact = far*(x.c+y.c) < 1./16
	switch {
	case reach >= float64(end):
		return end - 1, true
	case !(reach >= 1):
		return 0, false
	}
	return int64(reach*(1-leadMargin)) - 1, exact
}

// rise is the first t > 0 at which q t^2/2 + p t reaches gap, or a little less.
func rise(q, p, gap float64) float64 {
	root := float64(p*p) + float64(2*q*gap)
	switch {
	case q <= 0 && p <= 0 || root < 0:
		return math.Inf(1)
	case p < 0:
		return (math.Sqrt(root) - p) / q
	}
	return 2 * gap / (p + math.Sqrt(root))
}
