package sim

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/vigildb/vigil/scheduler"
)

// hearing is what the signals of pages do to a world of [Freshness]. Signals of a
// page come as a Poisson process whatever the page does, for all that anybody can tell
// who only hears them; so they are drawn, and changes are not: a copy is fresh with
// the probability exp(-y) that all who heard the same believe, and that is added up.
// Signals are heard at the beginning of a step. Those of the step itself lower the
// mean of exp(-y) in it to exp(-y) (1-exp(-D))/D.
type hearing struct {
	nodes []int     // that have signals
	upTo  []float64 // their signals a step, added up
	pages []ear     // of all nodes
	draws *rand.Rand
}

type ear struct {
	silent, theta float64 // a; 0 for a page without signals
	worth, whole  float64 // WEIGHT/COST; (1-exp(-D))/D
	nats          float64 // since the last probe
	from          int64   // step up to which fresh counts
	fresh         float64 // since the last probe
}

// newHearing returns nil if no node has signals, or if rates change.
func newHearing(w *world, seed uint64) *hearing {
	if w.model != Freshness || !w.change.none() {
		return nil
	}
	h := &hearing{pages: make([]ear, len(w.truth)), draws: rand.New(rand.NewPCG(seed, streamSignals))}
	total := 0.0
	for i := range w.truth {
		n := scheduler.Node{Params: w.truth[i]}
		n.Arrival = w.rates[i]
		rate, precision, recall, ok := scheduler.SignalledRate(&n)
		if !ok || !(rate > 0) {
			continue
		}
		total += min(recall*rate/precision, maxSignals)
		h.nodes, h.upTo = append(h.nodes, i), append(h.upTo, total)
		h.pages[i] = ear{silent: (1 - recall) * rate, theta: scheduler.NatsOf(precision), worth: w.worth(i), whole: -math.Expm1(-rate) / rate}
	}
	if len(h.nodes) == 0 {
		return nil
	}
	return h
}

// tick draws the signals that are heard at the beginning of a step, and tells of
// each.
func (h *hearing) tick(w *world, step int64, tell func(i int)) {
	total := h.upTo[len(h.upTo)-1]
	for range int(poisson(total, h.draws)) {
		k := sort.SearchFloat64s(h.upTo, h.draws.Float64()*total)
		i := h.nodes[min(k, len(h.nodes)-1)]
		h.pages[i].count(w.last[i], step)
		h.pages[i].nats = min(h.pages[i].nats+h.pages[i].theta, scheduler.MaxNats)
		tell(i)
	}
}

// maxSignals bounds the signals of a node in one step: more of them make no copy
// staler.
const maxSignals = 1000

// count adds up how long the copy was fresh until a step.
func (e *ear) count(last, step int64) {
	steps := float64(step - e.from)
	if steps <= 0 {
		return
	}
	sum := steps // of exp(-a k) over the steps
	if e.silent > 0 {
		sum = math.Expm1(-e.silent*steps) / math.Expm1(-e.silent)
	}
	e.fresh += e.worth * e.whole * sum * math.Exp(-e.nats-e.silent*float64(e.from-last))
	e.from = step
}

// probe ends the period of a page and returns how long its copy was fresh, if the
// page has signals.
func (h *hearing) probe(i int, last, step int64) (fresh float64, ok bool) {
	e := &h.pages[i]
	if e.whole == 0 {
		return 0, false
	}
	e.count(last, step)
	fresh = e.fresh
	e.fresh, e.nats = 0, 0
	return fresh, true
}
