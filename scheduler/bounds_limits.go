package scheduler

import (
	"context"
	"math"
)

// Demand is a node as LimitedBound sees it.
type Demand struct {
	Worth    float64 // what a step of waiting costs
	Price    float64 // what a probe takes of the budget; 1 where probes are counted
	Group    int     // 0: none
	Deadline int64   // 0: none
}

// LimitedBound is LB3 where groups have limits, nodes deadlines and probes a price: no
// schedule with a budget of c a step that hands out at most limits[g] nodes of group g
// in a step costs less than the greatest value over prices v, v_g >= 0 of
//
//	sum over i of min over T = 1 ... D_i of (w_i (T+1)/2 + (v C_i + v_g)/T)  -  v c  -  sum v_g R_g.
//
// A group with a limit of infinity, or beyond the list, has no price. For each v the
// best v_g are found one by one, as the sum is concave in all. A schedule that cannot keep
// the deadlines has no cost: the bound then grows without end, and is infinite. It returns
// the error of ctx if that ends first. Cost O(n) for each of a dozen prices, times some
// for nodes of limited groups.
func LimitedBound(ctx context.Context, nodes []Demand, limits []float64, c float64) (float64, error) {
	p := &limitedProblem{ctx: ctx, groups: make([][]Demand, len(limits)), limits: limits, own: make([]float64, len(limits))}
	high := 0.0
	for _, d := range nodes {
		if !(d.Worth > 0) && d.Deadline == 0 {
			continue
		}
		high = max(high, d.Worth/d.Price)
		if d.Group > 0 && d.Group < len(limits) && !math.IsInf(limits[d.Group], 1) {
			p.groups[d.Group] = append(p.groups[d.Group], d)
		} else {
			p.free = append(p.free, d)
		}
	}
	high = max(high, MinCost)
	for g := range p.own {
		p.own[g] = high
	}
	best, err := maximum(func(v float64) (float64, float64, error) { return p.at(v, c) }, high, boundMargin)
	if err == nil && best.v > MaxNumber*MaxNumber {
		return math.Inf(1), nil
	}
	return best.v, err
}

type limitedProblem struct {
	ctx    context.Context
	free   []Demand
	groups [][]Demand
	limits []float64
	own    []float64 // a guess of the price of each group: the last one, or any above 0
}

// at is the best value at a price v, and its slope.
func (p *limitedProblem) at(v, c float64) (value, slope float64, err error) {
	value, slope = -float64(v*c), -c
	for i := range p.free {
		if i%nodesALook == 0 && p.ctx.Err() != nil {
			return 0, 0, p.ctx.Err()
		}
		cost, t := p.free[i].best(v * p.free[i].Price)
		value, slope = value+cost, slope+p.free[i].Price/t
	}
	for g, members := range p.groups {
		if len(members) == 0 {
			continue
		}
		best, spent, err := p.group(g, v)
		if err != nil {
			return 0, 0, err
		}
		value, slope = value+best, slope+spent
	}
	return value, slope, nil
}

// group is the best value of the nodes of a group at a price v, and what they spend.
func (p *limitedProblem) group(g int, v float64) (best, spent float64, err error) {
	var low, top float64 // spent at own prices that are too low, and at others
	members, limit := p.groups[g], p.limits[g]
	s, err := settle(func(own float64) (value, slope float64, err error) {
		value, slope, spent = -float64(own*limit), -limit, 0
		for i := range members {
			cost, t := members[i].best(v*members[i].Price + own)
			value, slope, spent = value+cost, slope+1/t, spent+members[i].Price/t
		}
		if slope > 0 {
			low = spent
		} else {
			top = spent
		}
		return value, slope, p.ctx.Err()
	}, p.own[g], boundMargin)
	if err != nil {
		return 0, 0, err
	}
	if at := s.best().at; at > 0 {
		p.own[g] = at
	}
	// A tight group is between two gaps of some node: part of its rate is of one and
	// part of the other, so that the limit is used up.
	switch {
	case !s.falls:
		top = low
	case s.rises:
		top += (low - top) * (-s.top.slope / (s.low.slope - s.top.slope))
	}
	return s.best().v, top, nil
}

// best is the least cost of a node whose probe costs v, and its gap.
func (d *Demand) best(v float64) (cost, gap float64) {
	gap = math.Inf(1)
	if d.Worth > 0 {
		gap = bestGap(d.Worth, v)
	}
	if d.Deadline > 0 {
		gap = min(gap, float64(d.Deadline))
	}
	return float64(d.Worth*(gap+1)/2) + v/gap, gap
}
