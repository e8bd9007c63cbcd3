package scheduler

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

func TestLSPEEarnsBetweenAConstantArmAndTheOptimum(t *testing.T) {
	// P2 reports "around 160" of 283; its reading of how exactly one node becomes
	// active is not told. Ours gets 180 to 279 by seed, and 268 if nothing is
	// learnt at all.
	_, models := table1(true)
	w := season{models, 1, true}
	const steps, seeds = 10000, 10 / testscale.By
	best, sum := totalOf(w.play(t, "whittle", steps, 1))/steps, 0.0
	for seed := uint64(1); seed <= seeds; seed++ {
		got := totalOf(w.play(t, "lspe", steps, seed)) / steps
		sum += got / best
		t.Logf("seed %d: reward %.1f, share %.3f", seed, got, got/best)
		if got < 146 || got > best {
			t.Errorf("seed %d: reward %.1f, want between 146 and %.1f", seed, got, best)
		}
	}
	t.Logf("mean share %.3f", sum/seeds)
	if share := sum / seeds; share < .57 || share > .95 {
		t.Errorf("mean share %.3f: the documentation is out of date", share)
	}
}

func TestLSPENeedsADecay(t *testing.T) {
	p := DefaultParams()
	if err := lspePolicy.Check(&p); !errors.Is(err, ErrDecay) {
		t.Errorf("without decay: %v", err)
	}
	p.Decay = .1
	if err := lspePolicy.Check(&p); err != nil {
		t.Errorf("with decay: %v", err)
	}
}

func TestLSPEThresholdsStayBetweenFirstStateAndLimit(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 10000 {
		p := DefaultParams()
		p.Decay, p.Arrival = .01+rng.Float64(), 300*rng.Float64()
		n := NewNode(p, 0)
		n.Memo = []float64{10 * normal(rng), 10 * normal(rng), 10 * normal(rng)}
		m, ok := memberOf(&n, 1+rng.Int64N(50))
		if !ok {
			t.Fatal("no member")
		}
		x := m.state
		threshold := x - .5 - m.margin(x, rng.Float64())/lspeKappa
		if threshold < m.first-1e-9 || threshold > m.limit+1e-9 {
			t.Fatalf("seed %d: threshold %g is not in [%g, %g]", seed, threshold, m.first, m.limit)
		}
	}
}

func TestLSPESolvesTheRegularisedEquations(t *testing.T) {
	const n, seed = 9, 2
	rng := rand.New(rand.NewPCG(seed, 2))
	mean, drift, r, b := make([]float64, n*n), make([]float64, n*n), make([]float64, n), make([]float64, n)
	for range 5 { // of rank 5: nearly singular
		v := make([]float64, n)
		for i := range v {
			v[i] = normal(rng)
		}
		for i := range n {
			for j := range n {
				mean[i*n+j] += v[i] * v[j]
			}
		}
	}
	for i := range n {
		r[i], b[i] = normal(rng), normal(rng)
		for j := range n {
			drift[i*n+j] = normal(rng)
		}
	}
	var f valueFit
	f.solve(r, b, mean, drift)
	for i := range n {
		left, right := lspeDelta*f.residue[i], 0.0
		for j := range n {
			right += mean[j*n+i] * (b[j] + dot(drift[j*n:j*n+n], r))
			for k := range n {
				left += mean[j*n+i] * mean[j*n+k] * f.residue[k]
			}
		}
		if math.Abs(left-right) > 1e-9*(1+math.Abs(right)) {
			t.Errorf("row %d: %g, want %g", i, left, right)
		}
	}
}

func TestLSPEValueFollowsThePoissonEquation(t *testing.T) {
	// One node that is probed every third step: the states go round, and
	// V(x) = g - eta + V(next x) fixes V's differences.
	states := []float64{.2, .5, .9}
	var f valueFit
	var memo []float64
	for n := range 60000 {
		x, y := states[n%3], states[(n+1)%3]
		f.update(&memo, []float64{x}, []float64{y}, x)
	}
	value := func(x float64) float64 { return memo[fitWeights]*x + memo[fitWeights+1]*x*x }
	eta := (.2 + .5 + .9) / 3
	if math.Abs(memo[fitEta]-eta) > 1e-3 {
		t.Errorf("eta %g, want %g", memo[fitEta], eta)
	}
	for i, x := range states {
		y := states[(i+1)%3]
		if got, want := value(x)-value(y), x-eta; math.Abs(got-want) > .02 {
			t.Errorf("V(%g) - V(%g) = %g, want %g", x, y, got, want)
		}
	}
}

func TestLSPEMemoryDoesNotGrowWithTheSquareOfTheNodes(t *testing.T) {
	for _, n := range []int{1, lspeNodes, lspeNodes + 1, 1000} {
		w := season{scattered(n, 3), 1, true}
		table, p := worldTable(&w), lspePolicy.New()
		p.Attach(table)
		rng := rand.New(rand.NewPCG(3, 3))
		for step := int64(1); step <= 100; step++ {
			for _, slot := range p.Pick(nil, step, 2, rng) {
				Observe(table, p, fixed{}, slot, 1, step)
			}
		}
		if len(table.Memo) > 1515 || len(table.Memo) == 0 {
			t.Errorf("%d nodes: %d numbers in the memo of the table", n, len(table.Memo))
		}
		if p.Bytes() > 16000+100*n {
			t.Errorf("%d nodes: %d bytes", n, p.Bytes())
		}
	}
}

// worldTable is the table of a schedule that was told everything.
func worldTable(w *season) *Table {
	table := new(Table)
	for slot, m := range w.models {
		p := DefaultParams()
		p.Weight, p.Cost, p.MaxAge, p.Decay, p.Arrival = m.Weight, m.Cost, m.MaxAge, m.Decay, m.Arrival
		Enter(table, fixed{}, slot, p, 0)
	}
	return table
}

func TestLSPEBearsAnyNumbers(t *testing.T) {
	const seed = 4
	rng := rand.New(rand.NewPCG(seed, 4))
	odd := []float64{0, 1, -1, MaxNumber, -MaxNumber, 1e-300, math.MaxFloat64, 3}
	for round := range testscale.Rounds(200) {
		var w season
		for range 1 + rng.IntN(9) {
			w.models = append(w.models, Interest{
				Weight: []float64{1, 0, MaxNumber, 1e-300}[rng.IntN(4)], Arrival: []float64{0, 1, MaxNumber}[rng.IntN(3)],
				Decay: []float64{.2, 1e-300, MaxNumber, 3}[rng.IntN(4)], Cost: 1, MaxAge: []int64{0, 1, 9, MaxStep}[rng.IntN(4)]})
		}
		table, p := worldTable(&w), lspePolicy.New()
		p.Attach(table)
		step := int64(0)
		for range 40 {
			if rng.IntN(10) == 0 {
				for i := range table.Memo {
					table.Memo[i] = odd[rng.IntN(len(odd))]
				}
			}
			step += []int64{0, 1, 2, 1 << 20, 1 << 47}[rng.IntN(5)]
			for _, slot := range append(p.Pick(nil, step, 2, rng), rng.IntN(len(w.models))) {
				Observe(table, p, fixed{}, slot, wild[rng.IntN(len(wild))], step)
				for i, v := range append(slices.Clone(table.Memo), table.MemoOf(slot)...) {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Fatalf("seed %d round %d: number %d is %g", seed, round, i, v)
					}
				}
				if v := p.Value(slot, step+3); !(v >= 0 && v <= 1) {
					t.Fatalf("seed %d round %d: value %g", seed, round, v)
				}
			}
		}
	}
}

func TestLearnersGoOnFromAStoredTable(t *testing.T) {
	for _, name := range []string{"lspe", "thompson"} {
		w := season{scattered(5, 6), 2, true}
		spec := policyNamed(t, name)
		told, kept := spec.New(), worldTable(&w)
		told.Attach(kept)
		for step := int64(1); step <= 400; step++ {
			fresh := spec.New()
			fresh.Attach(copyOf(kept))
			a := told.Pick(nil, step, 2, rand.New(rand.NewPCG(5, uint64(step))))
			b := fresh.Pick(nil, step, 2, rand.New(rand.NewPCG(5, uint64(step))))
			if !slices.Equal(a, b) {
				t.Fatalf("%s step %d: told picks %v, fresh %v", name, step, a, b)
			}
			rng := rand.New(rand.NewPCG(6, uint64(step)))
			for _, slot := range a {
				n := kept.Node(slot)
				Observe(kept, told, fixed{}, slot, w.reward(w.models[slot], n.Age(step), rng), step)
				told.Touch(slot)
			}
		}
	}
}

// copyOf is a table as if it had been stored and read back.
func copyOf(t *Table) *Table {
	c := new(Table)
	c.Memo = slices.Clone(t.Memo)
	for slot := t.After(0); slot >= 0; slot = t.After(slot + 1) {
		n := t.Node(slot)
		n.Memo = slices.Clone(n.Memo)
		c.Put(slot, n)
	}
	return c
}
