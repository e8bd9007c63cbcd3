package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// signalsKnown are the answers of testdata/signals.json, which were worked out by
// other programs: sums in higher precision, simulation and value iteration.
type signalsKnown struct {
	Index []struct {
		signalNode
		Age     int64
		Signals float64
		Index   float64
	} `json:"signals_index"`
	Picks struct {
		Nodes   []signalNode
		Probes  int
		Signals [][][2]int
		Picks   [][]int
	} `json:"signals_picks"`
	Cost struct {
		Nodes        []signalNode
		Probes       int
		Bound        float64
		Price        float64
		BoundWithout float64 `json:"bound_without_signals"`
	} `json:"signals_cost"`
	Fit struct {
		Crawls [][3]int64
		Mle    struct{ Alpha, Theta float64 }
	} `json:"signals_fit"`
}

type signalNode struct{ Weight, Rate, Precision, Recall, Cost float64 }

func (s signalNode) node() Node {
	n := NewNode(DefaultParams(), 0)
	n.Weight, n.Rate, n.Estimate, n.Precision, n.Recall, n.Cost = s.Weight, s.Rate, s.Rate, s.Precision, s.Recall, s.Cost
	return n
}

func signalAnswers(t *testing.T) (k signalsKnown) {
	t.Helper()
	raw, err := os.ReadFile("testdata/signals.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &k); err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSignalsIndexIsTheKnownOne(t *testing.T) {
	for _, a := range signalAnswers(t).Index {
		n := a.node()
		n.Signals.Count = a.Signals
		n.Nats = a.Signals * NatsOf(a.Precision)
		near(t, fmt.Sprintf("%+v", a), SignalsIndex(&n, a.Age), a.Index, 1e-9)
	}
}

func TestSignalsDecideTheKnownPicks(t *testing.T) {
	known := signalAnswers(t).Picks
	table, policy := new(Table), policyNamed(t, "freshness").New()
	for slot, s := range known.Nodes {
		table.Put(slot, s.node())
	}
	policy.Attach(table)
	for k, want := range known.Picks {
		step := int64(k + 1)
		for _, s := range known.Signals[k] {
			n := table.Node(s[0])
			for range s[1] {
				n.Hear(&table.Crowd, n.SignalNats(&table.Crowd))
			}
			table.Store(s[0], &n)
			policy.Touch(s[0])
		}
		picks := policy.Pick(nil, step, known.Probes, nil)
		if !slices.Equal(picks, want) {
			t.Fatalf("step %d: %v, want %v", step, picks, want)
		}
		for _, slot := range picks {
			Observe(table, policy, fixed{}, slot, 0, step)
		}
	}
}

func TestSignalsBoundIsTheKnownOne(t *testing.T) {
	known := signalAnswers(t).Cost
	var nodes, deaf []Params
	for _, s := range known.Nodes {
		n := s.node()
		nodes = append(nodes, n.Params)
		n.Recall = 0
		deaf = append(deaf, n.Params)
	}
	for _, c := range []struct {
		nodes []Params
		want  float64
	}{{nodes, known.Bound}, {deaf, known.BoundWithout}} {
		bound, err := SignalsBound(context.Background(), c.nodes, known.Probes)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "bound", bound, c.want, 1e-9)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := SignalsBound(ctx, nodes, 1); err == nil {
		t.Error("the bound ignores its context")
	}
	if bound, err := SignalsBound(context.Background(), nil, 1); bound != 0 || err != nil {
		t.Errorf("the bound of nothing is %g, %v", bound, err)
	}
}

func TestFitSignalsIsTheKnownMaximum(t *testing.T) {
	known := signalAnswers(t).Fit
	var crawls []Crawl
	for _, c := range known.Crawls {
		crawls = append(crawls, Crawl{c[0], c[1], c[2] == 1})
	}
	a, theta := FitSignals(crawls)
	near(t, "a", a, known.Mle.Alpha, 1e-5)
	near(t, "theta", theta, known.Mle.Theta, 1e-5)
	byA, byTheta := slopes(crawls, a, theta)
	if math.Abs(byA*a) > 1e-6 || math.Abs(byTheta*theta) > 1e-6 {
		t.Errorf("slopes %g, %g at the maximum", byA, byTheta)
	}
}

func TestFitSignalsAtItsEdges(t *testing.T) {
	for name, c := range map[string]struct {
		crawls   []Crawl
		a, theta float64
	}{
		"nothing":                        {nil, 0, 0},
		"no change":                      {[]Crawl{{3, 1, false}, {4, 0, false}}, 0, 0},
		"every signal true":              {[]Crawl{{3, 1, true}, {4, 0, false}, {2, 2, true}}, 0, certain},
		"no signals, a change in half":   {[]Crawl{{1, 0, true}, {1, 0, false}}, math.Ln2, 0},
		"signals on all, true in a half": {[]Crawl{{0, 1, true}, {0, 1, false}}, 0, math.Ln2},
	} {
		t.Run(name, func(t *testing.T) {
			a, theta := FitSignals(c.crawls)
			if math.Abs(a-c.a) > 1e-6 || math.Abs(theta-c.theta) > 1e-6 {
				t.Errorf("a %g, theta %g; want %g, %g", a, theta, c.a, c.theta)
			}
		})
	}
}

// dV/dy = s exp(-y) psi, from zero at y = 0 up to the limit: checked by differences,
// over all forms of the formula.
func TestSignalsIndexGrowsAsItsDerivativeSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 1))
	for range 400 {
		p := DefaultParams()
		p.Precision, p.Recall = LeastPrecision+(1-LeastPrecision)*rng.Float64(), rng.Float64()
		if rng.IntN(5) == 0 {
			p.Recall = 1
		}
		rate := math.Exp(-6 + 8*rng.Float64())
		k, ok := noisyCurve(&Signals{}, p.Precision, p.Recall, rate, 1)
		if !ok {
			continue
		}
		before := 0.0
		for y := 1e-6; y < 45; y *= 1.3 {
			v := k.value(y)
			if v < before*(1-noisyMargin/10) || v > k.top {
				t.Fatalf("%+v at y=%g: %g after %g, limit %g", k.noise, y, v, before, k.top)
			}
			before = v
			h := y * 1e-4
			if crossing := math.Mod(y, k.theta); crossing < h || k.theta-crossing < h || y > 30 {
				continue
			}
			_, psi := k.cycle(y)
			slope := (k.value(y+h) - k.value(y-h)) / (2 * h)
			if want := math.Exp(-y) * psi; math.Abs(slope-want) > 1e-4*want+1e-9*v/h {
				t.Fatalf("%+v at y=%g: slope %g, want %g", k.noise, y, slope, want)
			}
		}
	}
}
