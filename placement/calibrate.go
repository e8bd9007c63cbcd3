package placement

import (
	"math"
	"slices"
)

// lot is the domains whose shares of copies are calibrated.
type lot struct {
	first     []float64 // probability of the first copy
	elsewhere float64   // probability that a domain outside has the first copy
	target    []float64 // wanted probability of a copy
	copies    int       // for these domains, the first among them or not
}

// calibrate returns weights such that each domain has a copy with its wanted
// probability, multiples of the smallest possible one up to 2^52.
//
// Model: the first copy is in domain d with probability c_d. The others arrive at
// times u_d/v_d, u_d uniform in [0, 1): by t with probability min(1, v_d t). The
// first k-1 of them get a copy, k if the first copy is outside:
//
//	pi_d(v) = c_d + integral of v_d P(first copy not in d, fewer than k others by t) dt
//
// over t from 0 to 1/v_d, the first copy's domain counting as one that is there.
// v = pi is right in the limit of many small domains. From there v_d is corrected
// by the quotient of the odds of pi_d - c_d and pi_d(v) - c_d until all pi_d(v)
// are within calibrationTol.
//
// The result must be the same on every machine: only + - * / of float64, no
// product is added in the same expression unless it is rounded before (a
// compiler may fuse them).
//
// Small domains are taken together (see bundle), so the time depends on copies
// rather than domains.
func (l *lot) calibrate() []Capacity {
	v := slices.Clone(l.target)
	if slices.Min(v) < slices.Max(v) {
		small, of := l.bundle()
		together := small.solve()
		for i, b := range of {
			v[i] = together[b] * (l.target[i] / small.target[b])
		}
	}
	most := slices.Max(v)
	out := make([]Capacity, len(v))
	for i, x := range v {
		out[i] = Capacity(max(x/most*(1<<52), 1))
	}
	return out
}

// bundle returns a lot in which neighbours are one domain as long as it
// has copies of few objects, and in which of its domains each one is. What
// others see of domains, how many are there by t, is then nearly the same.
func (l *lot) bundle() (small lot, of []int) {
	limit := max(bundleShare, float64(l.copies*l.copies)/(1<<15))
	small = lot{elsewhere: l.elsewhere, copies: l.copies}
	of = make([]int, len(l.target))
	for i, t := range l.target {
		last := len(small.target) - 1
		if last < l.copies || small.target[last]+t > limit {
			small.first, small.target = append(small.first, 0), append(small.target, 0)
			last++
		}
		small.first[last] += l.first[i]
		small.target[last] += t
		of[i] = last
	}
	return small, of
}

// solve returns the weights that give the targets.
func (l *lot) solve() []float64 {
	v, gains := slices.Clone(l.target), make([]gain, len(l.target))
	for range calibrationRounds {
		got := l.inclusion(v)
		worst := 0.0
		for i, t := range l.target {
			worst = max(worst, math.Abs(got[i]/t-1))
		}
		if worst < calibrationTol {
			break
		}
		for i, t := range l.target {
			v[i] *= gains[i].step(odds(t-l.first[i]) / odds(got[i]-l.first[i]))
		}
	}
	return v
}

const (
	// calibrationTol is a hundredth of the error that copies may have: what a
	// small unit moves should not be hidden by what calibration leaves open.
	calibrationTol = 1e-4
	// calibrationRounds bounds the work; one to eight rounds are usual, 15 for
	// domains with copies of nearly everything.
	calibrationRounds = 60
	// bundleShare is the share of copies up to which small domains are taken
	// together; more for more than 11 copies, whose time it bounds.
	bundleShare = 1.0 / 256
	// gridStep is the longest step of the integral, as a part of the time in
	// which the k-th arrival is expected; the midpoint rule is off by its
	// square. The first step is that part of the time in which the fastest domain
	// is there: one that has nearly all copies is there long before the others.
	gridStep   = 1.0 / 32
	gridFirst  = 1.0 / 8
	gridGrowth = 1.25
	// gridEnd bounds the steps, gridRest the chance of what is left after.
	gridEnd  = 4096
	gridRest = 1e-6
)

// gain is how much of a correction to make: less after one in the other
// direction, and then below 0 while the last one was down; more after one in
// the same.
type gain float64

// A gain begins at 0 and is at least gainLeast after; steps that repeat grow.
const (
	gainFirst  = 0.75
	gainLeast  = 0.25
	gainMost   = 4
	gainGrowth = 1.25
)

// step returns the factor of a weight whose odds are to grow by a ratio.
func (g *gain) step(ratio float64) float64 {
	up, was := ratio >= 1, *g > 0
	size := max(*g, -*g)
	switch {
	case *g == 0:
		size = gainFirst
	case up == was:
		size = min(size*gainGrowth, gainMost)
	default:
		size = max(size/2, gainLeast)
	}
	if up {
		*g = size
		return 1 + float64(float64(size)*(min(ratio, 8)-1))
	}
	*g = -size
	return 1 / (1 + float64(float64(size)*(min(1/ratio, 8)-1)))
}

// odds returns p/(1-p) for a probability, cut to what makes sense here.
func odds(p float64) float64 {
	p = min(max(p, 1e-15), 1-1e-9)
	return p / (1 - p)
}

// arrived returns the probability to be there by t.
func arrived(v, t float64) float64 { return min(float64(v*t), 1) }

// inclusion returns the probability of a copy of each domain for weights v.
func (l *lot) inclusion(v []float64) []float64 {
	n, k := len(v), l.copies
	longest, from := expectedTime(v, k)*gridStep, 0.0
	h := min(longest, gridFirst/slices.Max(v))
	there := make([]float64, n) // in the middle of a step
	before, after := make([]float64, (n+1)*2*k), make([]float64, (n+1)*2*k)
	out := make([]float64, n)
	for range gridEnd {
		for i := range v {
			there[i] = arrived(v[i], from+h/2)
		}
		l.arrivals(there, before, after)
		for i := range v {
			if p := arrived(v[i], from+h) - arrived(v[i], from); p > 0 {
				out[i] += float64(p * l.fewer(before[2*k*i:2*k*(i+1)], after[2*k*(i+1):2*k*(i+2)]))
			}
		}
		if l.fewer(before[2*k*n:], after[2*k*n:]) < gridRest {
			break
		}
		from += h
		h = min(longest, float64(h*gridGrowth))
	}
	total := 0.0
	for _, p := range out {
		total += p
	}
	scale := (float64(k) - (1 - l.elsewhere)) / total // what the grid left out, in proportion
	for i := range out {
		out[i] = l.first[i] + float64(out[i]*scale)
	}
	return out
}

// arrivals fills in, for each i, the chances of 0 to k-1 domains that are there
// among those before i, and of at most 0 to k-1 among those from i on: the
// first k entries without the first copy, the next k with it.
func (l *lot) arrivals(there, before, after []float64) {
	n, k := len(there), l.copies
	clear(before[:2*k])
	before[0] = 1
	for i, p := range there {
		advance(before[2*k*i:2*k*(i+1)], before[2*k*(i+1):2*k*(i+2)], p, l.first[i])
	}
	clear(after[2*k*n:])
	for c := range k {
		after[2*k*n+c] = 1
	}
	for i := n - 1; i >= 0; i-- {
		advance(after[2*k*(i+1):2*k*(i+2)], after[2*k*i:2*k*(i+1)], there[i], l.first[i])
	}
}

// advance adds a domain to chances: it is there with probability p, or has the
// first copy with the probability first.
func advance(from, to []float64, p, first float64) {
	k := len(from) / 2
	without, with := from[:k], from[k:]
	q := 1 - p
	to[0], to[k] = float64(without[0]*q), float64(with[0]*q)
	for c := 1; c < k; c++ {
		to[c] = float64(without[c]*q) + float64(without[c-1]*p)
		to[k+c] = float64(with[c]*q) + float64(with[c-1]*p) + float64(without[c-1]*first)
	}
}

// fewer returns the chance of fewer than k domains that are there in two groups,
// one of which has the first copy, or none.
func (l *lot) fewer(exactly, atMost []float64) float64 {
	k := l.copies
	sum := 0.0
	for c := range k {
		without, with := atMost[k-1-c], atMost[2*k-1-c]
		sum += float64(exactly[k+c]*without) + float64(exactly[c]*(with+float64(l.elsewhere*without)))
	}
	return sum
}

// expectedTime returns t with k arrivals expected by t, by bisection.
func expectedTime(p []float64, k int) float64 {
	expected := func(t float64) float64 {
		sum := 0.0
		for _, v := range p {
			sum += arrived(v, t)
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
