package study

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/scheduler/sim"
)

// StepsADay is how many steps a day has. The pages of all of them are so many that a
// page is crawled .2 times a day in the mean.
const StepsADay = 240

// Row is a line of the comparison. NaN: there is no such figure.
type Row struct {
	Name   string
	Drawn  float64 // share of fresh copies with times drawn,
	Equal  float64 // and with equal gaps, or of a policy that was played
	Played bool
	Bound  bool // no policy does better
}

// ErrSmall is returned for fewer pages than one crawl a step is for.
var ErrSmall = errors.New("study: a comparison needs at least 1200 pages")

// Plan says how long policies are played.
type Plan struct {
	Warm, Days int // days before those that are measured, and these
	// Learning is how many days those who learn have before; 0 leaves them out.
	Learning int
	Seed     uint64
	Progress func(name string)
	// Rows are the names of those that are played; nil: all.
	Rows []string
}

// Probes returns how many pages are crawled in a step.
func Probes(pages int) int { return pages / 1200 }

// Names are the rows that are played, in their order.
func Names() (names []string) {
	for _, r := range races() {
		names = append(names, r.name)
	}
	return names
}

// Compare returns the rows of the comparison, computed ones and played ones.
func Compare(ctx context.Context, pages []Page, plan Plan) ([]Row, error) {
	c := Probes(len(pages))
	if c < 1 {
		return nil, ErrSmall
	}
	rows := computed(pages, float64(c)*StepsADay)
	signals, err := scheduler.SignalsBound(ctx, params(pages, heard), c)
	if err != nil {
		return nil, err
	}
	for _, r := range races() {
		if r.learns && plan.Learning == 0 || plan.Rows != nil && !slices.Contains(plan.Rows, r.name) {
			continue
		}
		if plan.Progress != nil {
			plan.Progress(r.name)
		}
		value, err := r.play(ctx, pages, plan, c)
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{Name: r.name, Drawn: math.NaN(), Equal: value / importance(pages), Played: true})
	}
	return append(rows, Row{Name: "bound with signals", Drawn: math.NaN(), Equal: signals / importance(pages), Bound: true}), nil
}

// computed are the rows that need no play.
func computed(pages []Page, budget float64) (rows []Row) {
	add := func(name string, rates []float64, bound bool) {
		r := Row{Name: name, Bound: bound}
		if r.Drawn, r.Equal = fresh(pages, rates); bound {
			r.Drawn = math.NaN()
		}
		rows = append(rows, r)
	}
	add("proportional to change", proportionalRates(pages, budget), false)
	add("uniform", uniformRates(pages, budget), false)
	add("LambdaCrawl", rates(pages, harmonic, budget, false), false)
	add("BinaryLambdaCrawl", rates(pages, binary, budget, false), false)
	add("bound without signals", rates(pages, equalGaps, budget, false), true)
	add("hosts: PoliteBinaryLambdaCrawl", rates(pages, binary, budget, true), false)
	add("hosts: bound without signals", rates(pages, equalGaps, budget, true), true)
	return rows
}

// hearing is what a policy is told of signals.
type hearing int

const (
	deaf     hearing = iota // there are none
	heard                   // precision and recall as they are
	trusted                 // every signal is a change
	listened                // there are some, and which is to be learnt
)

// params are pages as nodes.
func params(pages []Page, h hearing) []scheduler.Params {
	out := make([]scheduler.Params, len(pages))
	for i := range pages {
		p := scheduler.DefaultParams()
		p.Weight, p.Arrival = pages[i].Importance, pages[i].Change/StepsADay
		p.Rate, p.Precision, p.Recall = p.Arrival, 1, 0
		if pages[i].Recall > 0 {
			switch h {
			case heard:
				p.Precision, p.Recall = pages[i].Precision, pages[i].Recall
			case trusted:
				p.Recall = pages[i].Recall
			case listened:
				p.Precision, p.Recall = scheduler.Unknown, scheduler.Unknown
			}
		}
		out[i] = p
	}
	return out
}

// guess is the change rate a day that those who do not know it begin with, the same for
// all pages: a crawler that knows nothing of feeds still knows that most do not change
// each minute.
const guess = 1. / 16

// limits are those of hosts, in steps from one request to the next.
func limits(pages []Page) []scheduler.Limits {
	out := make([]scheduler.Limits, hostsOf(pages)+1)
	for i := range pages {
		if r := pages[i].Requests; !math.IsInf(r, 1) {
			out[pages[i].Host+1].Steps = max(1, int64(math.Ceil(StepsADay/r)))
		}
	}
	return out
}

// race is a policy that is played.
type race struct {
	name, policy string
	told         hearing
	unknown      bool // rates are
	polite       bool
	learns       bool
}

func races() []race {
	return []race{
		{name: "roundrobin", policy: "roundrobin"},
		{name: "index", policy: "index"},
		{name: "freshness (GREEDY)", policy: "freshness"},
		{name: "freshness, rates unknown", policy: "freshness", unknown: true, learns: true},
		{name: "freshness, signals trusted (GREEDY-CIS)", policy: "freshness", told: trusted},
		{name: "freshness, signals (GREEDY-NCIS)", policy: "freshness", told: heard},
		{name: "freshness, signals, all unknown", policy: "freshness", told: listened, unknown: true, learns: true},
		{name: "hosts: freshness", policy: "freshness", polite: true},
		{name: "hosts: freshness, signals", policy: "freshness", told: heard, polite: true},
	}
}

// play returns the mean importance of fresh copies.
func (r *race) play(ctx context.Context, pages []Page, plan Plan, c int) (float64, error) {
	policy, err := scheduler.PolicyNamed(r.policy)
	if err != nil {
		return 0, err
	}
	estimator, err := scheduler.EstimatorNamed("fixed")
	if err != nil {
		return 0, err
	}
	t := sim.Trial{Policy: policy, Model: sim.Freshness, Told: params(pages, r.told), Truth: params(pages, deaf), Probes: c, Items: sim.Poisson,
		Seed: plan.Seed, Steady: true, Warm: int64(plan.Warm) * StepsADay, Steps: int64(plan.Days) * StepsADay}
	if r.told != deaf {
		t.Truth = params(pages, heard)
	}
	if r.polite || r.told == listened { // precision is learnt by host
		t.Limits = limits(pages)
		for i := range t.Told {
			t.Told[i].Group = int32(pages[i].Host + 1)
		}
	}
	if !r.polite {
		clear(t.Limits)
	}
	if r.learns {
		t.Warm = int64(plan.Learning) * StepsADay
	}
	if r.unknown {
		t.Binary = true
		if estimator, err = scheduler.EstimatorNamed("binary"); err != nil {
			return 0, err
		}
		for i := range t.Told {
			t.Told[i].Rate, t.Told[i].Arrival = guess/StepsADay, scheduler.Unknown
		}
	}
	t.Estimator = estimator
	outcome, err := t.Run(ctx)
	return outcome.Value, err
}
