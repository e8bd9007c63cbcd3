package scheduler

import "math"

// indexPolicy probes the nodes with the greatest pi tau (tau+1) / 2.
//
// That is the Whittle index of the probing problem: charge a price v for each
// probe of one node alone; waiting T steps between probes costs pi (T+1)/2 + v/T
// a step, and T+1 is no better than T exactly when v <= pi T (T+1)/2. It is also
// the limit of [Interest.Index] for decays that go to zero, up to a factor.
// Measured cost is within 1 % of LB3 for ten nodes and more.
//
// With weights and costs pi is replaced by w pi / C. Ties go to the lowest slot;
// nodes of rate or weight zero are never probed.
//
// Cost: see tournament; two values cross at most once, so a match is played
// again about once for each probe of its nodes.
var indexPolicy = PolicySpec{
	Name: "index", Number: 1, Ranks: true, Estimator: "change", Meets: true,
	New: func() Policy { return newTournament(indexContest{}) },
}

type indexContest struct{}

func (indexContest) enter(p *page, i int, c *contender) {
	c.scale = p.worth(i)
	if c.noisy, c.hears = p.noisy(i); c.hears && c.noisy.a == 0 && c.noisy.count == 0 {
		c.scale = 0 // nothing waits until a signal comes
	}
}

func (indexContest) value(c *contender, age int64) float64 {
	if c.hears {
		return c.noisy.waiting(c.scale, age)
	}
	return triangle(c.scale, age)
}

// lead uses that pi a (a+1)/2 is pi/2 (s^2 - 1/4) with s = a + 1/2. Without the
// quarter the roots are lines; with it j, when it grows faster, comes level a
// little later.
func (indexContest) lead(i, j *contender, vi, vj float64, step int64) int64 {
	if i.hears || j.hears {
		return heardLead(i, j, vi, vj, step)
	}
	if i.last == j.last {
		return together(i, j)
	}
	return lineLead(math.Sqrt(j.scale/i.scale), float64(step-i.last)+.5, float64(step-j.last)+.5, vi, vj)
}

// heardLead is a lead while j has not reached the present value of i, if either is
// valued by its signals.
func heardLead(i, j *contender, vi, vj float64, step int64) int64 {
	if !(vj*(1+noisyMargin) < vi) {
		return 1
	}
	age := math.Sqrt(0.25+2*vi*(1-noisyMargin)/j.scale) - 0.5
	if j.hears {
		if j.noisy.a == 0 { // its value stays what it is from age 1 on
			if j.noisy.waiting(j.scale, 1)*(1+noisyMargin) < vi {
				return ahead
			}
			return 1
		}
		age = j.noisy.waitingAge(j.scale, vi)
	}
	return int64(max(1, min(age*(1-noisyMargin)-float64(step-j.last), float64(never))))
}

// ageIndex is the index of a node.
func ageIndex(n *Node, age int64) float64 {
	if k, ok := noisyCurve(&n.Signals, n.Precision, n.Recall, InterestOf(n).Arrival, n.Worth()); ok && age > 0 {
		return k.waiting(n.Worth(), age)
	}
	return triangle(n.Worth(), age)
}

// triangle is worth age (age+1) / 2.
func triangle(worth float64, age int64) float64 {
	return worth * float64(age) * float64(age+1) / 2
}

// together is the lead of i over j when both were probed in the same step and
// values are products of scale and something of the age: the rounded products
// never change their order, but may become equal.
func together(i, j *contender) int64 {
	if i.scale >= j.scale && i.slot < j.slot || i.scale > j.scale*(1+1e-15) {
		return ahead
	}
	return 1
}

// lineLead is the lead of a line of slope 1 at si over a line of slope ratio at
// sj in terms of their zeros, where the values compared are vi and vj now and
// grow like the lines or like squares of them: si+h > ratio (sj+h) for all h
// below the lead, with a margin.
func lineLead(ratio, si, sj, vi, vj float64) int64 {
	ratio *= 1 + leadMargin
	if ratio > 1 {
		return max(1, int64(min((si-ratio*sj)/(ratio-1), float64(never))))
	}
	// j is slower. Its share of i's value grows up to the ratio if it is the
	// younger one, and falls otherwise.
	if sj <= si || vj*(1+leadMargin) < vi {
		return ahead
	}
	return 1
}
