package placement

import "math"

// calibrate sets the weights of the domains in order so that drawing until
// `copies` of them differ includes domain d with probability
// pi_d = copies w_d / rest, w_d being its weight on entry and rest their sum.
//
// Model: draws with repetition until k domains differ are the first k of
// independent exponential arrivals with rates p_d. Domain d is included if it
// arrives at t and fewer than k of the others before:
//
//	pi_d(p) = integral of p_d e^(-p_d t) P(fewer than k others by t) dt.
//
// Rosen (1997): p_d = -ln(1 - pi_d) is right in the limit of many small domains.
// From there p_d is multiplied by ln(1 - pi_d) / ln(1 - pi_d(p)) until all pi_d(p)
// are within calibrationTol.
//
// The result must be the same on every machine: only + - * / of float64, no
// product is added in the same expression unless it is rounded before (a
// compiler may fuse them; halves and quarters are exact and need no rounding),
// and logarithms are integer ones.
func calibrate(weights []Capacity, order []int, rest uint64, copies int) {
	target := make([]float64, len(order))
	equal := true
	for i, d := range order {
		target[i] = float64(copies) * (float64(weights[d]) / float64(rest))
		equal = equal && weights[d] == weights[order[0]]
	}
	if equal || copies == 1 {
		return
	}
	p := make([]float64, len(order))
	for i, t := range target {
		p[i] = minusLog(t)
	}
	if len(order)*copies <= maxCalibration {
		for range calibrationRounds {
			got := inclusion(p, copies)
			worst := 0.0
			for i, t := range target {
				p[i] *= minusLog(t) / minusLog(got[i])
				worst = max(worst, math.Abs(got[i]/t-1))
			}
			if worst < calibrationTol {
				break
			}
		}
	}
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	for i, d := range order {
		weights[d] = Capacity(max(p[i]/sum*float64(rest), 1))
	}
}

const (
	// calibrationTol is a tenth of the error that copies may have.
	calibrationTol = 1e-3
	// calibrationRounds bounds the work; three rounds are usual.
	calibrationRounds = 30
	// maxCalibration bounds the domains times the copies that are calibrated,
	// to a third of a second. Above it, Rosen's formula alone is off by up to
	// 4 % for a domain with half of the objects.
	maxCalibration = 1 << 18
	// gridStep is the step of the integral, as a part of the time in which
	// the k-th arrival is expected; the midpoint rule is off by its square.
	gridStep = 1.0 / 24
	// gridEnd bounds the steps, gridRest the chance of what is left after.
	gridEnd  = 4096
	gridRest = 1e-5
)

// minusLog answers -ln(1-x) for 0 < x < 1, cut to what makes sense here.
func minusLog(x float64) float64 {
	x = min(max(x, 1e-15), 1-1e-9)
	return float64(negLog(uint64(x*(1<<64)))) / (1 << logBits)
}

// expMinus answers e^-x for x >= 0 from its series at x/1024.
func expMinus(x float64) float64 {
	if x > 40 {
		return 0
	}
	y := x / 1024
	e := 1 - float64(y*(1-float64(y/2*(1-float64(y/3*(1-y/4))))))
	for range 10 {
		e *= e
	}
	return e
}

// inclusion answers the probability of each of some domains to be among the
// first k arrivals, k below their number.
func inclusion(p []float64, k int) []float64 {
	n := len(p)
	h := expectedTime(p, k) * gridStep
	step, half := make([]float64, n), make([]float64, n)
	alive := make([]float64, n) // e^(-p t) at the beginning of a step
	for i, v := range p {
		step[i], half[i], alive[i] = expMinus(v*h), expMinus(v*h/2), 1
	}
	absent := make([]float64, n) // in the middle of a step
	before := make([]float64, (n+1)*k)
	after := make([]float64, (n+1)*k)
	out := make([]float64, n)
	for range gridEnd {
		for i := range p {
			absent[i] = alive[i] * half[i]
		}
		left := arrivals(absent, before, after, k)
		for i := range p {
			out[i] += float64(alive[i] * (1 - step[i]) * fewer(before[i*k:(i+1)*k], after[(i+1)*k:(i+2)*k]))
			alive[i] *= step[i]
		}
		if left < gridRest {
			break
		}
	}
	total := 0.0
	for _, v := range out {
		total += v
	}
	for i := range out { // what the grid left out, in proportion
		out[i] *= float64(k) / total
	}
	return out
}

// arrivals fills in, for each i, the chances of 0 to k-1 arrivals among those
// before i, and of at most 0 to k-1 among those from i on. It answers the
// chance of fewer than k among all.
func arrivals(absent, before, after []float64, k int) float64 {
	n := len(absent)
	clear(before[:k])
	before[0] = 1
	for i, a := range absent {
		from, to := before[i*k:(i+1)*k], before[(i+1)*k:(i+2)*k]
		to[0] = from[0] * a
		for c := 1; c < k; c++ {
			to[c] = float64(from[c]*a) + float64(from[c-1]*(1-a))
		}
	}
	for c := range k {
		after[n*k+c] = 1
	}
	for i := n - 1; i >= 0; i-- {
		a, from, to := absent[i], after[(i+1)*k:(i+2)*k], after[i*k:(i+1)*k]
		to[0] = from[0] * a
		for c := 1; c < k; c++ {
			to[c] = float64(from[c]*a) + float64(from[c-1]*(1-a))
		}
	}
	return after[k-1]
}

// fewer answers the chance of fewer than k arrivals in two groups.
func fewer(exactly, atMost []float64) float64 {
	sum := 0.0
	for c, v := range exactly {
		sum += float64(v * atMost[len(atMost)-1-c])
	}
	return sum
}

// expectedTime answers t with k arrivals expected by t, by bisection.
func expectedTime(p []float64, k int) float64 {
	expected := func(t float64) float64 {
		sum := 0.0
		for _, v := range p {
			sum += 1 - expMinus(v*t)
		}
		return sum
	}
	low, high := 0.0, 1.0
	for expected(high) < float64(k) && high < 1e9 {
		high *= 2
	}
	for range 20 { // a millionth: it only chooses the grid
		if mid := (low + high) / 2; expected(mid) < float64(k) {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
