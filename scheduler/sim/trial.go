package sim

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/vigildb/vigil/scheduler"
)

// Streams of the generators of one seed.
const (
	streamPolicy = iota
	streamItems
	streamChanges
	streamAges
	streamSignals
)

// Trial is a run of one policy against nodes whose truth is known.
type Trial struct {
	Policy    scheduler.PolicySpec
	Estimator scheduler.EstimatorSpec
	Window    float64 // K of the estimator `window`; 0: scheduler.DefaultWindow
	Model     Model
	// Told is what the policy is told of each node.
	Told []scheduler.Params
	// Truth is how things are: Rate, or Arrival in the models that have one,
	// is the true rate. nil: as told.
	Truth  []scheduler.Params
	Probes int // c
	// Limits are those of the groups of Told, by number: Steps is what is heeded.
	Limits []scheduler.Limits
	// Budget is what probes of a step may cost in the mean. Zero: Probes are counted,
	// and what waits at a node counts the less the more its probe costs.
	Budget  float64
	Explore float64 // fraction of probes that go to nodes drawn uniformly
	Items   Items
	// Binary hides counts: a probe only says whether anything was found.
	Binary bool
	Change Change
	Seed   uint64
	// Steady starts with ages as they are after a long time, in place of all
	// nodes new: uniform in the optimal gaps, or geometric with the same
	// means for policies that draw.
	Steady bool
	Warm   int64 // steps that are not measured
	Steps  int64 // steps that are
	Points int   // parts of the measured steps in Outcome.Curve; 0: none
	// Progress is called now and then with the number of steps done. May be nil.
	Progress func(done int64)
}

// Point is a part of the measured steps.
type Point struct {
	Step  int64 // steps from the beginning of the trial to the end of the part
	Value float64
	// Bound is that for the rates at the end of the part; 0 unless they change.
	Bound float64
}

// Outcome is what a Trial measured.
type Outcome struct {
	// Value is the mean cost of a step, or the mean reward of one.
	Value float64
	// Probes is the number of probes in the measured steps: less than c a step
	// if the policy idles.
	Probes int64
	// Bound is the mean over the parts of the curve of what no schedule could
	// better if the rates stayed as they are then. 0 unless rates change.
	Bound float64
	Curve []Point
}

var (
	// ErrTrial is returned by Run when the numbers of a Trial make no sense:
	// no probes, no steps, fewer than none, or Truth of another length.
	ErrTrial = errors.New("sim: trial needs probes, steps, and a truth for each node")
)

func (t *Trial) truth() []scheduler.Params {
	if t.Truth == nil {
		return t.Told
	}
	return t.Truth
}

func (t *Trial) check() error {
	if t.Probes < 1 || t.Steps < 1 || t.Warm < 0 || t.Points < 0 || len(t.truth()) != len(t.Told) {
		return ErrTrial
	}
	for i := range t.Told {
		if err := t.Told[i].Check(); err != nil {
			return err
		}
		if err := t.truth()[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

const (
	// lookAround is the number of probes between two reports of progress.
	lookAround = 256
	// nodesALook is how many nodes are worked on between two looks at the
	// context. A step may work on all of them.
	nodesALook = 4096
)

// Run plays the trial. It returns ErrTrial, the error of a node's parameters,
// or that of a context that ended.
func (t *Trial) Run(ctx context.Context) (Outcome, error) {
	if err := t.check(); err != nil {
		return Outcome{}, err
	}
	r, err := t.start(ctx)
	if err != nil {
		return Outcome{}, err
	}
	m := newMeter(t)
	every := max(1, int64(lookAround/t.Probes))
	look := max(1, min(every, int64(nodesALook/(len(t.Told)+1))))
	for begun := int64(1); begun <= t.Warm+t.Steps; begun++ {
		if begun%look == 0 && ctx.Err() != nil {
			return Outcome{}, ctx.Err()
		}
		if begun%every == 0 && t.Progress != nil {
			t.Progress(begun)
		}
		earned := r.play(begun)
		if begun > t.Warm {
			if err := m.add(ctx, earned, r, begun); err != nil {
				return Outcome{}, err
			}
		}
	}
	return m.outcome(), nil
}

// run is a trial under way.
type run struct {
	*Trial
	world  *world
	table  *scheduler.Table
	policy scheduler.Policy
	est    scheduler.Estimator
	draws  *rand.Rand
	picks  []int
	heard  scheduler.Node // reused by hear
	purse  scheduler.Purse
	start  int64   // steps of the clock before the first of the trial
	cost   float64 // expected queues of the last step
}

// start enters the nodes. It returns the error of ctx if that ends first.
func (t *Trial) start(ctx context.Context) (*run, error) {
	r := &run{Trial: t, world: newWorld(t), table: new(scheduler.Table), policy: t.Policy.New(),
		draws: rand.New(rand.NewPCG(t.Seed, streamPolicy))}
	r.table.Probes = t.Probes
	for _, p := range t.Told {
		if p.Deadline > 0 {
			r.policy = scheduler.Keep(r.policy)
			break
		}
	}
	for number, l := range t.Limits {
		if number > 0 {
			r.table.Groups.Put(int32(number), scheduler.Group{Limits: l})
		}
	}
	window := t.Window
	if window <= 0 {
		window = scheduler.DefaultWindow
	}
	r.est = t.Estimator.New(window)
	var ages []int64
	if t.Steady {
		var err error
		if ages, err = r.world.ages(ctx, t.Probes, Draws(&t.Policy), rand.New(rand.NewPCG(t.Seed, streamAges))); err != nil {
			return nil, err
		}
		for _, a := range ages {
			r.start = max(r.start, a)
		}
	}
	for i, p := range t.Told {
		if i%nodesALook == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		scheduler.Enter(r.table, r.est, i, p, r.start)
		last := r.start
		if ages != nil {
			// A node of age a in the first step was probed a steps before it.
			last = r.start + 1 - ages[i]
			n := r.table.Node(i)
			n.Last = last
			r.table.Store(i, &n)
		}
		r.world.begin(i, last, r.start)
	}
	r.purse = scheduler.Purse{Budget: t.Budget, Step: r.start}
	r.policy.Attach(r.table)
	return r, nil
}

// hear tells the table and the policy of the signals of a step.
func (r *run) hear(step int64) {
	h := r.world.hearing
	if h == nil {
		return
	}
	h.tick(r.world, step, func(i int) {
		n := &r.heard
		r.table.Load(i, n)
		n.Hear(&r.table.Crowd, n.SignalNats(&r.table.Crowd))
		r.table.Store(i, n)
		r.policy.Touch(i)
	})
}

// Draws says whether a policy draws: it is asked to choose between two new
// nodes, and watched.
func Draws(p *scheduler.PolicySpec) bool {
	table, policy := new(scheduler.Table), p.New()
	for i := range 2 {
		n := scheduler.NewNode(scheduler.DefaultParams(), 0)
		n.Rate, n.Arrival, n.Decay, n.Estimate = 1, 1, 1, 1
		table.Put(i, n)
	}
	policy.Attach(table)
	var w watched
	policy.Pick(nil, 1, 1, &w)
	return bool(w)
}

// watched is a source that knows whether it was used.
type watched bool

func (w *watched) Float64() float64 {
	*w = true
	return 0.5
}

// play is one step, the begun-th of the trial. It returns what was earned.
func (r *run) play(begun int64) (earned float64) {
	step := r.start + begun
	r.world.tick(step, begun)
	r.hear(step)
	r.cost = r.world.queued
	exploring := 0
	if r.Explore > 0 {
		for range r.Probes {
			if r.draws.Float64() < r.Explore {
				exploring++
			}
		}
	}
	r.table.Groups.Brief = true
	r.table.Groups.Open(r.policy, 0, step)
	if r.Budget > 0 {
		r.picks = r.purse.Afford(r.table, step, r.table.Live(), func(count int) []int { return r.policy.Pick(r.picks[:0], step, count, r.draws) })
	} else {
		r.picks = r.policy.Pick(r.picks[:0], step, r.Probes-exploring, r.draws)
	}
	if exploring > 0 {
		r.picks = scheduler.Explore(r.picks, r.table, exploring, r.draws)
	}
	r.purse.Fill(step)
	for _, slot := range r.picks {
		r.purse.Pay(r.Told[slot].Cost)
		if g := r.table.GroupOf(slot); g != 0 {
			r.table.Groups.Give(r.policy, g, 0, step, true)
		}
		found, gain := r.world.probe(slot, step)
		earned += gain
		if r.Binary {
			found = min(found, 1)
		}
		scheduler.Observe(r.table, r.policy, r.est, slot, min(found, scheduler.MaxNumber), step)
	}
	return earned
}
