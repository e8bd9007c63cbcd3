package scheduler

import (
	"math"
	"math/rand/v2"
)

// thompsonPolicy probes the nodes with the greatest Whittle index, as whittle
// does, under parameters that it learns.
//
// The model is that of [Interest]. A probe at age a earns a reward X with
//
//	mean  K (1 - exp(-c a))            K = w lambda / c
//	variance  w^2 lambda (1 - exp(-2 c a)) / (2 c) = (w K / 2) v(a)
//
// where w is the worth of an item (WEIGHT), lambda the items a step, c the decay
// of interest a step, and v(a) = 1 - exp(-2 c a): Campbell's theorem for Poisson
// arrivals. With a maximal age M, a is min(a, M). K and c are unknown; DECAY and
// ARRIVAL are not read, COST and MAXAGE are.
//
// Learning. On a grid of 90 values of c, a factor 2^(1/5) apart, K is fitted by
// least squares with weights 1/v(a), from three running sums a point (see
// posterior.fit). All three are sums over the ages at which the node was probed,
// and an index policy probes a node at few ages: so the memo keeps four ages with
// number, mean and spread of the rewards (192 bytes with the drawn numbers) and
// derives the sums when it needs them. Neighbouring ages are merged when there are
// more. A watch compares each reward with what is believed; when it calls, the node has
// changed, and what is remembered is given up (see ages.watch). Nothing is forgotten
// else, so that learning goes on. The variance is learnt too, starting from w K / 2. The chance of a grid
// point is its squared likelihood; c is drawn from it, around a sharp peak on a grid 8
// times as fine, and K from the normal distribution of the fit (W. R. Thompson
// 1933). Draws happen when a probe is learnt, from a generator seeded by slot,
// number of probes and reward, so that between probes the value of a node is a
// function of its age alone that never falls, and every replica draws the same.
//
// The start plan. A node is probed twice in a row: what the first probe finds
// has gathered for an unknown time and is not learnt from; the second one is a
// reward at age 1. Once more at age onceMoreAge or later gives a second age, which
// separates K from c. New nodes come before all others, lowest slot first.
//
// A node that drew too low might never be probed again, and never draw again.
// So one standard deviation of K is added each time its age doubles beyond a
// patience of about 4 times the longest age remembered. About: within an octave
// it is drawn with the rest, since the nodes of one start plan would otherwise all
// rise in the same steps.
//
// Nodes of rate or weight 0 are never probed. If LEASE 0 declares probes done
// without an observation, nothing can be learnt: such nodes rank by a guess.
//
// Measured: mean (and worst) share of what full knowledge earns in the first 2000
// steps, over 10 seeds that were not used to choose the constants. Weighted Table
// I .9991, with Poisson noise .998 (.997); lambda 2.5 with noise .985 (.982); 40
// random nodes with two crawlers .990 (.988), with noise .974 (.962). With noise, after
// 10^4 and 5 10^4 steps: lambda 2.5 .992 and .9965, 40 nodes .990 and .9957, in the last
// 10^4 of these .998 (BenchmarkThompsonShare).
//
// Source: ours; the index is that of P2. What P2's learner gets is told at
// lspePolicy. Cost: Learn makes at most 123 fits of five ages, 20 to 30 us; Pick is
// that of a tournament. After the start plan many nodes change their order: the first
// step of 10^5 nodes took 29 ms then, the mean of 2000 was .55 ms (BenchmarkThompsonStep).
var thompsonPolicy = PolicySpec{
	Name: "thompson", Number: 11, Ranks: true, Estimator: "fixed", Rewards: true, Memo: thompsonMemo, Meets: true,
	New: func() Policy {
		p := new(thompson)
		p.rule = &believed{table: &p.tournament}
		return p
	},
}

const (
	// firstLook and secondLook rank nodes of the start plan before all others:
	// rewards are at most MaxNumber, K at most 1e20, costs at least MinCost.
	firstLook, secondLook, onceMore = 2e40, 4e40, 1e40
	// onceMoreAge is from which age the third probe of a node is urgent.
	onceMoreAge = 8
	// maxK bounds what a memo may say.
	maxK = 1e24
	// patienceAges and leastPatience: a patience is drawn around so many of the
	// longest age, around leastPatience at least. Memos that say less than half of
	// that were written by nobody.
	patienceAges, leastPatience = 4, 16
)

type thompson struct {
	tournament
	fits *posterior // made when first needed
	pcg  rand.PCG
}

// learnt is what ranks a node: some columns of its page.
type learnt struct {
	probes, maxAge int64
	worth, cost    float64 // worth: Node.Worth
	memo           []float64
}

// interest is the model that ranks the node at an age. It stays the same
// from one age to the next but for the third probe becoming urgent and for the
// doublings of age beyond patience; at such ages the value only rises.
func (l *learnt) interest(age int64) Interest {
	if !(l.worth > 0) {
		return Interest{Decay: 1, Cost: 1}
	}
	switch {
	case l.probes == 0:
		return urgent(firstLook)
	case l.probes == 1:
		return urgent(secondLook)
	case l.probes == 2 && age >= onceMoreAge:
		return urgent(onceMore)
	}
	k, c := l.worth*l.cost, 0.25
	if memo := l.memo; len(memo) >= thompsonMemo && memo[memoK] > 0 && memo[memoDecay] > 0 {
		k, c = min(memo[memoK], maxK), min(memo[memoDecay], 2*gridTop)
		if patience := l.patience(); float64(age) >= patience {
			doublings := math.Ilogb(float64(age)/patience) + 1
			k += float64(min(max(0, memo[memoDoubt]), maxK) * float64(doublings))
		}
	}
	return Interest{Weight: k, Arrival: c, Decay: c, Cost: l.cost, MaxAge: l.maxAge}
}

// patience is the age from which doubt is added. There must be a memo.
func (l *learnt) patience() float64 { return max(l.memo[memoPatience], leastPatience/2) }

// urgent is a model whose index is the same at every age: c is so great that
// exp(-c) is lost beside 1.
func urgent(value float64) Interest {
	return Interest{Weight: value, Arrival: 50, Decay: 50, Cost: 1}
}

// Bytes is the size of the tournament and of the tables that fits are made with.
func (p *thompson) Bytes() int {
	if p.fits == nil {
		return p.tournament.Bytes()
	}
	return p.tournament.Bytes() + 8*(2*tablePoints+fineOctave)
}

// Learn takes a reward into the memo and draws anew.
func (p *thompson) Learn(slot int, steps int64, reward float64) {
	n := p.table.Node(slot)
	if len(n.Memo) < thompsonMemo {
		// The first reward gathered for an unknown time.
		p.table.SetMemo(slot, thompsonMemo)
		return
	}
	if n.MaxAge > 0 {
		steps = min(steps, n.MaxAge)
	}
	if steps < 1 {
		return // observed in the step of the probe before: nothing gathered
	}
	if p.fits == nil {
		p.fits = newPosterior()
	}
	memo := n.Memo
	k, c := min(max(0, memo[memoK]), maxK), max(0, memo[memoDecay])
	seen := loadAges(memo)
	if seen.total() >= watchFrom && seen.watch(p.fits.off(&seen, n.Weight, k, c, float64(steps), reward)) {
		seen = ages{}
	}
	seen.add(float64(steps), reward, func(steps float64) float64 { return k * saturation(c*steps) })
	seen.store(memo)
	p.pcg.Seed(uint64(slot)<<32^math.Float64bits(reward), uint64(n.Probes))
	draws := rand.New(&p.pcg)
	s := newSample(seen, n.Weight)
	b := p.fits.fit(&s, guessPoint*gridFine)
	if seen.used > 1 || seen.list[0].count > 1 {
		b = p.fits.draw(&s, draws)
	}
	// A negative K makes no sense: the draw is mirrored at the fit.
	doubt := float64(b.doubt * normal(draws))
	if b.k+doubt <= 0 {
		doubt = -doubt
	}
	memo[memoK], memo[memoDecay], memo[memoDoubt] = b.k+doubt, b.c, b.doubt
	longest := max(patienceAges*seen.list[seen.used-1].steps, leastPatience)
	memo[memoPatience] = longest * math.Sqrt2 * decay(float64(draws.Float64()*math.Ln2))
}
