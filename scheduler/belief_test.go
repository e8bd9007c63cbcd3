package scheduler

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestBeliefOfThompsonComesNearTheTruth(t *testing.T) {
	spec := policyNamed(t, "thompson")
	table, policy, est := new(Table), spec.New(), estimatorNamed(t, spec.Estimator).New(DefaultWindow)
	p := DefaultParams()
	p.Weight = 0.5
	for slot := range 2 {
		Enter(table, est, slot, p, 0)
	}
	policy.Attach(table)
	truth := Interest{Weight: 0.5, Arrival: 100, Decay: 0.2, Cost: 1}
	draws := rand.New(rand.NewPCG(1, 2))
	n := table.Node(0)
	if _, ok := BeliefOf(&spec, &n); ok {
		t.Error("a new node is believed in")
	}
	step := int64(0)
	for range 400 {
		age := 1 + draws.Int64N(12)
		step += age
		Observe(table, policy, est, 0, truth.Reward(age), step)
	}
	n = table.Node(0)
	b, ok := BeliefOf(&spec, &n)
	if !ok || math.Abs(b.Decay-0.2) > 0.04 || math.Abs(b.Limit()-truth.Limit()) > 0.1*truth.Limit() || b.Weight != 0.5 {
		t.Errorf("got %+v, %v, want about %+v", b, ok, truth)
	}
	index := policyNamed(t, "index")
	if _, ok := BeliefOf(&index, &n); ok {
		t.Error("index believes in decay")
	}
}
