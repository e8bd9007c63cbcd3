package scheduler

// greedyPolicy probes the nodes with the most items waiting: the greatest
// pi tau.
//
// It is there to show that the obvious rule is bad: it equalises the queues, so
// that nodes are probed in proportion to their rates, where the roots of the
// rates are right. For pi_i = 2^-i it costs
// Omega(n) times the optimum (P1); measured are 17.7 times LB3 for n = 20.
//
// With weights and costs pi is replaced by w pi / C. Ties go to the lowest slot;
// nodes of rate or weight zero are never probed.
//
// Cost: see tournament; values are lines, two of which cross once.
var greedyPolicy = PolicySpec{
	Name: "greedy", Number: 8, Estimator: "change",
	New: func() Policy { return &tournament{rule: greedyContest{}} },
}

type greedyContest struct{}

func (greedyContest) enter(p *page, i int, c *contender) { c.scale = p.worth(i) }

func (greedyContest) value(c *contender, age int64) float64 { return c.scale * float64(age) }

func (greedyContest) lead(i, j *contender, vi, vj float64, step int64) int64 {
	return straightLead(i, j, vi, vj, step)
}
