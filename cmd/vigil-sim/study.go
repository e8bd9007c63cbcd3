package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/scheduler/sim"
)

// study is what the program is asked to find out.
type study struct {
	nodes     []node
	model     sim.Model
	policies  []scheduler.PolicySpec
	estimator *scheduler.EstimatorSpec // nil: rates are known, or as the policy learns
	trial     sim.Trial                // what all trials have in common
	bar       *progress
	kinds     []string // formats of the figures
}

// row is a line of the table.
type row struct {
	Policy    string  `json:"policy"`
	Estimator string  `json:"estimator"`
	Value     float64 `json:"value"`
	LB1       float64 `json:"lb1,omitempty"`
	LB2       float64 `json:"lb2,omitempty"`
	LB3       float64 `json:"lb3,omitempty"`
	Bound     float64 `json:"bound"`
	Ratio     float64 `json:"ratio"`
	Probes    float64 `json:"probes_per_step"`
}

// truth is how the nodes really are.
func (s *study) truth() []scheduler.Params {
	truth := make([]scheduler.Params, len(s.nodes))
	for i, n := range s.nodes {
		truth[i] = n.Params
	}
	return truth
}

// trialOf is a trial of one policy. With an estimator, and where rates change,
// the policy does not know the rates.
func (s *study) trialOf(p scheduler.PolicySpec) sim.Trial {
	t := s.trial
	t.Policy, t.Model = p, s.model
	t.Truth = s.truth()
	t.Told = t.Truth
	t.Estimator = s.estimatorOf(p)
	if t.Estimator.Name != "fixed" {
		t.Told = make([]scheduler.Params, len(t.Truth))
		for i, known := range t.Truth {
			known.Rate, known.Arrival = scheduler.Unknown, scheduler.Unknown
			t.Told[i] = known
		}
	}
	// Policies that have to learn start with new nodes.
	t.Steady = t.Estimator.Name == "fixed" && p.Memo <= 1
	return t
}

func (s *study) estimatorOf(p scheduler.PolicySpec) scheduler.EstimatorSpec {
	name := "fixed"
	switch {
	case s.estimator != nil:
		return *s.estimator
	case p.Name == "adaptive":
		name = p.Estimator
	case s.trial.Change != (sim.Change{}) && s.model != sim.Interest:
		name = "change"
	}
	e, err := scheduler.EstimatorNamed(name)
	if err != nil {
		panic(err) // both are there since the first version
	}
	return e
}

// run plays every policy.
func (s *study) run(ctx context.Context) ([]row, error) {
	bounds, err := sim.BoundsOf(ctx, s.model, s.truth(), s.trial.Probes)
	if err != nil {
		return nil, err
	}
	lb2 := sim.LB2(s.model, s.truth(), s.trial.Probes)
	var rows []row
	for _, p := range s.policies {
		t := s.trialOf(p)
		out, err := s.play(ctx, &t)
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Name, err)
		}
		r := row{Policy: p.Name, Estimator: t.Estimator.Name, Value: out.Value, LB1: bounds.LB1, LB2: lb2, LB3: bounds.LB3,
			Bound: bounds.Best(), Probes: float64(out.Probes) / float64(t.Steps)}
		if out.Bound > 0 {
			r.Bound = out.Bound
		}
		if r.Bound > 0 {
			r.Ratio = r.Value / r.Bound
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// play runs a trial and shows how far it is.
func (s *study) play(ctx context.Context, t *sim.Trial) (sim.Outcome, error) {
	s.bar.begin(t.Policy.Name, t.Warm+t.Steps)
	defer s.bar.end()
	t.Progress = s.bar.set
	return t.Run(ctx)
}

// choose finds the policies to play: those named, or those made for the model
// that suit the nodes, roundrobin and greedy beside those that collect rewards.
func (s *study) choose(names string) error {
	if names != "" {
		for _, name := range strings.Split(names, ",") {
			p, err := scheduler.PolicyNamed(strings.TrimSpace(name))
			if err != nil {
				return fmt.Errorf("unknown policy %q: %w", name, err)
			}
			if why := s.unsuited(p); why != nil {
				return fmt.Errorf("policy %s does not suit the nodes: %w", p.Name, why)
			}
			s.policies = append(s.policies, p)
		}
		return nil
	}
	for _, p := range scheduler.Policies() {
		wanted := sim.ModelOf(&p) == s.model || p.Name == "roundrobin" || p.Name == "greedy"
		if wanted && s.unsuited(p) == nil {
			s.policies = append(s.policies, p)
		}
	}
	return nil
}

// maxLearnt bounds the numbers that a policy may learn: 256 MB.
const maxLearnt = 1 << 25

func (s *study) unsuited(p scheduler.PolicySpec) error {
	if p.Memo*len(s.nodes) > maxLearnt {
		return fmt.Errorf("%d nodes are too many to learn of", len(s.nodes))
	}
	for _, n := range s.nodes {
		if p.Check == nil {
			break
		}
		if err := p.Check(&n.Params); err != nil {
			return fmt.Errorf("node %q: %w", n.name, err)
		}
	}
	return nil
}

// modelOf is the model of a name. "auto" is interest if every node has a decay,
// else queues.
func modelOf(name string, nodes []node) (sim.Model, error) {
	switch name {
	case "queues":
		return sim.Queues, nil
	case "interest":
		return sim.Interest, nil
	case "freshness":
		return sim.Freshness, nil
	case "auto":
		for _, n := range nodes {
			if n.Decay == 0 {
				return sim.Queues, nil
			}
		}
		return sim.Interest, nil
	}
	return 0, fmt.Errorf("unknown model %q, available: auto, queues, interest, freshness", name)
}

func itemsOf(name string) (sim.Items, error) {
	for items, known := range []string{"mean", "bernoulli", "poisson"} {
		if known == name {
			return sim.Items(items), nil
		}
	}
	return 0, fmt.Errorf("unknown items %q, available: mean, bernoulli, poisson", name)
}
