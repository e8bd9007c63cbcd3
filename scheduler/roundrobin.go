package scheduler

// roundrobinPolicy probes the nodes that were not probed for longest, whatever
// their rates: value tau.
//
// Nodes about which nothing is known cost least that way, as uniform rates do:
// sum of pi times (n/c + 1)/2, if c divides n. For rates that differ it costs up
// to 28.5 times LB3 in the measured cases.
//
// Ties go to the lowest slot; nodes of rate or weight zero are never probed.
//
// Cost: see tournament; the order of two nodes never changes between probes, so
// no match is ever due.
var roundrobinPolicy = PolicySpec{
	Name: "roundrobin", Number: 9, Ranks: true, Estimator: "change",
	Cost: RoundRobinCost,
	New:  func() Policy { return newTournament(roundrobinContest{}) },
}

type roundrobinContest struct{}

func (roundrobinContest) enter(p *page, i int, c *contender) {
	c.scale = 0
	if p.worth(i) > 0 {
		c.scale = 1
	}
}

func (roundrobinContest) value(_ *contender, age int64) float64 { return float64(age) }

func (roundrobinContest) lead(_, _ *contender, _, _ float64, _ int64) int64 { return ahead }
