package sched

import (
	"context"
	"errors"
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/schedule"
)

// SCHED.COST and SCHED.SIMULATE copy the schedule and work on the copy without
// locks (Ctx.Compute). Inside MULTI they block other clients, so their limits
// are lower.

const (
	maxSteps = 1_000_000_000
	// maxWork bounds probes that are simulated: minutes of one processor.
	maxWork = 1e9
	// maxWorkMulti and maxNodesMulti keep a transaction below some
	// tenths of a second.
	maxWorkMulti  = 1e4
	maxNodesMulti = 1000
	// maxCostProbes bounds what SCHED.COST simulates: seconds, half a minute for
	// 10^6 nodes that are explored, or have limits, and steps that are slow.
	maxCostProbes = 1_000_000
)

func costRows(read []commands.KeySpec) []commands.Command {
	return []commands.Command{
		{Name: "SCHED.COST", Arity: 2, Flags: commands.ReadOnly | commands.Blocking, Keys: read, Syntax: "key", Since: "0.1.0",
			Cost:    "O(n) for n nodes, more if the cost is simulated; without blocking other commands",
			Summary: "Returns what a schedule's policy costs or earns in a step, which is counted in waiting items, earned interest or fresh copies, and a bound that no policy can beat.", Run: computeCost},
		{Name: "SCHED.SIMULATE", Arity: -4, Flags: commands.ReadOnly | commands.Blocking, Keys: read,
			Syntax: "key STEPS steps [SEED seed] [POLICY policy [policy ...]]", Since: "0.1.0",
			Cost:    "O(n + steps log n) for n nodes and each policy, without blocking other commands",
			Summary: "Simulates policies on the rates of a schedule and returns the cost or reward per step of each.", Run: simulate},
		{Name: "SCHED.DUE", Arity: -4, Flags: commands.ReadOnly | commands.Blocking, Keys: read, Syntax: "key STEPS steps [COUNT count]", Since: "0.2.0",
			Cost:    "O(n + calls log n) for n nodes, without blocking other commands",
			Summary: "Returns the steps and the nodes of the next calls of SCHED.NEXT, if each probe finds what is expected and nothing else happens.", Run: due},
	}
}

// maxDue bounds the nodes that a SCHED.DUE returns.
const maxDue = 1 << 16

func due(c *commands.Ctx) error {
	key, calls, count := c.Args.Key(), int64(0), int64(0)
	var once commands.Once
	for c.Args.More() {
		switch once.Word(&c.Args) {
		case "STEPS":
			calls = c.Args.IntIn(1, maxDue, errDue)
		case "COUNT":
			count = c.Args.IntIn(1, schedule.MaxCount, errCount)
		default:
			c.Args.Syntax()
		}
	}
	if calls == 0 {
		c.Args.Syntax()
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, err := view(c, key)
	if err != nil {
		return err
	}
	switch cfg := s.Config(); {
	case count == 0 && cfg.Budget > 0:
		count = maxDue / calls
	case count == 0:
		count = int64(cfg.Probes)
	}
	if calls*count > maxDue {
		return errDue
	}
	if c.InMulti && s.Len() > maxNodesMulti {
		return errNodesMulti
	}
	if err := c.MayCompute(s.Size()); err != nil {
		return err
	}
	p, err := s.Preview(c.Now)
	if err != nil {
		return wireError(err)
	}
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) {
		list, err := p.Due(ctx, int(calls), int(count))
		return func(r *commands.Reply) {
			r.Array(len(list))
			for _, next := range list {
				r.Array(1 + len(next.Nodes))
				r.Int(next.Step)
				for _, node := range next.Nodes {
					r.BulkString(node)
				}
			}
		}, wireError(err)
	})
}

// snapshot copies a schedule, if the server has room for a computation.
func snapshot(c *commands.Ctx, key []byte) (*schedule.Snapshot, error) {
	s, err := view(c, key)
	if err != nil {
		return nil, err
	}
	if c.InMulti && s.Len() > maxNodesMulti {
		return nil, errNodesMulti
	}
	if err := c.MayCompute(s.SnapshotBytes()); err != nil {
		return nil, err
	}
	n, err := s.Snapshot()
	return n, wireError(err)
}

func computeCost(c *commands.Ctx) error {
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
		probes = maxWorkMulti
	}
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) {
		cost, err := n.Cost(ctx, probes)
		return func(r *commands.Reply) { replyCost(r, cost) }, err
	})
}

// replyCost writes the cost or reward of a policy, and the bounds.
func replyCost(r *commands.Reply, c schedule.Cost) {
	figure := func(name string, v float64) {
		r.BulkString(name)
		r.Double(v)
	}
	if c.Rewards {
		r.Map(7)
	} else {
		r.Map(9)
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
		figure("lb3", c.LB3)
		figure("bound", c.Bound)
	}
	figure("ratio", c.Ratio)
	r.BulkString("counts")
	r.BulkString(c.Counts)
}

// simulation is what SCHED.SIMULATE is asked for.
type simulation struct {
	steps    int64
	seed     uint64
	policies []scheduler.PolicySpec // none: all that suit
}

// readSimulation reads the options. POLICY may come again, which adds to the list.
func readSimulation(a *commands.Args) (m simulation) {
	var once commands.Once
	for a.More() {
		if a.Is("POLICY") {
			m.policies = readPolicies(a, m.policies)
			continue
		}
		switch once.Word(a) {
		case "STEPS":
			m.steps = a.IntIn(1, maxSteps, errStepCount)
		case "SEED":
			m.seed = uint64(a.IntIn(0, math.MaxInt64, commands.ErrMustBePositive))
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
func readPolicies(a *commands.Args, list []scheduler.PolicySpec) []scheduler.PolicySpec {
	seen := map[string]bool{}
	for _, p := range list {
		seen[p.Name] = true
	}
	for first := true; first || a.More(); first = false {
		next := a.Peek()
		if !first && (commands.EqualFold(next, "STEPS") || commands.EqualFold(next, "SEED") || commands.EqualFold(next, "POLICY")) {
			break
		}
		name := a.String()
		p, err := scheduler.PolicyNamed(name)
		if err != nil {
			a.Fail(errPolicy(name))
			break
		}
		if !seen[p.Name] {
			seen[p.Name] = true
			list = append(list, p)
		}
	}
	return list
}

func simulate(c *commands.Ctx) error {
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
	case c.InMulti && work > maxWorkMulti:
		return errWorkMulti
	case work > maxWork:
		return errWork
	}
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) { return m.run(ctx, n) })
}

// run plays the policies. One that was asked for and does not suit the nodes is
// an error.
func (m *simulation) run(ctx context.Context, n *schedule.Snapshot) (func(*commands.Reply), error) {
	costs, err := n.Simulate(ctx, m.policies, m.steps, m.seed)
	if unsuited, ok := errors.AsType[*schedule.UnsuitedError](err); ok {
		return nil, errUnsuited(unsuited)
	}
	return func(r *commands.Reply) {
		r.Array(len(costs))
		for _, cost := range costs {
			replyCost(r, cost)
		}
	}, err
}
