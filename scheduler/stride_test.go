package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

func TestStrideProbesWithTheWaterFilledFrequencies(t *testing.T) {
	const seed = 71
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := range testscale.Rounds(30) {
		rates := randomRates(rng, 1+rng.IntN(20)) // some at the ceiling
		if rng.IntN(2) == 0 {
			rates[0] = 0
		}
		c := 1 + rng.IntN(4)
		const steps = 15000
		counts := make([]float64, len(rates))
		tr := Trial{Policy: policyNamed(t, "stride"), Estimator: estimatorNamed(t, "fixed"), Nodes: nodesOf(rates), Rates: rates,
			Probes: c, Each: func(step int64, picks []int) {
				for _, slot := range picks {
					if step > steps {
						counts[slot] += 1.0 / steps
					}
				}
			}}
		tr.Run(steps, steps)
		for slot, want := range Frequencies(rates, c) {
			// One probe at either end of the window.
			if math.Abs(counts[slot]-want) > 2.0/steps+1e-9 {
				t.Errorf("seed %d round %d: node %d of %v has frequency %g, want %g", seed, round, slot, rates, counts[slot], want)
			}
		}
	}
}

func TestStrideCostsAtMostFivePercentOverLB3(t *testing.T) {
	for _, name := range testscale.Some([]string{"pow2_4", "pow2_10", "pow2_20", "mixed_5", "uniform_100", "zipf1_100", "zipf1_1000", "zipf2_1000"}) {
		for _, c := range []int{1, 3} {
			rates := vector(t, name)
			out, _ := picksOf(t, "stride", nodesOf(rates), rates, c, 20000)
			ratio := out.Cost / LB3(rates, c)
			t.Logf("%s c=%d: %.4f x LB3", name, c, ratio)
			if ratio > 1.05 || ratio < .99 {
				t.Errorf("%s c=%d: stride costs %.4f x LB3", name, c, ratio)
			}
		}
	}
}

func TestStrideStartsByDueTimeAndBreaksTiesByNumber(t *testing.T) {
	rates := slices.Repeat([]float64{1}, 8)
	_, picks := picksOf(t, "stride", nodesOf(rates), rates, 1, 16)
	// The fractions of i phi: 0 .62 .24 .85 .47 .09 .71 .33.
	want := [][]int{{0}, {5}, {2}, {7}, {4}, {1}, {6}, {3}}
	for i := range 16 {
		if !slices.Equal(picks[i], want[i%8]) {
			t.Errorf("step %d picks %v, want %v", i+1, picks[i], want[i%8])
		}
	}
	p, table := policyNamed(t, "stride").New(), tableOf([]float64{0, 4, 4})
	for slot := range 3 {
		table.SetMemo(slot, 1)
		n := table.Node(slot)
		n.Probes = 1
		table.Store(slot, &n)
	}
	p.Attach(table)
	if got := p.Pick(nil, 1, 3, nil); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("equal due times: got %v, want [1 2]", got)
	}
}

func TestStrideLeavesADueTimeWhereItIsWhenAProbeFails(t *testing.T) {
	table := tableOf([]float64{1, 1, 1})
	p := policyNamed(t, "stride").New()
	p.Attach(table)
	first := p.Pick(nil, 1, 1, nil)[0]
	table.Hide(first, true)
	p.Touch(first)
	for step := int64(1); step < 20; step++ {
		Observe(table, p, fixed{}, p.Pick(nil, step, 1, nil)[0], 0, step)
	}
	table.Hide(first, false)
	p.Touch(first)
	caught := 0
	for step := int64(20); step < 32; step++ {
		slot := p.Pick(nil, step, 1, nil)[0]
		if step == 20 && slot != first {
			t.Errorf("step 20 picks %d, want %d, which is overdue", slot, first)
		}
		if slot == first {
			caught++
		}
		Observe(table, p, fixed{}, slot, 0, step)
	}
	if caught > 6 {
		t.Errorf("the node is probed %d times in 12 steps: it makes up for all it missed", caught)
	}
}

func TestStrideTakesInChangesAtOnce(t *testing.T) {
	table, p := tableOf([]float64{1, 1, 1, 1}), policyNamed(t, "stride").New()
	p.Attach(table)
	count := func(from, to int64) (counts [6]int) {
		for step := from; step < to; step++ {
			for _, slot := range p.Pick(nil, step, 1, nil) {
				counts[slot]++
				Observe(table, p, fixed{}, slot, 0, step)
			}
		}
		return counts
	}
	count(1, 101)
	set := func(slot int, rate float64) {
		n := table.Node(slot)
		n.Rate = rate
		fixed{}.Refresh(&n)
		table.Store(slot, &n)
		p.Touch(slot)
	}
	set(0, 9) // frequencies 3:1:1:1
	if got := count(101, 161); got[0] < 29 || got[0] > 31 {
		t.Errorf("after a rise: %v, want half for node 0", got)
	}
	set(0, 0)
	if got := count(161, 191); got[0] != 0 || got[1] != 10 {
		t.Errorf("after a fall to zero: %v", got)
	}
	set(0, 1)
	table.Remove(1)
	p.Touch(1)
	Enter(table, fixed{}, 4, nodesOf([]float64{1})[0], 190)
	p.Touch(4)
	if got := count(191, 231); got[1] != 0 || got[0] < 10 || got[0] > 14 || got[4] < 8 || got[4] > 11 {
		t.Errorf("after a return, a removal and a newcomer: %v, want about 10 each, and for node 0 up to 4 more", got)
	}
}

func TestStrideKeepsFrequenciesWhenOthersAreProbedOutOfTurn(t *testing.T) {
	const seed, steps = 101, 20000
	rng := rand.New(rand.NewPCG(seed, 1))
	rates := vector(t, "zipf2_1000")
	table, p := tableOf(rates), policyNamed(t, "stride").New()
	p.Attach(table)
	planned := make([]float64, len(rates))
	for step := int64(1); step <= steps; step++ {
		// One probe in five is drawn from all nodes.
		if slot := rng.IntN(len(rates)); step%5 == 0 {
			Observe(table, p, fixed{}, slot, 0, step)
			continue
		}
		slot := p.Pick(nil, step, 1, nil)[0]
		planned[slot] += 1 / (.8 * steps)
		Observe(table, p, fixed{}, slot, 0, step)
	}
	// Nodes that are rarely due anyway are left to exploration; the others keep
	// their shares of what remains.
	f := Frequencies(rates, 1)
	first, want := planned[0]/planned[4], f[0]/f[4]
	t.Logf("the first node is probed %.4f of the time, %.3f times as often as the fifth; without exploration %.4f and %.3f", planned[0], first, f[0], want)
	if planned[0] < f[0] || math.Abs(first/want-1) > .02 {
		t.Errorf("the first node is probed %.4f of the time, %.3f times as often as the fifth; want %.4f and %.3f", planned[0], first, f[0], want)
	}
}

func TestStrideCountsProbesOfWhichNothingIsSaid(t *testing.T) {
	run := func(observe bool) (picks []int) {
		table, p := tableOf([]float64{.9, .5, .1}), policyNamed(t, "stride").New()
		p.Attach(table)
		for step := int64(1); step < 40; step++ {
			slot := p.Pick(nil, step, 1, nil)[0]
			picks = append(picks, slot)
			if observe {
				Observe(table, p, fixed{}, slot, 0, step)
				continue
			}
			n := table.Node(slot)
			n.Last, n.Probes = step, n.Probes+1
			table.Store(slot, &n)
			p.Touch(slot)
		}
		return picks
	}
	if a, b := run(true), run(false); !slices.Equal(a, b) {
		t.Errorf("with items %v, without %v", a, b)
	}
}

// TestStrideGoesOnFromTheTableAlone attaches a fresh policy in the midst of
// random changes, and expects the same picks for ever after.
func TestStrideGoesOnFromTheTableAlone(t *testing.T) {
	for seed := uint64(1); seed <= 8; seed++ {
		rng := rand.New(rand.NewPCG(seed, 73))
		table, p, est := new(Table), policyNamed(t, "stride").New(), change{}
		p.Attach(table)
		for step := int64(1); step < 600; step++ {
			switch rng.IntN(6) {
			case 0:
				slot := table.Free()
				if rng.IntN(10) == 0 {
					slot = rng.IntN(300000)
				}
				Enter(table, est, slot, DefaultParams(), step-1)
				p.Touch(slot)
			case 1:
				if slot := table.After(rng.IntN(table.Len() + 1)); slot >= 0 {
					table.Remove(slot)
					p.Touch(slot)
				}
			case 2:
				if slot := table.After(rng.IntN(table.Len() + 1)); slot >= 0 {
					table.Hide(slot, !table.Hidden(slot))
					p.Touch(slot)
				}
			}
			if rng.IntN(50) == 0 {
				p = policyNamed(t, "stride").New()
				p.Attach(table)
			}
			fresh := policyNamed(t, "stride").New()
			fresh.Attach(table)
			picks := p.Pick(nil, step, 1+rng.IntN(4), nil)
			if again := fresh.Pick(nil, step, len(picks), nil); !slices.Equal(picks, again) {
				t.Fatalf("seed %d step %d: told picks %v, fresh %v", seed, step, picks, again)
			}
			for _, slot := range picks {
				n := table.Node(slot)
				Observe(table, p, est, slot, Poisson(.1*float64(slot%7), n.Age(step), rng), step)
			}
		}
	}
}

func TestStrideBearsAForeignMemo(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -math.MaxFloat64, math.MaxFloat64} {
		table := tableOf([]float64{1, 2, 3})
		table.Memo = []float64{bad}
		table.SetMemo(1, 1)[0] = bad
		table.SetMemo(2, 3) // of another length
		p := policyNamed(t, "stride").New()
		p.Attach(table)
		for step := int64(1); step < 20; step++ {
			for _, slot := range p.Pick(nil, step, 1, nil) {
				Observe(table, p, fixed{}, slot, 0, step)
			}
		}
		if table.Node(0).Probes+table.Node(1).Probes+table.Node(2).Probes != 19 {
			t.Errorf("memo %g: a step without a pick", bad)
		}
	}
}

func TestDueTreeFindsWhatAScanFinds(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		rng := rand.New(rand.NewPCG(seed, 79))
		var tree dueTree
		times := map[int]float64{}
		for round := range 2000 {
			slot := rng.IntN(1 + round)
			if rng.IntN(100) == 0 {
				slot = rng.IntN(MaxNodes)
			}
			time, shown := float64(rng.IntN(50)), rng.IntN(4) > 0
			if rng.IntN(10) == 0 {
				time = math.Inf(1)
			}
			tree.set(slot, time, shown)
			delete(times, slot)
			if shown && !math.IsInf(time, 1) {
				times[slot] = time
			}
			if tree.at(slot) != time {
				t.Fatalf("seed %d round %d: time of %d is %g, want %g", seed, round, slot, tree.at(slot), time)
			}
			want := -1
			for s, at := range times {
				if want < 0 || at < times[want] || at == times[want] && s < want {
					want = s
				}
			}
			low, high, between := float64(rng.IntN(50)), float64(rng.IntN(50)), 0
			for _, at := range times {
				if at > low && at < high {
					between++
				}
			}
			if got := tree.between(low, high, 20, MaxNodes); got != min(between, 20) {
				t.Fatalf("seed %d round %d: %d times between %g and %g, want %d", seed, round, got, low, high, min(between, 20))
			}
			if got := tree.first(); got != want {
				t.Fatalf("seed %d round %d: first is %d, want %d", seed, round, got, want)
			}
		}
	}
	if got := new(dueTree).first(); got != -1 {
		t.Errorf("empty: got %d", got)
	}
}

func BenchmarkPlannedNext(b *testing.B) {
	for _, name := range []string{"stride", "cyclic"} {
		for _, n := range []int{1000, 100000, 1000000} {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				rates := make([]float64, n)
				for i := range rates {
					rates[i] = 1 / float64(i+1)
				}
				table, p := tableOf(rates), policyNamed(b, name).New()
				p.Attach(table)
				var picks []int
				step := int64(0)
				b.ReportAllocs()
				for b.Loop() {
					step++
					picks = p.Pick(picks[:0], step, 1, nil)
					for _, slot := range picks {
						table.Hide(slot, true)
						p.Touch(slot)
						table.Hide(slot, false)
						Observe(table, p, fixed{}, slot, 0, step)
					}
				}
				b.ReportMetric(float64(p.Bytes())/float64(n), "B/node")
			})
		}
	}
}

func BenchmarkStrideAttach(b *testing.B) {
	rates := make([]float64, 1000000)
	for i := range rates {
		rates[i] = 1 / float64(i+1)
	}
	table, p := tableOf(rates), policyNamed(b, "stride").New()
	p.Attach(table)
	b.ReportAllocs()
	for b.Loop() {
		p.Attach(table)
	}
}

func BenchmarkCyclicRebuild(b *testing.B) {
	for _, n := range []int{1000, 1000000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			rates := make([]float64, n)
			for i := range rates {
				rates[i] = 1 / float64(i+1)
			}
			table, p := tableOf(rates), policyNamed(b, "cyclic").New()
			p.Attach(table)
			node := table.Node(3)
			step := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				step++
				node.Estimate = 1 / float64(step+1)
				table.Store(3, &node)
				p.Touch(3)
				p.Pick(nil, step, 1, nil)
			}
		})
	}
}
