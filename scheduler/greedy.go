package scheduler

import "math"

// greedyPolicy probes the nodes where most is to be found: the greatest
// expected number of items pi tau, or, for nodes with a DECAY, the greatest
// expected interest x(a) = (w lambda / c) (1 - exp(-c min(a, M))) (see [Interest]).
//
// It is there to show that the obvious rule is bad: it equalises the queues, so
// that nodes are probed in proportion to their rates, where the roots of the
// rates are right. For pi_i = 2^-i it costs Omega(n) times the optimum (P1), and
// on Table I of P2 it earns 383.93 of 471.38 that are possible: it leaves nodes
// alone while they are worth little, though they would soon be worth more.
//
// With weights and costs pi is replaced by w pi / C, x by x/C. Ties go to the
// lowest slot; nodes of rate or weight zero are never probed.
//
// Cost: see tournament. Without decays values are lines, two of which cross once.
// With them a lead lasts until the follower has reached the leader's present
// value, which is short for nodes that are nearly alike.
var greedyPolicy = PolicySpec{
	Name: "greedy", Number: 8, Ranks: true, Estimator: "change", Either: true,
	Limit: greedyLimit,
	New:   func() Policy { return newTournament(greedyContest{}) },
}

type greedyContest struct{}

// enter leaves in curve the decay c, the limit top, and the maximal age full.
func (greedyContest) enter(p *page, i int, c *contender) {
	decay := p.get(i, colDecay)
	c.curve.c = decay
	if decay == 0 {
		c.scale = p.worth(i)
		return
	}
	c.scale = p.get(i, colWeight) * p.arrival(i)
	c.curve.top = c.scale / decay / p.get(i, colCost)
	c.curve.full = int64(p.get(i, colMaxAge))
	if c.curve.full == 0 {
		c.curve.full = ahead
	}
}

func (greedyContest) value(c *contender, age int64) float64 {
	if c.curve.c == 0 {
		return c.scale * float64(age)
	}
	return c.curve.top * -math.Expm1(-float64(c.curve.c*float64(min(age, c.curve.full))))
}

func (greedyContest) lead(i, j *contender, vi, vj float64, step int64) int64 {
	x, y := &i.curve, &j.curve
	if x.c == 0 && y.c == 0 {
		return straightLead(i, j, vi, vj, step)
	}
	if i.last == j.last && i.slot < j.slot && x.c == y.c && x.top == y.top && x.full == y.full && y.c != 0 {
		return ahead // equal for ever
	}
	// The leader only grows: it stays ahead while the follower is below vi.
	level, aj := vi*(1-leadMargin), step-j.last
	age := level / j.scale
	if y.c != 0 {
		if y.top < level || (aj >= y.full && vj < level) {
			return ahead
		}
		age = -math.Log1p(-level/y.top) / y.c
	}
	return int64(min(max(1, age*(1-leadMargin)-float64(aj)), float64(never)))
}
