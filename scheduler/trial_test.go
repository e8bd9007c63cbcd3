package scheduler

import "math"

// Trial is a run of a policy against nodes with known true rates, as plain as
// can be: package sim imports this one, so its tests cannot use sim, and sim is
// checked against figures that were found here.
type Trial struct {
	Policy    PolicySpec
	Estimator EstimatorSpec
	Nodes     []Params
	// Rates are the true rates, which the policy does not see unless Nodes
	// and Estimator tell them.
	Rates  []float64
	Probes int // c
	// Items draws what a probe finds after gap steps at a rate. nil: exactly
	// rate x gap.
	Items func(rate float64, gap int64, draws Source) float64
	Draws Source
	// Each is called after each step with its picks. May be nil.
	Each func(step int64, picks []int)
}

// Outcome is what a Trial measured over its counted steps.
type Outcome struct {
	// Cost is the mean over steps of the expected queues, sum of rate x age.
	// It is free of the noise of the items themselves.
	Cost float64
	// Reward is the mean over steps of the expected interest collected.
	Reward float64
}

// Run plays warm steps that do not count and then steps that do. It costs O(1)
// for each probe beyond what policy and estimator cost.
func (tr *Trial) Run(warm, steps int64) Outcome {
	table, policy, est := new(Table), tr.Policy.New(), tr.Estimator.New(DefaultWindow)
	table.Probes = tr.Probes
	perStep := 0.0
	for slot, p := range tr.Nodes {
		Enter(table, est, slot, p, 0)
		perStep += tr.Rates[slot]
	}
	policy.Attach(table)
	var out Outcome
	var picks []int
	queued := 0.0
	for step := int64(1); step <= warm+steps; step++ {
		queued += perStep
		if step > warm {
			out.Cost += queued
		}
		picks = policy.Pick(picks[:0], step, tr.Probes, tr.Draws)
		for _, slot := range picks {
			n := table.Node(slot)
			gap := n.Age(step)
			queued -= tr.Rates[slot] * float64(gap)
			if step > warm {
				out.Reward += InterestOf(&n).Reward(gap)
			}
			items := tr.Rates[slot] * float64(gap)
			if tr.Items != nil {
				items = tr.Items(tr.Rates[slot], gap, tr.Draws)
			}
			Observe(table, policy, est, slot, items, step)
		}
		if tr.Each != nil {
			tr.Each(step, picks)
		}
	}
	out.Cost /= float64(steps)
	out.Reward /= float64(steps)
	return out
}

// Poisson draws the number of items of a Poisson process of a rate in gap
// steps, by multiplying uniforms in parts of mean 16 at most: O(rate x gap).
func Poisson(rate float64, gap int64, draws Source) float64 {
	found := 0.0
	for mean := rate * float64(gap); mean > 0; mean -= 16 {
		floor := math.Exp(-min(mean, 16))
		for product := draws.Float64(); product > floor; product *= draws.Float64() {
			found++
		}
	}
	return found
}

// Bernoulli draws the number of items of a node that makes one in a step with
// probability rate. It costs O(gap).
func Bernoulli(rate float64, gap int64, draws Source) float64 {
	found := 0.0
	for ; gap > 0; gap-- {
		if draws.Float64() < rate {
			found++
		}
	}
	return found
}
