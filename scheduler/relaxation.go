package scheduler

import (
	"context"
	"math"
)

// A relaxation is the problem of a schedule with the constraint on each step relaxed
// to one on the mean: nodes are probed c times a step on average, each for a price v,
// and none knows of the others. What it costs at the best price is a bound for every
// schedule: the greatest value over v >= 0 of
//
//	sum over i of least_i(v)  -  v c,
//
// where least_i is the least cost of node i alone, its probes at v paid for. The sum is
// concave in v, and its slope is how many more probes a step the nodes want than there
// are.
type relaxation struct {
	n int
	c float64
	// guess is a price that may be near the best one, 0 if no node is worth a probe.
	guess float64
	// node is least_i(v), and its slope: what the node spends a step in probes.
	node func(i int, v float64) (least, spent float64)
}

// bound is the value at the best price. It returns the error of ctx if that ends first.
func (r *relaxation) bound(ctx context.Context) (float64, error) {
	best, err := r.best(ctx)
	return best.v, err
}

// sampled is the number of nodes of a sample that tells about where the best price is,
// if there are some times as many.
const sampled = 4096

// best touches the sum where it is greatest.
func (r *relaxation) best(ctx context.Context) (tangent, error) {
	guess := r.guess
	if every := r.n / sampled; every > 1 {
		price, err := maximum(func(v float64) (float64, float64, error) { return r.at(ctx, v, every) }, guess, sampleMargin)
		if err != nil {
			return tangent{}, err
		}
		if price.at > 0 {
			guess = price.at
		}
	}
	return maximum(func(v float64) (float64, float64, error) { return r.at(ctx, v, 1) }, guess, boundMargin)
}

const (
	// boundMargin is the relative error that a bound may have: it is too low by that.
	boundMargin = 1e-12
	// sampleMargin is less than what a sample is off.
	sampleMargin = 1e-6
)

// at is the sum at a price, and its slope, from one node of so many.
func (r *relaxation) at(ctx context.Context, v float64, every int) (value, slope float64, err error) {
	value, slope = -float64(v*r.c), -r.c
	share := float64(every)
	for i, looked := every/2, 0; i < r.n; i, looked = i+every, looked+1 {
		if looked%nodesALook == 0 && ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
		least, spent := r.node(i, v)
		value, slope = value+float64(share*least), slope+float64(share*spent)
	}
	return value, slope, nil
}

// tangent touches a concave function at a price, and is nowhere below it.
type tangent struct{ at, v, slope float64 }

// maximum touches a concave, piecewise linear function on [0, inf) that falls from
// somewhere on where it is greatest, but for a relative margin. The function's error
// ends it.
func maximum(value func(float64) (v, slope float64, err error), guess, margin float64) (tangent, error) {
	s, err := settle(value, guess, margin)
	best := s.best()
	best.v = rounded(best.v)
	return best, err
}

// rounded is a value without its last bits, which come from rounding: bounds of a few nodes are often short numbers, and a
// schedule that meets its bound is to have a ratio of 1. The error is less than a hundredth of boundMargin.
func rounded(v float64) float64 {
	const last = 1 << 6
	return math.Float64frombits((math.Float64bits(v) + last/2) &^ (last - 1))
}

// settle is the last prices that maximum looked at.
func settle(value func(float64) (v, slope float64, err error), guess, margin float64) (ends, error) {
	s, err := around(value, guess)
	for err == nil && s.gain() > margin*math.Abs(s.best().v) {
		at, ok := s.next()
		if !ok {
			break
		}
		err = s.look(value, at)
	}
	if err != nil {
		return ends{}, err
	}
	return s, nil
}

// ends are prices between which the slope of a concave function falls through
// zero.
type ends struct {
	low, top     tangent // low rises, top does not
	rises, falls bool    // there is low, there is top
	rose         bool    // low was looked at last
	a, b         float64 // their slopes, as the next line sees them
	tries        int
	wide         float64 // the distance of low and top some tries ago
}

// greatestPrice is beyond all that make sense: a function that rises up to there has no
// maximum.
const greatestPrice = 1e200

// around finds two prices that the zero of the slope is between, away from a guess in
// ever greater steps. There is no low price where the function does not rise at 0.
func around(value func(float64) (v, slope float64, err error), guess float64) (s ends, err error) {
	const first, most = 1.01, 1 << 16 // a guess from a sample is off by some percent
	for at, factor := guess, first; err == nil && at < greatestPrice; factor = min(factor*factor, most) {
		if err = s.look(value, at); s.rises && s.falls || at == 0 {
			break
		}
		if s.rises {
			at *= factor
		} else if at /= factor; at < guess/greatestPrice || s.tries > bisections {
			at = 0
		}
	}
	return s, err
}

func (s *ends) look(value func(float64) (v, slope float64, err error), at float64) error {
	v, slope, err := value(at)
	s.tries++
	// The slope of an end that stays a second time is halved, or lines would come from one
	// side only.
	if slope > 0 {
		if s.rose {
			s.b /= 2
		}
		s.low, s.a, s.rises, s.rose = tangent{at, v, slope}, slope, true, true
	} else {
		if s.falls && !s.rose {
			s.a /= 2
		}
		s.top, s.b, s.falls, s.rose = tangent{at, v, slope}, slope, true, false
	}
	return err
}

// best is where the function is greatest of low and top.
func (s *ends) best() tangent {
	if !s.falls || s.rises && s.low.v > s.top.v {
		return s.low
	}
	return s.top
}

// gain is by how much at most the function is greater between low and top than at
// either: the tangents meet there.
func (s *ends) gain() float64 {
	if !s.rises || !s.falls {
		return 0
	}
	far := (s.top.v - s.low.v - s.top.slope*(s.top.at-s.low.at)) / (s.low.slope - s.top.slope)
	return min(s.low.slope*far, s.low.v-s.top.v+s.low.slope*far)
}

// next is the price to look at, if any is left between low and top. Where many nodes
// change their gaps one by one the slope is like a smooth curve, and the line through two
// of its values crosses zero near where it does (the Illinois method; Dowell and Jarratt
// 1971). The slope of a few nodes is a flight of stairs: where three lines did not do what
// halving does, the price is half way.
func (s *ends) next() (at float64, ok bool) {
	far := s.top.at - s.low.at
	at = s.low.at + far/2
	slow := false
	if s.tries%3 == 0 {
		slow, s.wide = s.wide > 0 && far > s.wide/8, far
	}
	if line := s.low.at + far*(s.a/(s.a-s.b)); !slow && line > s.low.at && line < s.top.at {
		at = line
	}
	return at, s.tries < 2*bisections && at > s.low.at && at < s.top.at
}

// bisections is more than the prices that are tried in practice: the search ends when two
// neighbours are reached.
const bisections = 200
