package commands

import (
	"context"
	"errors"
	"math"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/schedule"
)

// SCHED.COST and SCHED.SIMULATE copy the schedule and work on the copy off the
// locks (Ctx.Compute). Inside MULTI they hold up everybody, and may do less.

const (
	maxSchedSteps = 1_000_000_000
	// maxSchedWork bounds probes that are simulated: minutes of one processor.
	maxSchedWork = 1e9
	// maxSchedWorkMulti and maxSchedNodesMulti keep a transaction below some
	// tenths of a second.
	maxSchedWorkMulti  = 1e4
	maxSchedNodesMulti = 1000
	// maxCostProbes bounds what SCHED.COST simulates: seconds, half a minute for
	// 10^6 nodes of a policy whose steps are slow.
	maxCostProbes = 1_000_000
)

func costRows(read []KeySpec) []Command {
	return []Command{
		{Name: "SCHED.COST", Arity: 2, Flags: ReadOnly | Blocking, Keys: read, Syntax: "key", Since: "0.1.0",
			Cost:    "O(n) for n nodes, beside other commands; more where the cost is simulated",
			Summary: "Answers what a schedule's policy costs or earns a step, and what no policy betters.", Run: schedCost},
		{Name: "SCHED.SIMULATE", Arity: -4, Flags: ReadOnly | Blocking, Keys: read,
			Syntax: "key STEPS steps [SEED seed] [POLICY policy [policy ...]]", Since: "0.1.0",
			Cost:    "O(n + steps log n) for n nodes and each policy, beside other commands",
			Summary: "Plays policies on the rates of a schedule and answers what each costs or earns a step.", Run: schedSimulate},
	}
}

// snapshot copies a schedule, if the server has room for a computation.
func snapshot(c *Ctx, key []byte) (*schedule.Snapshot, error) {
	s, err := viewSchedule(c, key)
	if err != nil {
		return nil, err
	}
	if c.InMulti && s.Len() > maxSchedNodesMulti {
		return nil, ErrSchedNodesMulti
	}
	if err := c.MayCompute(s.SnapshotBytes()); err != nil {
		return nil, err
	}
	n, err := s.Snapshot()
	return n, schedError(err)
}

func schedCost(c *Ctx) error {
	key := c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	n, err := snapshot(c, key)
	if err != nil {
		return err
	}
	probes := int64(maxCostProbes)
	if c.InMulti {
		probes = maxSchedWorkMulti
	}
	return c.Compute(func(ctx context.Context) (func(*Reply), error) {
		cost, err := n.Cost(ctx, probes)
		return func(r *Reply) { replyCost(r, cost) }, err
	})
}

// replyCost answers what a policy costs, or earns, beside the bounds.
func replyCost(r *Reply, c schedule.Cost) {
	figure := func(name string, v float64) {
		r.BulkString(name)
		r.Double(v)
	}
	if c.Rewards {
		r.Map(6)
	} else {
		r.Map(7)
	}
	r.BulkString("policy")
	r.BulkString(c.Policy)
	r.BulkString("method")
	r.BulkString(c.Method)
	r.BulkString("steps")
	r.Int(c.Steps)
	if c.Rewards {
		figure("reward", c.Value)
		figure("bound", c.Bound)
	} else {
		figure("cost", c.Value)
		figure("lb1", c.LB1)
		figure("lb3", c.Bound)
	}
	figure("ratio", c.Ratio)
}

// simulation is what SCHED.SIMULATE is asked for.
type simulation struct {
	steps    int64
	seed     uint64
	policies []scheduler.PolicySpec // none: all that suit
}

func readSimulation(a *Args) (m simulation) {
	for a.More() {
		switch a.Word() {
		case "STEPS":
			m.steps = a.IntIn(1, maxSchedSteps, ErrSchedStepCount)
		case "SEED":
			m.seed = uint64(a.IntIn(0, math.MaxInt64, ErrMustBePositive))
		case "POLICY":
			m.policies = readPolicies(a, m.policies)
		default:
			a.Syntax()
		}
	}
	if m.steps == 0 {
		a.Syntax()
	}
	return m
}

// readPolicies reads one or more names, up to the next option, and adds them to
// a list. A policy is taken once.
func readPolicies(a *Args, list []scheduler.PolicySpec) []scheduler.PolicySpec {
	seen := map[string]bool{}
	for _, p := range list {
		seen[p.Name] = true
	}
	for first := true; first || a.More(); first = false {
		next := a.Peek()
		if !first && (EqualFold(next, "STEPS") || EqualFold(next, "SEED") || EqualFold(next, "POLICY")) {
			break
		}
		name := a.String()
		p, err := scheduler.PolicyNamed(name)
		if err != nil {
			a.Fail(ErrSchedPolicy(name))
			break
		}
		if !seen[p.Name] {
			seen[p.Name] = true
			list = append(list, p)
		}
	}
	return list
}

func schedSimulate(c *Ctx) error {
	key := c.Args.Key()
	m := readSimulation(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	n, err := snapshot(c, key)
	if err != nil {
		return err
	}
	policies := len(m.policies)
	if policies == 0 {
		policies = len(n.Policies())
	}
	switch work := n.Work(policies, m.steps); {
	case c.InMulti && work > maxSchedWorkMulti:
		return ErrSchedWorkMulti
	case work > maxSchedWork:
		return ErrSchedWork
	}
	return c.Compute(func(ctx context.Context) (func(*Reply), error) { return m.run(ctx, n) })
}

// run plays the policies. One that was asked for and does not suit the nodes is
// an error.
func (m *simulation) run(ctx context.Context, n *schedule.Snapshot) (func(*Reply), error) {
	costs, err := n.Simulate(ctx, m.policies, m.steps, m.seed)
	if unsuited, ok := errors.AsType[*schedule.UnsuitedError](err); ok {
		return nil, ErrSchedUnsuited(unsuited)
	}
	return func(r *Reply) {
		r.Array(len(costs))
		for _, cost := range costs {
			replyCost(r, cost)
		}
	}, err
}
