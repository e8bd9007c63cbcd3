package scheduler

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// answer is one case of testdata/known.json.
type answer struct {
	Value  json.RawMessage `json:"value"`
	Rtol   float64         `json:"rtol"`
	Stderr float64         `json:"stderr"`
	Theory float64         `json:"theory"`
	Cycle  int             `json:"cycle"`
	Acts   [][]int         `json:"acts"`
	Picks  [][]int         `json:"picks_1_20"`
	Pi     []float64       `json:"pi"`
	U      []float64       `json:"u"`
	X      []float64       `json:"x"`
	Ages   []int64         `json:"ages"`
	Trace  [][2]float64    `json:"items_gap"`
}

func known(t *testing.T) map[string]answer {
	t.Helper()
	raw, err := os.ReadFile("testdata/known.json")
	if err != nil {
		t.Fatal(err)
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		t.Fatal(err)
	}
	delete(entries, "_about")
	cases := make(map[string]answer)
	for name, body := range entries {
		var a answer
		if err := json.Unmarshal(body, &a); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cases[name] = a
	}
	return cases
}

func (a answer) number(t *testing.T) float64 {
	t.Helper()
	var v float64
	if err := json.Unmarshal(a.Value, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// slots reads a list of node numbers in which null, an idle slot, is -1.
func (a answer) slots(t *testing.T) []int {
	t.Helper()
	var v []*int
	if err := json.Unmarshal(a.Value, &v); err != nil {
		t.Fatal(err)
	}
	slots := make([]int, len(v))
	for i, p := range v {
		slots[i] = -1
		if p != nil {
			slots[i] = *p
		}
	}
	return slots
}

func (a answer) list(t *testing.T) []float64 {
	t.Helper()
	var v []float64
	if err := json.Unmarshal(a.Value, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func near(t *testing.T, name string, got, want, rtol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= rtol*max(math.Abs(want), 1e-300)) {
		t.Errorf("%s: got %.17g, want %.17g within %g", name, got, want, rtol)
	}
}

func nearAll(t *testing.T, name string, got, want []float64, rtol float64) {
	t.Helper()
	if len(got) < len(want) {
		t.Fatalf("%s: %d numbers, want %d", name, len(got), len(want))
	}
	for i := range want {
		near(t, fmt.Sprintf("%s[%d]", name, i), got[i], want[i], rtol)
	}
}

// vector makes the rates that a name of testdata/known.json stands for.
func vector(t *testing.T, name string) []float64 {
	t.Helper()
	switch name {
	case "mixed_5":
		return []float64{.9, .5, .1, .02, .003}
	case "mixed_3":
		return []float64{.9, .5, .1}
	}
	kind, size, _ := strings.Cut(name, "_")
	var n int
	if _, err := fmt.Sscan(size, &n); err != nil {
		t.Fatalf("vector %s: %v", name, err)
	}
	rates := make([]float64, n)
	sum := 0.0
	for i := range rates {
		switch kind {
		case "pow2":
			rates[i] = math.Ldexp(1, -i-1)
		case "uniform":
			rates[i] = 1 / float64(n)
		case "zipf1":
			rates[i] = 1 / float64(i+1)
		case "zipf2":
			rates[i] = 1 / float64((i+1)*(i+1))
		default:
			t.Fatalf("vector %s is unknown", name)
		}
		sum += rates[i]
	}
	if strings.HasPrefix(kind, "zipf") {
		for i := range rates {
			rates[i] /= sum
		}
	}
	return rates
}

// vectorAndProbes reads the rates and c of a name like lb3/pow2_4/c=3.
func vectorAndProbes(t *testing.T, name string) (rates []float64, c int) {
	t.Helper()
	part := strings.Split(name, "/")
	if _, err := fmt.Sscanf(part[2], "c=%d", &c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return vector(t, part[1]), c
}

// nodesOf tells the policy the rates.
func nodesOf(rates []float64) []Params {
	nodes := make([]Params, len(rates))
	for i, r := range rates {
		nodes[i] = DefaultParams()
		nodes[i].Rate = r
	}
	return nodes
}

// table1 is Table I of Avrachenkov and Borkar 2019.
func table1(weighted bool) ([]Params, []Interest) {
	weights := [...]float64{1, .7, .4, .3}
	var nodes []Params
	var models []Interest
	for i, c := range [...]float64{.7, .35, .7, .21} {
		p := DefaultParams()
		p.Decay, p.Arrival = c, 250
		if weighted {
			p.Weight = weights[i]
		}
		nodes = append(nodes, p)
		n := NewNode(p, 0)
		models = append(models, InterestOf(&n))
	}
	return nodes, models
}

func policyNamed(t testing.TB, name string) PolicySpec {
	t.Helper()
	p, err := PolicyNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func estimatorNamed(t testing.TB, name string) EstimatorSpec {
	t.Helper()
	e, err := EstimatorNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
