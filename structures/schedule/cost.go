package schedule

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/scheduler/sim"
)

// Costs are worked out on a copy: formulas and bounds take a second for 10^6
// nodes, simulations minutes, and a schedule is locked while it is looked at.

// Snapshot is a copy of what a cost depends on: the configuration, and the
// nodes with the rates that are believed now. It is independent of the schedule.
type Snapshot struct {
	config Config
	policy scheduler.PolicySpec
	model  sim.Model
	nodes  []scheduler.Params // Rate is the estimate
	// limits are those of the groups in steps, rates what they allow in one; both by
	// number, nil without groups. late: some node has a deadline.
	limits []scheduler.Limits
	rates  []float64
	late   bool
}

// Snapshot copies the schedule: 64 bytes a node, 10 ms for 10^6 nodes. Nodes
// whose decay and arrival the policy itself learns have those that it believes.
func (s *Schedule) Snapshot() (*Snapshot, error) {
	if !s.plan.created() {
		return nil, ErrNotCreated
	}
	n := &Snapshot{config: s.config, policy: s.plan.spec, model: sim.ModelOf(&s.plan.spec)}
	n.nodes = s.table.Known(make([]scheduler.Params, 0, s.table.Live()))
	if n.policy.Rewards && n.policy.Memo > 0 {
		n.believe(&s.table)
	}
	if s.version == versionSignals && n.model == sim.Freshness {
		n.hear(&s.table)
	}
	n.limit()
	n.bound(&s.table.Groups)
	if n.policy.Either && slices.ContainsFunc(n.nodes, func(p scheduler.Params) bool { return p.Decay > 0 }) {
		n.model = sim.Interest // which is what it goes by then
	}
	return n, nil
}

// told are the nodes as a policy gets them: where items wait forever a policy for
// either is not given the decay of interest, which would be another model.
func (n *Snapshot) told(p *scheduler.PolicySpec) []scheduler.Params {
	if n.model != sim.Queues || !p.Either {
		return n.nodes
	}
	nodes := slices.Clone(n.nodes)
	for i := range nodes {
		nodes[i].Decay, nodes[i].MaxAge = 0, 0
	}
	return nodes
}

// limit brings learnt values into the range that parameters can have: estimates
// of items that came all at once may exceed it, and restored ones be below.
func (n *Snapshot) limit() {
	for i := range n.nodes {
		p := &n.nodes[i]
		for _, field := range [...]*float64{&p.Rate, &p.Arrival, &p.Decay} {
			switch {
			case *field > scheduler.MaxNumber:
				*field = scheduler.MaxNumber
			case *field >= 0 && *field < minParam:
				*field = 0
			}
		}
	}
}

// bound reads what bounds how often nodes are probed. Gaps count by the wall clock.
func (n *Snapshot) bound(groups *scheduler.Groups) {
	for i := range n.nodes {
		n.late = n.late || n.nodes[i].Deadline > 0
	}
	limited := false
	limits, rates := make([]scheduler.Limits, groups.Len()), make([]float64, groups.Len())
	for number := range limits {
		rates[number] = math.Inf(1)
		g := groups.Of(int32(number))
		if g == nil {
			continue
		}
		if g.Steps > 0 {
			rates[number], limits[number].Steps = 1/float64(g.Steps), g.Steps
		}
		if step := n.config.StepMillis; step > 0 && g.Gap > 0 {
			rates[number] = min(rates[number], float64(step)/float64(g.Gap))
			limits[number].Steps = max(limits[number].Steps, (g.Gap+step-1)/step)
		}
		limited = limited || limits[number].Steps > 0
	}
	if limited {
		n.limits, n.rates = limits, rates
		return
	}
	for i := range n.nodes {
		n.nodes[i].Group = 0
	}
}

// plain says that only the number of probes bounds how often nodes are probed.
func (n *Snapshot) plain() bool { return n.limits == nil && !n.late && n.config.Budget == 0 }

// bounds are those of the model, and Limited for schedules that are not plain.
func (n *Snapshot) bounds(ctx context.Context) (b sim.Bounds, err error) {
	if b, err = sim.BoundsOf(ctx, n.model, n.nodes, n.config.Probes); err != nil || n.model.Rewards() || n.plain() {
		return b, err
	}
	demands := make([]scheduler.Demand, len(n.nodes))
	c := float64(n.config.Probes)
	for i := range n.nodes {
		p := &n.nodes[i]
		known := scheduler.Node{Params: *p, Estimate: p.Rate}
		demands[i] = scheduler.Demand{Worth: known.Worth(), Price: 1, Group: int(p.Group), Deadline: p.Deadline}
		if n.config.Budget > 0 {
			demands[i].Worth, demands[i].Price, c = p.Weight*p.Rate, p.Cost, n.config.Budget
		}
	}
	b.Limited, err = scheduler.LimitedBound(ctx, demands, n.rates, c)
	return b, err
}

// SnapshotBytes is what a Snapshot and the work on it hold: two copies of the
// parameters, and the table of a simulation, about as large as the schedule.
func (s *Schedule) SnapshotBytes() int {
	return s.table.Live()*2*int(unsafe.Sizeof(scheduler.Params{})) + s.Size()
}

// believe replaces parameters by what the policy has learnt.
func (n *Snapshot) believe(t *scheduler.Table) {
	var node scheduler.Node
	for slot, i := t.After(0), 0; slot >= 0; slot, i = t.After(slot+1), i+1 {
		t.Load(slot, &node)
		p := &n.nodes[i]
		if m, ok := scheduler.BeliefOf(&n.policy, &node); ok {
			p.Decay, p.Arrival = m.Decay, m.Arrival
		} else if p.Decay == 0 {
			p.Weight = 0 // nothing is known of it yet, so nothing is expected
		}
	}
}

// hear replaces what was not told of changes and signals by what was learnt.
func (n *Snapshot) hear(t *scheduler.Table) {
	var node scheduler.Node
	for slot, i := t.After(0), 0; slot >= 0; slot, i = t.After(slot+1), i+1 {
		t.Load(slot, &node)
		p := &n.nodes[i]
		if rate, precision, recall, ok := scheduler.SignalledRate(&node); ok {
			p.Arrival, p.Precision, p.Recall = rate, precision, recall
		} else {
			p.Precision, p.Recall = scheduler.Unknown, scheduler.Unknown
		}
	}
}

// Len is the number of nodes.
func (n *Snapshot) Len() int { return len(n.nodes) }

// Policy is the schedule's own.
func (n *Snapshot) Policy() scheduler.PolicySpec { return n.policy }

// How a Cost was found.
const (
	ByFormula    = "formula"
	ByPeriod     = "period"    // over the steps after which all ages return
	ByLimit      = "limit"     // of many nodes
	BySimulation = "simulated" // over some steps of a seeded simulation
)

// Cost is the cost of a policy at known rates, and a bound that no policy can
// beat.
type Cost struct {
	Policy string
	// Rewards: Value is the mean reward of a step and Bound is from above.
	// Otherwise it is the mean of the sum of the queues, and bounds are from
	// below. Items are worth w/C each.
	Rewards bool
	Value   float64
	Method  string
	Steps   int64 // of the period, or that were measured; 0 for a formula and a limit
	// LB1 is Theorem 1's bound, LB3 that of whole gaps; 0 for rewards. Bound is LB3,
	// RewardBound, or LimitedBound where groups, deadlines or a budget are heeded.
	LB1, LB3, Bound float64
	// Ratio is Value/Bound: at least 1 for costs, at most 1 for rewards, except
	// for the chance in what Simulate measures. 0 if the bound is 0: no node is
	// ever probed.
	Ratio float64
	// Counts names what Value is the number of, each times WEIGHT/COST.
	Counts string
}

// Limits of what Cost does: a formula or a bound is O(n), and the rest is bounded
// by these.
const (
	periodNodes = 256     // more nodes are simulated: their periods are long
	periodWork  = 1 << 22 // steps x nodes until a period is given up
	// limitNodes is from how many nodes on the limit of many is given in place of a
	// simulation: at 4096 they differ by .0002 as a rule, by .002 where a few hundred
	// nodes get all probes (TestCostsOfManyNodesAreNearTheirLimit).
	limitNodes = 4096
	// costGaps is how many mean gaps between two probes of a node a simulation
	// for Cost has, at least costSteps steps: a multiple of every period up to
	// 12, so that small schedules are measured exactly.
	costGaps  = 50
	costSteps = 55440
	// learnWork bounds steps x nodes of policies that learn: some of them look
	// at every node in every step.
	learnWork = 200_000_000
)

// Cost is what the schedule's own policy costs in the long run, if the present
// estimates are right. A policy that learns begins with nothing learnt where it is
// simulated, and has learnt all there is in the limit of many nodes. Where it has to be
// simulated, about as many probes are measured at most as are given,
// after as many at most that are not. It returns the error of ctx if that ends first.
func (n *Snapshot) Cost(ctx context.Context, probes int64) (Cost, error) {
	bounds, err := n.bounds(ctx)
	if err != nil {
		return Cost{}, err
	}
	if c, ok := n.exact(); ok {
		return n.judged(c, bounds), nil
	}
	if c, ok := n.ofMany(bounds); ok {
		return n.judged(c, bounds), nil
	}
	steps := n.costSteps(probes)
	// The first gap of each node is not measured: ages begin as in an optimal
	// schedule, and this policy is another.
	warm := min(steps, int64(2*len(n.nodes)/n.config.Probes)+costSteps/10)
	c, err := n.simulated(ctx, n.policy, steps, warm, n.config.Seed)
	// Some steps of a simulation may by chance be better than any schedule is
	// in the long run; the true value is not.
	if best := bounds.Best(); n.model.Rewards() {
		c.Value = min(c.Value, best)
	} else {
		c.Value = max(c.Value, best)
	}
	return n.judged(c, bounds), err
}

func (n *Snapshot) costSteps(probes int64) int64 {
	c := int64(n.config.Probes)
	steps := max(costSteps, costGaps*int64(len(n.nodes))/c)
	steps = min(steps, max(1, probes/c))
	if n.policy.Memo > 1 {
		steps = min(steps, max(1000, learnWork/int64(len(n.nodes)+1)))
	}
	return steps
}

// exact is the cost by a formula or over a period, if there is one.
func (n *Snapshot) exact() (c Cost, ok bool) {
	if n.model.Rewards() || n.config.Explore > 0 || !n.plain() {
		return c, false
	}
	if n.policy.Cost != nil {
		return Cost{Policy: n.policy.Name, Value: n.policy.Cost(n.worths(), n.config.Probes), Method: ByFormula}, true
	}
	if len(n.nodes) == 0 || len(n.nodes) > periodNodes || n.policy.Memo > 0 || sim.Draws(&n.policy) {
		return c, false
	}
	p, ok := scheduler.PeriodOf(n.policy, n.worths(), n.config.Probes, int64(periodWork/len(n.nodes)))
	return Cost{Policy: n.policy.Name, Value: p.Cost, Method: ByPeriod, Steps: p.Length}, ok
}

// ofMany is what the cost comes to with many nodes, if there are many and it is known.
func (n *Snapshot) ofMany(b sim.Bounds) (c Cost, ok bool) {
	c = Cost{Policy: n.policy.Name, Method: ByLimit}
	switch {
	case len(n.nodes) < limitNodes || n.config.Explore > 0 || !n.plain():
		return c, false
	case n.policy.Meets:
		c.Value = b.Best()
	case n.policy.Limit != nil && !n.model.Rewards():
		c.Value = n.policy.Limit(n.worths(), n.config.Probes)
	default:
		return c, false
	}
	return c, true
}

// worths are the rates that costs are counted in.
func (n *Snapshot) worths() []float64 {
	worths := make([]float64, len(n.nodes))
	for i := range n.nodes {
		known := scheduler.Node{Params: n.nodes[i], Estimate: n.nodes[i].Rate}
		worths[i] = known.Worth()
	}
	return worths
}

// simulated runs a policy with the present estimates. Those that are made to
// learn rates do so with their own estimator.
func (n *Snapshot) simulated(ctx context.Context, p scheduler.PolicySpec, steps, warm int64, seed uint64) (Cost, error) {
	est := "fixed"
	if p.Name == "adaptive" {
		est = p.Estimator
	}
	e, err := scheduler.EstimatorNamed(est)
	if err != nil {
		return Cost{}, err
	}
	trial := sim.Trial{Policy: p, Estimator: e, Window: n.config.Window, Model: n.model, Told: n.told(&p), Probes: n.config.Probes,
		Explore: n.config.Explore, Items: sim.Poisson, Seed: seed, Steady: p.Memo <= 1 && est == "fixed" && n.plain(), Warm: warm, Steps: steps}
	if n.limits != nil {
		trial.Limits = n.limits
	}
	if p.Ranks {
		trial.Budget = n.config.Budget
	}
	out, err := trial.Run(ctx)
	return Cost{Policy: p.Name, Value: out.Value, Method: BySimulation, Steps: steps}, err
}

// judged compares a cost with the bounds.
func (n *Snapshot) judged(c Cost, b sim.Bounds) Cost {
	c.Rewards, c.LB1, c.LB3, c.Bound, c.Counts = n.model.Rewards(), b.LB1, b.LB3+0, b.Best(), n.model.Counts()
	if c.Bound > 0 {
		c.Ratio = c.Value / c.Bound
	}
	return c
}

// UnsuitedError is returned when a policy cannot be simulated on the nodes: it
// wraps ErrLearnsTooMuch, or why the policy refuses a node's parameters.
type UnsuitedError struct {
	Policy string
	Err    error
}

func (e *UnsuitedError) Error() string {
	return fmt.Sprintf("schedule: policy %s does not suit the nodes: %v", e.Policy, e.Err)
}

func (e *UnsuitedError) Unwrap() error { return e.Err }

// ErrLearnsTooMuch is returned when what a policy would learn of the nodes does
// not fit into the memory of a simulation.
var ErrLearnsTooMuch = errors.New("schedule: policy would learn too much at once")

// maxMemo bounds the numbers that a simulated policy may learn: 256 MB.
const maxMemo = 1 << 25

// suits returns nil if a policy can be simulated on the nodes.
func (n *Snapshot) suits(p *scheduler.PolicySpec) error {
	if p.Memo*len(n.nodes) > maxMemo {
		return &UnsuitedError{p.Name, ErrLearnsTooMuch}
	}
	if p.Check == nil {
		return nil
	}
	for i := range n.nodes {
		if err := p.Check(&n.nodes[i]); err != nil {
			return &UnsuitedError{p.Name, err}
		}
	}
	return nil
}

// Policies are all with the same model as the schedule's own, its own first.
func (n *Snapshot) Policies() []scheduler.PolicySpec {
	list := []scheduler.PolicySpec{n.policy}
	for _, p := range scheduler.Policies() {
		if p.Name != n.policy.Name && sim.ModelOf(&p) == n.model {
			list = append(list, p)
		}
	}
	return list
}

// suited are the policies to play: those that are named, all of which must suit
// the nodes, or Policies without those that do not, its first in any case.
func (n *Snapshot) suited(ctx context.Context, named []scheduler.PolicySpec) (list []scheduler.PolicySpec, err error) {
	candidates := named
	if len(named) == 0 {
		candidates = n.Policies()
	}
	for i := range candidates {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		switch err := n.suits(&candidates[i]); {
		case err == nil:
			list = append(list, candidates[i])
		case i == 0 || len(named) > 0:
			return nil, err
		}
	}
	return list, nil
}

// Simulate plays each of the policies, or all of Policies that suit the nodes if
// none is given, for steps that are measured, after a quarter as many that are
// not, and judges all by the model of the schedule's own. It returns an
// UnsuitedError, or the error of ctx if that ends first. The same seed gives the
// same result.
func (n *Snapshot) Simulate(ctx context.Context, policies []scheduler.PolicySpec, steps int64, seed uint64) ([]Cost, error) {
	policies, err := n.suited(ctx, policies)
	if err != nil {
		return nil, err
	}
	bounds, err := n.bounds(ctx)
	if err != nil {
		return nil, err
	}
	costs := make([]Cost, 0, len(policies))
	for _, p := range policies {
		c, err := n.simulated(ctx, p, steps, steps/4, seed)
		if err != nil {
			return nil, err
		}
		costs = append(costs, n.judged(c, bounds))
	}
	return costs, nil
}

// Work is how many probes Simulate makes, and at least as many as setting up
// the nodes costs.
func (n *Snapshot) Work(policies int, steps int64) float64 {
	return float64(policies) * (1.25*float64(steps)*float64(n.config.Probes) + float64(len(n.nodes)))
}
