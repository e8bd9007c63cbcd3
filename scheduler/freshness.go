package scheduler

// freshnessPolicy keeps copies of pages fresh: it probes the nodes with the
// greatest
//
//	m/(D C) (1 - exp(-D a) (1 + D a)).
//
// The model is that of Azar, Horvitz, Lubetzky, Peres and Shahaf ("Tractable
// near-optimal policies for crawling", 2018) and of Kolobov, Peres, Lubetzky and
// Horvitz ("Optimal freshness crawl under politeness constraints", 2019). A
// page of importance m (WEIGHT) changes at rate D a step (ARRIVAL, or the
// estimate of the rate if none is given); a probe costs C. At age a the copy is
// fresh with probability exp(-D a), so between two probes T steps apart it
// serves
//
//	x(T) = m (1 - exp(-D T)) / D,
//
// and the objective is the sum over pages of x(T)/T. Charge a price v C for a
// probe: (x(T) - v C)/T is greatest where v C = x(T) - T x'(T), which is the
// index. It increases with age up to m/(D C): pages that change too fast for
// their importance are given up. For D that goes to zero it becomes
// (m/C) D a^2/2, and a page of D = 0, whose copy is always fresh, is never
// probed. Signals of changes are heeded: see [Signals].
//
// Ties go to the lowest slot. Cost: see tournament, parking and curveLead.
var freshnessPolicy = PolicySpec{
	Name: "freshness", Number: 12, Ranks: true, Estimator: "change", Rewards: true, Meets: true,
	New: func() Policy { return newTournament(freshContest{curveContest{pageCurve}}) },
}

// pageCurve is the curve of the index of freshness of the node in a slot.
func pageCurve(p *page, i int, k *curve) {
	change := p.arrival(i)
	if change == 0 {
		*k = curve{}
		return
	}
	k.fresh(p.get(i, colWeight)/p.get(i, colCost), change)
}

// FreshnessOf is a page as an [Interest]: Reward(T) is x(T), what the copy
// serves in T steps after a probe, and the sum of Reward(T)/T is the objective,
// the mean importance of the copies that are fresh.
func FreshnessOf(n *Node) Interest {
	m := InterestOf(n)
	return Interest{Weight: n.Weight, Arrival: 1, Decay: m.Arrival, Cost: n.Cost}
}

// FreshnessIndex is what the policy freshness ranks a node by at an age, apart from
// signals (see [SignalsIndex]).
func FreshnessIndex(n *Node, age int64) float64 {
	m := FreshnessOf(n)
	if age <= 0 || m.Decay == 0 {
		return 0
	}
	var k curve
	k.fresh(m.Weight/m.Cost, m.Decay)
	return k.at(age)
}

// FreshnessBound is a bound on the mean importance of fresh copies under any
// policy with c probes a step: RewardBound of the pages, as their rewards are
// those of ephemeral content that decays at rate D.
func FreshnessBound(nodes []Node, c int) float64 {
	pages := make([]Interest, 0, len(nodes))
	for i := range nodes {
		pages = append(pages, FreshnessOf(&nodes[i]))
	}
	return RewardBound(pages, c)
}
