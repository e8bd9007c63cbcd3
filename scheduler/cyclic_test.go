package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// planOf lays out rates.
func planOf(rates []float64) *cycle {
	roots := make([]float64, len(rates))
	for i, r := range rates {
		roots[i] = math.Sqrt(r)
	}
	plan := new(cycle)
	plan.build(roots)
	return plan
}

// offset is the first slot that a node owns, by its place in the order.
func (y *cycle) offset(slot int) uint64 {
	for _, l := range y.levels {
		for i, s := range y.order[l.first : l.first+l.size] {
			if int(s) != slot {
				continue
			}
			word, offset := l.word+uint64(i), uint64(0)
			for range l.r {
				offset, word = offset<<1|word&1, word>>1
			}
			return offset
		}
	}
	return math.MaxUint64
}

func TestCyclicLayoutAgreesWithKnownAnswers(t *testing.T) {
	checked := 0
	for name, a := range known(t) {
		part := strings.Split(name, "/")
		if !strings.HasPrefix(part[0], "cyclic_") || part[0] == "cyclic_cost" {
			continue
		}
		checked++
		rates := vector(t, part[1])
		plan := planOf(rates)
		switch part[0] {
		case "cyclic_exponents_head":
			for i, want := range a.list(t) {
				near(t, fmt.Sprintf("%s[%d]", name, i), float64(plan.exponent[i]), want, 0)
			}
		case "cyclic_offsets":
			for i, want := range a.list(t) {
				near(t, fmt.Sprintf("%s[%d]", name, i), float64(plan.offset(i)), want, 0)
			}
		case "cyclic_idle_fraction":
			idle := 1.0
			for i := range rates {
				idle -= math.Ldexp(1, -int(plan.exponent[i]))
			}
			near(t, name, idle+1, a.number(t)+1, a.Rtol)
		case "cyclic_slots_0_31":
			for i, want := range a.slots(t) {
				if got := plan.owner(uint64(i)); got != want {
					t.Errorf("%s: slot %d belongs to %d, want %d", name, i, got, want)
				}
			}
		default:
			t.Errorf("%s is not understood", name)
		}
	}
	if checked < 16 {
		t.Errorf("only %d cases checked", checked)
	}
}

func TestCyclicCostAgreesWithKnownAnswersAndWithARun(t *testing.T) {
	checked := 0
	for name, a := range known(t) {
		if !strings.HasPrefix(name, "cyclic_cost/") {
			continue
		}
		checked++
		rates, c := vectorAndProbes(t, name)
		near(t, name, CyclicCost(rates, c), a.number(t), a.Rtol)
	}
	if checked < 10 {
		t.Errorf("only %d cases checked", checked)
	}
	for _, name := range []string{"pow2_4", "mixed_5", "uniform_8", "zipf1_100"} {
		for _, c := range []int{1, 2, 3, 4, 5, 6, 7, 12} {
			rates := vector(t, name)
			plan := planOf(rates)
			period := int64(1) << plan.levels[len(plan.levels)-1].r
			// c periods of slots are a whole number of steps.
			tr := Trial{Policy: policyNamed(t, "cyclic"), Estimator: estimatorNamed(t, "fixed"), Nodes: nodesOf(rates),
				Rates: rates, Probes: c}
			near(t, fmt.Sprintf("%s c=%d", name, c), tr.Run(2*period, period).Cost, CyclicCost(rates, c), 1e-9)
		}
	}
}

func TestCyclicProbesEachNodeExactlyEveryTwoToTheR(t *testing.T) {
	const seed = 41
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := range 60 {
		rates := make([]float64, 1+rng.IntN(40))
		for i := range rates {
			if rng.IntN(6) > 0 {
				rates[i] = math.Exp(2 * rng.NormFloat64())
			}
		}
		plan := planOf(rates)
		if len(plan.levels) == 0 {
			continue
		}
		rho := plan.levels[len(plan.levels)-1].r
		counts, last := make([]int, len(rates)), make([]uint64, len(rates))
		for at := range uint64(1) << (rho + 1) {
			slot := plan.owner(at)
			if slot < 0 {
				continue
			}
			if counts[slot]++; counts[slot] > 1 && at-last[slot] != 1<<plan.exponent[slot] {
				t.Fatalf("seed %d round %d: node %d has slots %d and %d, want a gap of 2^%d", seed, round, slot, last[slot], at, plan.exponent[slot])
			}
			last[slot] = at
		}
		for slot, r := range rates {
			want := 0
			if r > 0 {
				want = 1 << (rho + 1 - int(plan.exponent[slot]))
			}
			if counts[slot] != want {
				t.Fatalf("seed %d round %d: node %d has %d slots, want %d", seed, round, slot, counts[slot], want)
			}
		}
	}
}

func TestCyclicToleratesRoundingAtPowersOfTwo(t *testing.T) {
	for _, rate := range []float64{.1, 1e-9, 1.0 / 3, 7e14} {
		for _, n := range []int{1, 2, 1 << 10, 1 << 17} {
			rates := slices.Repeat([]float64{rate}, n)
			if r := planOf(rates).exponent[0]; 1<<r != n {
				t.Errorf("%d nodes of rate %g: every 2^%d slots, want every %d", n, rate, r, n)
			}
		}
	}
}

func TestCyclicKeepsKraftWhereToleranceWouldBreakIt(t *testing.T) {
	// Two halves and a node so rare that the halves still look like halves.
	rates := []float64{1, 1, 1e-40}
	plan := planOf(rates)
	if got := fmt.Sprint(plan.exponent); got != fmt.Sprint([]uint8{1, 2, maxExponent}) {
		t.Errorf("exponents %s", got)
	}
	seen := map[int]bool{}
	for at := range uint64(8) {
		seen[plan.owner(at)] = true
	}
	if !seen[0] || !seen[1] {
		t.Errorf("owners %v", seen)
	}
	if got := plan.owner(plan.offset(2)); got != 2 {
		t.Errorf("slot %d belongs to %d, want 2", plan.offset(2), got)
	}
	planOf([]float64{MaxNumber, 5e-324, 5e-324, 1}) // extremes do not hang or panic
}

func TestCyclicIdlesInTheSlotOfAHiddenNode(t *testing.T) {
	table := tableOf([]float64{.9, .5, .1, .02, .003})
	p := policyNamed(t, "cyclic").New()
	p.Attach(table)
	table.Hide(2, true)
	p.Touch(2)
	var got []int
	for step := int64(1); step <= 8; step++ {
		picks := p.Pick(nil, step, 1, nil)
		if len(picks) == 0 {
			picks = []int{-1}
		}
		got = append(got, picks...)
	}
	if want := []int{0, -1, 1, -1, 0, 3, 1, -1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCyclicTakesItsSlotsByStepNumber(t *testing.T) {
	rates := []float64{.9, .5, .1, .02, .003}
	for _, c := range []int{1, 3} {
		table, plan := tableOf(rates), planOf(rates)
		table.Probes = c
		p := policyNamed(t, "cyclic").New()
		p.Attach(table)
		for _, step := range []int64{1, 2, 7, 100, 101, 5000, MaxStep} { // a wall clock jumps
			var want []int
			for i := range uint64(c) {
				if slot := plan.owner(uint64(step-1)*uint64(c) + i); slot >= 0 && !slices.Contains(want, slot) {
					want = append(want, slot)
				}
			}
			if got := p.Pick(nil, step, c, nil); !slices.Equal(got, want) {
				t.Errorf("c=%d step %d: got %v, want %v", c, step, got, want)
			}
			if got := p.Pick(nil, step, c+10, nil); !slices.Equal(got, want) {
				t.Errorf("c=%d step %d, more asked for: got %v, want %v", c, step, got, want)
			}
			if got := p.Pick(nil, step, 1, nil); !slices.Equal(got, want[:min(1, len(want))]) {
				t.Errorf("c=%d step %d, one asked for: got %v, want %v", c, step, got, want)
			}
		}
	}
}

func TestCyclicDoesNotProbeANodeTwiceInAStep(t *testing.T) {
	table := tableOf([]float64{1, 1})
	p := policyNamed(t, "cyclic").New()
	p.Attach(table)
	Observe(table, p, fixed{}, 0, 1, 5)
	if got := p.Pick(nil, 5, 1, nil); len(got) != 0 {
		t.Errorf("got %v again in the same step", got)
	}
	if got := p.Pick(nil, 7, 1, nil); !slices.Equal(got, []int{0}) {
		t.Errorf("got %v, want node 0", got)
	}
}
