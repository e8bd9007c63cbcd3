package schedule

import (
	"math/rand/v2"

	"github.com/vigildb/vigil/scheduler"
)

// plan is what a schedule picks nodes by and learns with: a policy, what that derives from
// the table when first needed, which is never stored, and an estimator.
type plan struct {
	spec      scheduler.PolicySpec // Number 0: not created yet
	learns    scheduler.EstimatorSpec
	policy    *scheduler.Keeper
	estimator scheduler.Estimator
	table     *scheduler.Table
	attached  bool // the policy to the table
	pcg       rand.PCG
	draws     *rand.Rand
}

func (p *plan) created() bool { return p.spec.Number != 0 }

// set begins with a policy and an estimator, whose window is given.
func (p *plan) set(spec scheduler.PolicySpec, learns scheduler.EstimatorSpec, window float64) {
	p.spec, p.learns, p.attached = spec, learns, false
	p.policy, p.estimator = scheduler.Keep(spec.New()), learns.New(window)
}

// attach derives the structures of the policy. It costs O(n) after the schedule was
// loaded and nothing later.
func (p *plan) attach() {
	if !p.attached {
		p.attached = true
		p.policy.Attach(p.table)
	}
}

// check returns why parameters do not suit the policy.
func (p *plan) check(params *scheduler.Params) error {
	if params.Deadline > 0 && !p.spec.Ranks {
		return scheduler.ErrNoDeadlines
	}
	if p.spec.Check == nil {
		return nil
	}
	return p.spec.Check(params)
}

// suits returns why the nodes and a budget do not suit another policy.
func (p *plan) suits(other *scheduler.PolicySpec, budget float64) error {
	p.attach()
	if nodes, _ := p.policy.Deadlines(); nodes > 0 && !other.Ranks {
		return scheduler.ErrNoDeadlines
	}
	if budget > 0 && !other.Ranks {
		return ErrNoBudget
	}
	if other.Check == nil && !other.Arrival {
		return nil
	}
	var n scheduler.Node
	for slot := p.table.After(0); slot >= 0; slot = p.table.After(slot + 1) {
		p.table.Load(slot, &n)
		if other.Arrival && n.Arrival == scheduler.Unknown {
			return scheduler.ErrArrival
		}
		if other.Check != nil {
			if err := other.Check(&n.Params); err != nil {
				return err
			}
		}
	}
	return nil
}

// pick appends so many nodes to dst, some of them by chance. The generator is a function
// of seed and call: replay needs no draws, and Peek sees those that Next will.
func (p *plan) pick(dst []int, count int, step int64, c *Config, call uint64) []int {
	p.pcg.Seed(c.Seed, call)
	explored := 0
	if c.Explore > 0 {
		for range count {
			if p.draws.Float64() < c.Explore {
				explored++
			}
		}
	}
	chosen := p.policy.Pick(dst, step, count-explored, p.draws)
	if explored > 0 {
		chosen = scheduler.Explore(chosen, p.table, explored, p.draws)
	}
	return chosen
}
