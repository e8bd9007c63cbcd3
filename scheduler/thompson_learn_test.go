package scheduler

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

func TestThompsonAgreesWithKnownAnswersOfItsLaterSteps(t *testing.T) {
	// Means and standard errors of another implementation, steps 1000 to 2000.
	for _, tc := range []struct {
		weighted     bool
		mean, stderr float64
	}{{false, 471.3152541619809, .06404100299733667}, {true, 282.6302990640977, .06103566972470711}} {
		_, models := table1(tc.weighted)
		w := season{models, 1, false}
		got := totalOf(w.play(t, "thompson", 2000, 1)[1000:]) / 1000
		t.Logf("weighted %v: %.4f, known %.4f within %.4f", tc.weighted, got, tc.mean, 4*tc.stderr)
		if math.Abs(got-tc.mean) > 4*tc.stderr {
			t.Errorf("weighted %v: %.4f, want %.4f within %.4f", tc.weighted, got, tc.mean, 4*tc.stderr)
		}
	}
}

func TestThompsonLooksTwiceInARowThenOnceMore(t *testing.T) {
	w := season{scattered(12, 1), 1, false}
	table, p := new(Table), thompsonPolicy.New()
	for slot := range w.models {
		Enter(table, fixed{}, slot, DefaultParams(), 0)
	}
	p.Attach(table)
	for step := int64(1); step <= 36; step++ {
		picks := p.Pick(nil, step, 1, nil)
		if step <= 24 && !slices.Equal(picks, []int{int(step-1) / 2}) {
			t.Fatalf("step %d picks %v", step, picks)
		}
		for _, slot := range picks {
			n := table.Node(slot)
			Observe(table, p, fixed{}, slot, w.models[slot].Reward(n.Age(step)), step)
		}
	}
	for slot := range w.models {
		if n := table.Node(slot); n.Probes < 3 {
			t.Errorf("slot %d was probed %d times by the start plan", slot, n.Probes)
		}
	}
}

func TestThompsonFindsTheParametersOfRewardsWithoutNoise(t *testing.T) {
	fits := newPosterior()
	for _, m := range []Interest{{1, 250, .7, 1, 0}, {.3, 250, .21, 1, 0}, {1, 1e9, .01, 1, 0}, {1, 2e4, 1.5, 1, 0}} {
		var s ages
		for round := range 40 {
			a := int64(1 + 2*(round%3))
			s.add(float64(a), m.Reward(a), nil)
		}
		seen := newSample(s, m.Weight)
		got := fits.draw(&seen, rand.New(rand.NewPCG(1, 1)))
		if math.Abs(got.c/m.Decay-1) > .02 || math.Abs(got.k/m.Limit()-1) > .02 {
			t.Errorf("K %g c %g, want %g and %g within 2 %%", got.k, got.c, m.Limit(), m.Decay)
		}
	}
}

func TestThompsonPosteriorUsesTheModelOfItsComment(t *testing.T) {
	fits := newPosterior()
	for i := range decayPoints * gridFine {
		if i%7 != 0 {
			continue
		}
		c := fits.decayAt(i)
		if want := gridTop * math.Exp2(float64(i-(decayPoints-1)*gridFine)/fineOctave); math.Abs(c/want-1) > 1e-14 {
			t.Fatalf("point %d: c %g, want %g", i, c, want)
		}
		for _, a := range []float64{1, 2, 3.7, 10, 1e3, 1e7, MaxStep} {
			place := gridOctave*logarithm(a)/math.Ln2 + float64(i)/gridFine
			m, v := fits.at(place, c*a)
			if want := -math.Expm1(-c * a); math.Abs(m/want-1) > 2e-5 {
				t.Fatalf("c %g age %g: 1 - exp(-ca) = %g, want %g", c, a, m, want)
			}
			if want := math.Log(-math.Expm1(-2 * c * a)); math.Abs(v-want) > 2e-4 {
				t.Fatalf("c %g age %g: ln v = %g, want %g", c, a, v, want)
			}
		}
	}
}

func TestLogarithmAndSaturationAreExactToTheLastPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 100000 {
		x := math.Exp(100 * (rng.Float64() - .5))
		near(t, "logarithm", logarithm(x), math.Log(x), 4e-16)
		near(t, "saturation", saturation(x), -math.Expm1(-x), 1e-15)
	}
	for _, x := range []float64{1e-300, 1 - 1e-16, 1, 1 + 1e-15, 1e300} {
		near(t, "logarithm", logarithm(x), math.Log(x), 4e-16)
	}
}

func TestNormalDrawsHaveMeanZeroAndVarianceOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	sum, squares, beyond, n := 0.0, 0.0, 0, 100000
	for range n {
		z := normal(rng)
		sum += z
		squares += z * z
		if math.Abs(z) > 1.959964 {
			beyond++
		}
	}
	if m, v, b := sum/float64(n), squares/float64(n), float64(beyond)/float64(n); math.Abs(m) > .015 || math.Abs(v-1) > .02 || math.Abs(b-.05) > .004 {
		t.Errorf("mean %g, variance %g, beyond 1.96: %g", m, v, b)
	}
}

func TestMergedAgesKeepCountMeanAndNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	curve := func(a float64) float64 { return 10 * a }
	var s ages
	sum, n := 0.0, 120 // fewer than are forgotten
	for range n {
		a := float64(1 + rng.IntN(30))
		x := curve(a) + normal(rng)
		sum += x
		s.add(a, x, curve)
	}
	if s.used != ageCount || math.Abs(s.total()-float64(n)) > 1e-6 {
		t.Fatalf("%d ages of %g probes, want %d of %d", s.used, s.total(), ageCount, n)
	}
	spread, mean := 0.0, 0.0
	for i, a := range s.list[:s.used] {
		if i > 0 && a.steps <= s.list[i-1].steps {
			t.Errorf("ages %v are not in order", s.list)
		}
		if math.Abs(a.reward-curve(a.steps)) > .5 {
			t.Errorf("age %g has mean reward %g", a.steps, a.reward)
		}
		spread += a.spread
		mean += a.reward * a.count
	}
	near(t, "mean", mean, sum, 1e-9)
	t.Logf("spread %g of %d", spread, n)
}

// A watch is quiet while nothing changes, and calls soon when the mean shifts, whichever way.
func TestWatchCallsWhenTheMeanShifts(t *testing.T) {
	rng, calls := rand.New(rand.NewPCG(12, 12)), 0
	var s ages
	for range 50_000 {
		if s.watch(normal(rng)) {
			s, calls = ages{}, calls+1
		}
	}
	if calls > 4 {
		t.Errorf("%d calls in 50,000 rewards without a change", calls)
	}
	for _, shift := range []float64{-1, 1, 3} {
		s, steps := ages{}, 1
		for ; steps < 500 && !s.watch(normal(rng)+shift); steps++ {
		}
		if steps > 80 {
			t.Errorf("a shift by %v deviations was noticed after %d rewards", shift, steps)
		}
	}
}

// Of a memo with five ages, as versions before wrote it, four are taken.
func TestMemosWithFiveAgesAreRead(t *testing.T) {
	memo := make([]float64, thompsonMemo)
	for i := range 5 {
		copy(memo[memoAges+4*i:], []float64{3, float64(2 + i), 7, 1})
	}
	s := loadAges(memo)
	if s.used != ageCount || s.total() != 3*ageCount || s.up != 0 || s.down != 0 {
		t.Errorf("got %+v", s)
	}
	s.up, s.down = 3, 2
	s.store(memo)
	if again := loadAges(memo); again != s {
		t.Errorf("stored %+v, read %+v", s, again)
	}
}

// wild are numbers at the limits of what may be observed.
var wild = []float64{0, MaxNumber, 1e-300, 1, MaxNumber, 0}

func TestThompsonBearsAnyRewardAgeCostAndWeight(t *testing.T) {
	const seed = 6
	rng := rand.New(rand.NewPCG(seed, 6))
	for round := range 60 {
		table, p := new(Table), thompsonPolicy.New()
		for slot := range 4 {
			params := DefaultParams()
			params.Weight = []float64{1, 0, MaxNumber, 1e-300}[(slot+round)%4]
			params.Cost = []float64{1, MinCost, MaxNumber}[(slot+round)%3]
			params.MaxAge = []int64{0, 1, 7, MaxStep}[rng.IntN(4)]
			Enter(table, fixed{}, slot, params, 0)
		}
		p.Attach(table)
		step := int64(0)
		for range 60 {
			slot := rng.IntN(4)
			step += []int64{0, 1, 1, 3, 1 << 20, 1 << 46}[rng.IntN(6)]
			x := wild[rng.IntN(len(wild))]
			if round%2 == 0 {
				x = wild[round/2%len(wild)]
			}
			Observe(table, p, fixed{}, slot, x, step)
			for i, v := range table.MemoOf(slot) {
				if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 && i != memoWatch {
					t.Fatalf("seed %d round %d: memo[%d] is %g after %g", seed, round, i, v, x)
				}
			}
			last := 0.0
			for _, at := range []int64{1, 2, 3, 8, 100, 1000, 1 << 20, 1 << 52} {
				v := p.Value(slot, table.Node(slot).Last+at)
				if math.IsNaN(v) || math.IsInf(v, 0) || v < last*(1-1e-12) {
					t.Fatalf("seed %d round %d: value %g at age %d after %g", seed, round, v, at, last)
				}
				last = v
			}
			if picks := p.Pick(nil, step+1, 4, nil); len(picks) > 3 {
				t.Fatalf("a node of weight 0 was picked: %v", picks)
			}
		}
	}
}

func TestThompsonBearsAForeignMemo(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 7))
	for range 3000 {
		table, p := new(Table), thompsonPolicy.New()
		Enter(table, fixed{}, 0, DefaultParams(), 0)
		n := table.Node(0)
		n.Probes = 5
		n.Memo = make([]float64, rng.IntN(2*thompsonMemo))
		for i := range n.Memo {
			n.Memo[i] = []float64{0, -1, 1, 5, math.MaxFloat64, -math.MaxFloat64, 5e-324, MaxNumber}[rng.IntN(8)]
		}
		table.Store(0, &n)
		p.Attach(table)
		for step := int64(1); step < 5; step++ {
			if v := p.Value(0, step); math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("seed %d: value %g of memo %v", seed, v, table.MemoOf(0))
			}
			Observe(table, p, fixed{}, 0, 3, step)
		}
		for _, v := range table.MemoOf(0) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("seed %d: memo %v", seed, table.MemoOf(0))
			}
		}
	}
}

func TestThompsonNeverProbesANodeThatPaysNothingForLong(t *testing.T) {
	w := season{[]Interest{{1, 5, .2, 1, 0}, {1, 0, .2, 1, 0}, {1, 5, .3, 1, 0}}, 1, true}
	table, p := new(Table), thompsonPolicy.New()
	for slot := range w.models {
		Enter(table, fixed{}, slot, DefaultParams(), 0)
	}
	p.Attach(table)
	rng := rand.New(rand.NewPCG(8, 8))
	for step := int64(1); step <= 3000; step++ {
		for _, slot := range p.Pick(nil, step, 1, nil) {
			n := table.Node(slot)
			Observe(table, p, fixed{}, slot, w.reward(w.models[slot], n.Age(step), rng), step)
		}
	}
	barren := table.Node(1)
	t.Logf("%d of 3000 probes were of the node without items", barren.Probes)
	if barren.Probes < 4 || barren.Probes > 300 {
		t.Errorf("%d of 3000 probes were of the node without items", barren.Probes)
	}
}

// Doubt that all nodes of a start plan added in the same step would reorder all of
// them in it, again at twice the age, and so on.
func TestThompsonSpreadsPatienceOverAnOctave(t *testing.T) {
	const n, cells = 4000, 8
	table, p := new(Table), thompsonPolicy.New()
	for slot := range n {
		Enter(table, fixed{}, slot, DefaultParams(), 0)
	}
	p.Attach(table)
	var count [cells]int
	for slot := range n {
		for step := int64(1); step <= 2; step++ {
			Observe(table, p, fixed{}, slot, 1, step)
		}
		patience := table.Node(slot).Memo[memoPatience] / leastPatience
		cell := int(math.Floor(cells * (math.Log2(patience) + .5)))
		if cell < 0 || cell >= cells {
			t.Fatalf("slot %d: a patience of %g times the least", slot, patience)
		}
		count[cell]++
	}
	for cell, got := range count {
		if got < n/cells*8/10 || got > n/cells*12/10 {
			t.Errorf("part %d of the octave has %d of %d nodes", cell, got, n)
		}
	}
}

func TestThompsonLearnsAnewWhenANodeChanges(t *testing.T) {
	for seed := uint64(21); seed < 21+testscale.Rounds(uint64(5)); seed++ {
		share := shareAfterChange(t, seed)
		t.Logf("seed %d: %.4f of full knowledge after the change", seed, share)
		if share < .98 {
			t.Errorf("seed %d: %.4f of full knowledge after the change, want .98", seed, share)
		}
	}
}

// shareAfterChange is the share in steps 16000 to 20000 of a world with two
// nodes exchanged in step 8000. It can exceed 1: here whittle, at .989 of the
// bound, is not optimal, and draws that vary break its cycle.
func shareAfterChange(t *testing.T, seed uint64) float64 {
	t.Helper()
	before, after := Interest{1, 50, .1, 1, 0}, Interest{1, 50, .8, 1, 0}
	w := season{[]Interest{before, after, {1, 40, .3, 1, 0}}, 1, true}
	table, p := new(Table), thompsonPolicy.New()
	for slot := range w.models {
		Enter(table, fixed{}, slot, DefaultParams(), 0)
	}
	p.Attach(table)
	rng := rand.New(rand.NewPCG(seed, 9))
	earned, best := 0.0, season{[]Interest{after, before, w.models[2]}, 1, false}
	for step := int64(1); step <= 20000; step++ {
		if step == 8000 {
			w.models[0], w.models[1] = after, before
		}
		for _, slot := range p.Pick(nil, step, 1, nil) {
			n := table.Node(slot)
			if step > 16000 {
				earned += w.models[slot].Reward(n.Age(step))
			}
			Observe(table, p, fixed{}, slot, w.reward(w.models[slot], n.Age(step), rng), step)
		}
	}
	return earned / totalOf(best.play(t, "whittle", 4000, 1))
}

func TestThompsonComputesTheSameInEveryRun(t *testing.T) {
	w := season{scattered(30, 2), 2, true}
	a, b := w.play(t, "thompson", 500, 3), w.play(t, "thompson", 500, 3)
	if !slices.Equal(a, b) {
		t.Error("two runs differ")
	}
}
