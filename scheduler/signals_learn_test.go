package scheduler

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// noisyWeb is pages that really change, and are signalled as their recall and the
// precision of all say.
type noisyWeb struct {
	rates, recalls []float64
	precision      float64
	changed        []bool
}

func newNoisyWeb(seed uint64, pages int, precision float64) *noisyWeb {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &noisyWeb{precision: precision, changed: make([]bool, pages)}
	for range pages {
		w.rates = append(w.rates, .003*math.Exp(3.5*rng.Float64()))
		w.recalls = append(w.recalls, .3+.6*rng.Float64())
	}
	return w
}

// crawl runs the policy freshness for steps and returns the mean number of fresh
// copies in the second half. Params tell what is known of page i.
func (w *noisyWeb) crawl(t *testing.T, steps int64, probes int, hear bool, params func(i int) Params) (fresh float64, table *Table) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 7))
	table, policy, estimate := new(Table), policyNamed(t, "freshness").New(), Estimator(binary{})
	for i := range w.rates {
		Enter(table, estimate, i, params(i), 0)
		w.changed[i] = false
	}
	policy.Attach(table)
	copies := 0
	for step := int64(1); step <= steps; step++ {
		for i, d := range w.rates {
			loud, truth := w.recalls[i]*d/w.precision, false
			if rng.Float64() < -math.Expm1(-d*(1-w.recalls[i])) {
				truth = true
			}
			for at := rng.ExpFloat64(); at < loud; at += rng.ExpFloat64() {
				truth = rng.Float64() < w.precision || truth
				if n := table.Node(i); hear {
					n.Hear(&table.Crowd, n.SignalNats(&table.Crowd))
					table.Store(i, &n)
					policy.Touch(i)
				}
			}
			w.changed[i] = w.changed[i] || truth
			if step > steps/2 && !w.changed[i] {
				copies++
			}
		}
		for _, i := range policy.Pick(nil, step, probes, nil) {
			found := 0.0
			if w.changed[i] {
				found, w.changed[i] = 1, false
			}
			Observe(table, policy, estimate, i, found, step)
		}
	}
	return float64(copies) / float64(steps-steps/2), table
}

// Learnt on the way, signals are worth nearly as much as if precision, recall and
// rates had been known: .99 of it after 100 crawls of each page.
func TestLearntSignalsAreWorthNearlyAsMuchAsKnownOnes(t *testing.T) {
	const pages, probes, steps = 100, 4, 5000
	for seed, precision := range []float64{.35, .8} {
		if testscale.Rounds(2) <= seed {
			break
		}
		w := newNoisyWeb(uint64(seed), pages, precision)
		known, _ := w.crawl(t, steps, probes, true, func(i int) Params {
			p := DefaultParams()
			p.Arrival, p.Precision, p.Recall = w.rates[i], precision, w.recalls[i]
			return p
		})
		// A first guess that is far too high would make the policy give pages up
		// before they were looked at, with and without signals: see Explore.
		told := func(int) Params { p := DefaultParams(); p.Rate = .02; return p }
		learnt, table := w.crawl(t, steps, probes, true, told)
		deaf, _ := w.crawl(t, steps, probes, false, told)
		believed := -math.Expm1(-table.Crowd.Theta)
		t.Logf("precision %.2f: believed %.3f; fresh: known %.2f, learnt %.2f, without signals %.2f", precision, believed, known, learnt, deaf)
		if math.Abs(believed-precision) > .06 {
			t.Errorf("precision %.2f is believed to be %.3f", precision, believed)
		}
		if learnt < .99*known {
			t.Errorf("learnt signals give %.2f fresh copies, known ones %.2f", learnt, known)
		}
		if deaf > .97*known {
			t.Errorf("signals are worth nothing here: %.2f of %.2f without", deaf, known)
		}
	}
}

// The step by step estimate comes near the maximum likelihood one.
func TestLearntSignalsComeNearTheFit(t *testing.T) {
	known := signalAnswers(t).Fit
	n := NewNode(DefaultParams(), 0)
	n.Estimate = .1
	var crowd Crowd
	for _, c := range known.Crawls {
		for range c[1] {
			n.Hear(&crowd, n.SignalNats(&crowd))
		}
		n.Signals.learn(&crowd, &n.Params, .1, float64(c[0]), n.Signals.Count, c[2] == 1)
		n.Discard()
	}
	near(t, "theta", crowd.Theta, known.Mle.Theta, .2)
	near(t, "a", n.Silent, known.Mle.Alpha, .3)
}

func TestAFloodOfSignalsIsNoInfinity(t *testing.T) {
	n := NewNode(DefaultParams(), 0)
	n.Estimate, n.Precision, n.Recall = .1, 1, .5
	var crowd Crowd
	for range 100_000 {
		n.Hear(&crowd, 1e8)
	}
	if v := SignalsIndex(&n, 5); v != 10 || n.Nats != MaxNats {
		t.Errorf("index %g, nats %g", v, n.Nats)
	}
	n.Precision, n.Recall = Unknown, Unknown
	n.Signals = Signals{}
	for _, changed := range []bool{true, false, true} {
		n.Hear(&crowd, 1)
		n.Signals.learn(&crowd, &n.Params, .1, MaxStep, MaxNumber, changed)
		n.Signals.learn(&crowd, &n.Params, .1, 0, MaxNumber, changed)
		n.Signals.learn(&crowd, &n.Params, .1, 0, 0, changed)
		if s := n.Signals; !(s.Silent > 0 && s.Silent < 1e16 && s.Sure > 0 && crowd.Theta >= leastTheta && crowd.Theta <= mostTheta && s.Trust > 0) {
			t.Fatalf("%+v %+v", s, crowd)
		}
	}
}
