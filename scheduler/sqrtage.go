package scheduler

import "math"

// sqrtagePolicy probes the nodes with the greatest sqrt(pi) tau.
//
// At the frequencies f proportional to sqrt(pi), which are the best (P1, Theorem
// 1), every node is probed when sqrt(pi) tau reaches the same level. The index
// pi tau (tau+1) / 2 ranks nearly alike for large ages; the difference is that
// nodes probed every few steps are worth a little more than this rule thinks.
// Measured cost is at most 1.016 times LB3.
//
// With weights and costs pi is replaced by w pi / C. Ties go to the lowest slot;
// nodes of rate or weight zero are never probed.
//
// Cost: see tournament; values are lines, two of which cross once.
var sqrtagePolicy = PolicySpec{
	Name: "sqrtage", Number: 5, Ranks: true, Estimator: "change",
	Limit: sqrtageLimit,
	New:   func() Policy { return newTournament(sqrtageContest{}) },
}

type sqrtageContest struct{}

func (sqrtageContest) enter(p *page, i int, c *contender) { c.scale = math.Sqrt(p.worth(i)) }

func (sqrtageContest) value(c *contender, age int64) float64 { return c.scale * float64(age) }

func (sqrtageContest) lead(i, j *contender, vi, vj float64, step int64) int64 {
	return straightLead(i, j, vi, vj, step)
}

// straightLead is the lead of i if values are scale times age.
func straightLead(i, j *contender, vi, vj float64, step int64) int64 {
	if i.last == j.last {
		return together(i, j)
	}
	return lineLead(j.scale/i.scale, float64(step-i.last), float64(step-j.last), vi, vj)
}
