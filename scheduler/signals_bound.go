package scheduler

import (
	"context"
	"math"
)

// SignalsBound is a bound on the mean importance of fresh copies under any policy
// that hears the signals of the nodes, with c probes a step: the least value over
// prices v of
//
//	v c + sum over i of m_i exp(-y_i(v)),  V_i(y_i) = v,
//
// where nodes whose index never reaches v count 0. Importances are WEIGHT/COST, and
// change rates Arrival, or Rate where that is Unknown. Nodes of rate 0, whose copies
// are always fresh, count nothing. Nodes without signals are those of FreshnessBound
// with gaps that need not be whole numbers. It returns the error of ctx if that ends
// first. Cost O(n) for each of a dozen prices.
func SignalsBound(ctx context.Context, nodes []Params, c int) (float64, error) {
	pages := make([]threshold, 0, len(nodes))
	high := 0.0
	for i := range nodes {
		if p, ok := thresholdOf(&nodes[i]); ok {
			pages = append(pages, p)
			high = max(high, p.top)
		}
	}
	r := relaxation{n: len(pages), c: float64(c), guess: high}
	r.node = func(i int, v float64) (loss, rate float64) {
		fresh, rate := pages[i].at(v)
		return -fresh, rate
	}
	bound, err := r.bound(ctx)
	return -bound, err
}

// threshold is a page that is probed when y reaches what a price says.
type threshold struct {
	noisy
	y float64 // of the last price: a good guess for the next
}

func thresholdOf(p *Params) (t threshold, ok bool) {
	rate := p.Arrival
	if rate == Unknown {
		rate = p.Rate
	}
	if !(rate > 0) || !(p.Weight > 0) {
		return t, false
	}
	t.noisy, ok = noisyCurve(&Signals{}, p.Precision, p.Recall, rate, p.Weight/p.Cost)
	if !ok {
		t.noisy = noisy{noise: noise{a: rate}, s: p.Weight / p.Cost, top: p.Weight / p.Cost / rate}
	}
	t.y = 1
	return t, true
}

// at is the mean importance that is fresh, and the probes a step, at a price.
func (t *threshold) at(v float64) (fresh, rate float64) {
	if v >= t.top {
		return 0, 0
	}
	low, high := 0.0, float64(fullY)
	y := t.y
	for range bisections {
		w, psi := t.whole(y)
		e := math.Exp(-y)
		excess := t.s*(w-e*psi) - v
		if excess > 0 {
			high = y
		} else {
			low = y
		}
		slope := t.s * e * psi
		next := y - excess/slope
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-y) <= 1e-14*y || next <= low || next >= high {
			break
		}
		y = next
	}
	t.y = y
	_, psi := t.whole(y)
	return t.s * math.Exp(-y), 1 / psi
}

// whole is w and psi at y, also without signals.
func (t *threshold) whole(y float64) (w, psi float64) {
	if t.g == 0 {
		return -math.Expm1(-y) / t.a, y / t.a
	}
	return t.cycle(y)
}
