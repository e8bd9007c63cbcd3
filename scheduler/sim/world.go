package sim

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/vigildb/vigil/scheduler"
)

// Change says how the true rates change. The zero Change is none.
type Change struct {
	// PermuteAt is the step, counted from the beginning of the trial, in
	// which every node gets the rate of another. 0: never.
	PermuteAt int64
	// Drift is the standard deviation of what is added to the logarithm of a
	// rate in one step: a geometric random walk. Revert is the part of its
	// distance from where it began that the logarithm loses in one step, so
	// that over time it spreads by Drift/sqrt(1-(1-Revert)^2) and no more;
	// 0: without end.
	Drift, Revert float64
	// Every is the number of steps between two moves of one rate, each as
	// large as that many steps make it; the nodes take turns. 0: eight moves in the
	// mean time between two probes of a node.
	Every int64
}

// none says that rates are stationary.
func (c *Change) none() bool { return c.PermuteAt == 0 && c.Drift == 0 }

// world is how things really are: true rates, and what waits at each node since
// its last probe. Expected queues are kept as one sum, so that a step without
// changes costs O(1).
type world struct {
	model  Model
	items  Items
	truth  []scheduler.Params
	rates  []float64
	last   []int64 // step of the last probe
	since  []int64 // the same, or the step of the last change of the rate if later
	change Change
	priced bool // a budget pays for probes

	perStep float64 // worth of the items that all nodes together get in a step
	queued  float64 // worth of all that is expected to wait

	// Only with changes: what came before since.
	waiting, expected []float64
	home, away        []float64 // logarithm of the first rate, and the distance from it
	draws             *rand.Rand
	hearing           *hearing   // nil: nobody has signals
	changes           *rand.Rand // a source of its own: all policies see the same changes
}

func newWorld(t *Trial) *world {
	w := &world{model: t.Model, items: t.Items, truth: t.truth(), change: t.Change, priced: t.Budget > 0,
		draws: rand.New(rand.NewPCG(t.Seed, streamItems)), changes: rand.New(rand.NewPCG(t.Seed, streamChanges))}
	n := len(w.truth)
	w.rates, w.last, w.since = make([]float64, n), make([]int64, n), make([]int64, n)
	for i := range w.truth {
		w.rates[i] = t.Model.rateOf(&w.truth[i])
		w.perStep += w.worth(i) * w.rates[i]
	}
	if !w.change.none() {
		w.waiting, w.expected = make([]float64, n), make([]float64, n)
	}
	w.hearing = newHearing(w, t.Seed)
	if w.change.Drift > 0 {
		w.home, w.away = make([]float64, n), make([]float64, n)
		for i, r := range w.rates {
			w.home[i] = math.Log(r)
		}
		if w.change.Every <= 0 {
			w.change.Every = max(1, int64(n/(8*t.Probes)))
		}
	}
	return w
}

// worth is that of one item of a node.
func (w *world) worth(i int) float64 {
	if w.priced {
		return w.truth[i].Weight
	}
	return w.truth[i].Weight / w.truth[i].Cost
}

// begin sets a node's age, before the first step.
func (w *world) begin(i int, last, start int64) {
	w.last[i], w.since[i] = last, last
	if w.hearing != nil {
		w.hearing.pages[i].from = last
	}
	w.queued += w.worth(i) * w.rates[i] * float64(start-last)
}

// tick generates the items of a step and then applies the changes of the next.
func (w *world) tick(step, begun int64) {
	w.queued += w.perStep
	if w.change.PermuteAt > 0 && begun == w.change.PermuteAt {
		w.permute(step)
	}
	if w.change.Drift > 0 {
		for i := begun % w.change.Every; i < int64(len(w.rates)); i += w.change.Every {
			w.drift(int(i), step)
		}
	}
}

func (w *world) permute(step int64) {
	from := append([]float64(nil), w.rates...)
	for i, j := range w.changes.Perm(len(from)) {
		w.setRate(i, from[j], step)
	}
	if w.home != nil {
		for i, r := range w.rates {
			w.home[i], w.away[i] = math.Log(r), 0
		}
	}
}

// drift moves one rate by what Every steps amount to.
func (w *world) drift(i int, step int64) {
	kept, sum := math.Pow(1-w.change.Revert, float64(w.change.Every)), float64(w.change.Every)
	if w.change.Revert > 0 {
		one := (1 - w.change.Revert) * (1 - w.change.Revert)
		sum = (1 - kept*kept) / (1 - one)
	}
	w.away[i] = w.away[i]*kept + w.change.Drift*math.Sqrt(sum)*w.changes.NormFloat64()
	if w.rates[i] > 0 {
		w.setRate(i, min(math.Exp(w.home[i]+w.away[i]), scheduler.MaxNumber), step)
	}
}

// setRate draws what came at the old rate and goes on at a new one.
func (w *world) setRate(i int, rate float64, step int64) {
	gap := step - w.since[i]
	if w.model != Interest {
		w.waiting[i] += w.items.count(w.rates[i], gap, w.draws)
		w.expected[i] += w.rates[i] * float64(gap)
		w.since[i] = step
	}
	w.perStep += w.worth(i) * (rate - w.rates[i])
	w.rates[i] = rate
}

// probe empties a node and returns what was found, and what was expected to be
// earned. Under Interest a changed rate counts for the whole age: interest is
// soon forgotten.
func (w *world) probe(i int, step int64) (found, earned float64) {
	age, gap, last := step-w.last[i], step-w.since[i], w.last[i]
	w.last[i], w.since[i] = step, step
	if w.model == Interest {
		m := w.model.earns(&w.truth[i], w.rates[i])
		return w.items.interest(&w.truth[i], w.rates[i], age, w.draws), m.Reward(age)
	}
	mean := w.rates[i] * float64(gap)
	found = w.items.count(w.rates[i], gap, w.draws)
	if w.waiting != nil {
		found, mean = found+w.waiting[i], mean+w.expected[i]
		w.waiting[i], w.expected[i] = 0, 0
	}
	w.queued -= w.worth(i) * mean
	if w.hearing != nil {
		if fresh, ok := w.hearing.probe(i, last, step); ok {
			return found, fresh
		}
	}
	if w.model == Freshness {
		earned = w.model.earns(&w.truth[i], mean/float64(max(1, age))).Reward(age)
	}
	return found, earned
}

// worths are the rates that costs are counted in.
func (w *world) worths() []float64 {
	worths := make([]float64, len(w.rates))
	for i, r := range w.rates {
		worths[i] = w.worth(i) * r
	}
	return worths
}

// bound is what no schedule could better if the rates stayed as they are: LB3,
// RewardBound, or SignalsBound if signals are heard. It returns the error of ctx if that ends first.
func (w *world) bound(ctx context.Context, probes int) (float64, error) {
	if w.model == Queues {
		return scheduler.LB3Context(ctx, w.worths(), probes)
	}
	if w.hearing != nil {
		return scheduler.SignalsBound(ctx, w.told(), probes)
	}
	nodes := make([]scheduler.Interest, len(w.rates))
	for i, r := range w.rates {
		nodes[i] = w.model.earns(&w.truth[i], r)
	}
	return scheduler.RewardBoundContext(ctx, nodes, probes)
}

// told are the true parameters with the true rates.
func (w *world) told() []scheduler.Params {
	told := append([]scheduler.Params(nil), w.truth...)
	for i := range told {
		told[i].Arrival = w.rates[i]
	}
	return told
}
