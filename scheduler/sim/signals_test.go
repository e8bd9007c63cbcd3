package sim

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/testscale"
)

// The known answers were simulated with changes and signals; here only signals are
// drawn, and the probability that copies are fresh is added up.
func TestSignalsEarnWhatIsKnown(t *testing.T) {
	raw, err := os.ReadFile("../testdata/signals.json")
	if err != nil {
		t.Fatal(err)
	}
	var known struct {
		Cost struct {
			Nodes  []struct{ Weight, Rate, Precision, Recall, Cost float64 }
			Probes int
			Bound  float64
			Mean   map[string]float64 `json:"mean_fresh"`
			Error  map[string]float64 `json:"stderr"`
		} `json:"signals_cost"`
		Two []struct {
			Nodes   []struct{ Weight, Rate, Precision, Recall, Cost float64 }
			Probes  int
			Optimum float64
		} `json:"signals_two"`
	}
	if err := json.Unmarshal(raw, &known); err != nil {
		t.Fatal(err)
	}
	play := func(nodes []struct{ Weight, Rate, Precision, Recall, Cost float64 }, probes int) float64 {
		var told []scheduler.Params
		for _, n := range nodes {
			p := scheduler.DefaultParams()
			p.Weight, p.Rate, p.Precision, p.Recall, p.Cost = n.Weight, n.Rate, n.Precision, n.Recall, n.Cost
			told = append(told, p)
		}
		out := play(t, Trial{Policy: policy(t, "freshness"), Estimator: estimator(t, "fixed"), Model: Freshness, Told: told, Probes: probes,
			Warm: 2000, Steps: int64(testscale.Rounds(40_000)), Seed: 3})
		return out.Value
	}
	mean := play(known.Cost.Nodes, known.Cost.Probes)
	t.Logf("40 nodes: %.3f, known %.3f +- %.3f, bound %.3f", mean, known.Cost.Mean["ncis"], known.Cost.Error["ncis"], known.Cost.Bound)
	if far := math.Abs(mean - known.Cost.Mean["ncis"]); far > 4*known.Cost.Error["ncis"]+.15 {
		t.Errorf("40 nodes have %.3f fresh copies, want %.3f", mean, known.Cost.Mean["ncis"])
	}
	for _, two := range known.Two {
		if mean := play(two.Nodes, two.Probes); mean > two.Optimum*1.004 || mean < two.Optimum*.992 {
			t.Errorf("two nodes have %.4f fresh copies, the optimum is %.4f", mean, two.Optimum)
		}
	}
}

func TestSignalsOfASimulationEndWithIt(t *testing.T) {
	p := scheduler.DefaultParams()
	p.Rate, p.Precision, p.Recall = 1e15, .05, 1 // as many signals as there can be
	out := play(t, Trial{Policy: policy(t, "freshness"), Estimator: estimator(t, "fixed"), Model: Freshness, Told: []scheduler.Params{p, p},
		Probes: 1, Steps: 3})
	if !(out.Value >= 0 && out.Value < 1e-9) {
		t.Errorf("copies that change at once are fresh for %g", out.Value)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := BoundsOf(ctx, Freshness, []scheduler.Params{p}, 1); err == nil {
		t.Error("the bound ignores its context")
	}
}
