package scheduler

import "math"

// Signals are hints that a page may have changed: a sitemap's date, an entry in
// a feed, a ping. Some changes are not signalled, and some signals are false. The
// problem and the names GREEDY, GREEDY-CIS and GREEDY-NCIS are those of Busa-Fekete,
// Zimmert, György, Qiu, Lattimore and Szepesvári ("Efficient crawling with noisy
// change signals", 2025); the formulas below were derived here.
//
// A page changes at rate D. Each change is signalled with probability r (RECALL),
// and false signals come at rate nu, all as Poisson processes. Signals come at rate
// g = r D + nu; the share p = r D/g of them (PRECISION) is true, and a = (1-r) D is the
// rate of changes that nobody tells. So D, p and r say everything: g = r D/p and
// nu = g (1-p). After t steps and n signals since the last probe
//
//	P(fresh) = exp(-y),  y = a t + n theta,  theta = -log(1-p).
//
// y is counted in nats. At a price v a probe the best rule for one page alone
// probes when m P(fresh) has fallen to the mean gain of its cycle, a threshold on
// y. Let R_i(x) = P(Poisson(x) > i) and t_i = (y - i theta)/a. Then a cycle that
// ends at y lasts psi and has a fresh copy for w, on average,
//
//	psi(y) = (1/g) sum R_i(g t_i)
//	w(y)   = sum nu^i/(a+g)^(i+1) R_i((a+g) t_i)
//
// over i = 0, 1, ... while i theta < y, and the price at which y is the threshold is
//
//	V = (m/C) (w(y) - exp(-y) psi(y)),  dV/dy = (m/C) exp(-y) psi(y) >= 0,
//
// with the limit m/(D C). Without signals V is the index of freshness.
//
// The numbers of a node that ever had a signal:
type Signals struct {
	// Nats is the sum of theta over the signals since the last probe.
	Nats float64
	// Count is the number of signals since the last probe.
	Count float64
	// Heard is how many signals came before completed probes, and Listened how
	// many steps these probes were after the ones before.
	Heard, Listened float64
	// Silent is the learnt a, Sure the information on log a, in probes that found
	// a change. Zero: nothing was learnt.
	Silent, Sure float64
	// Trust is the theta that is believed where no precision was given. Zero: no
	// signal came yet.
	Trust float64
}

const (
	// LeastPrecision is the precision below which signals are not heeded: the
	// sums would have hundreds of terms, to no gain.
	LeastPrecision = 0.05
	// leastNats is a little below NatsOf(LeastPrecision).
	leastNats = 0.0512
	// MaxNats bounds y: far more than the limit of the index.
	MaxNats = 1e9
	// certain is the theta of a precision of 1. It is above fullY, so that one
	// such signal makes the index its limit.
	certain = 64
	// noisyMargin is the relative distance below which rounding might exchange two
	// values with signals: the sums have relative errors of at most some 1e-13.
	noisyMargin = 1e-11
)

// NatsOf is the theta of a precision: what one signal adds to y. Signals whose
// precision is below LeastPrecision add nothing.
func NatsOf(precision float64) float64 {
	if precision < LeastPrecision {
		return 0
	}
	if precision >= 1 {
		return certain
	}
	// It is learnt from, so every machine has to compute the same.
	m, e := math.Frexp(1 / (1 - precision))
	return min(certain, float64(float64(e-1)*math.Ln2)+ln1p(2*m-1))
}

// noise is what is believed of the signals of a node.
type noise struct {
	a, g  float64 // rates of unsignalled changes and of signals
	theta float64
	p     float64 // precision
}

// noise is what is believed of signals, given the change rate of a node that has
// none. It is false if signals say nothing.
func (s *Signals) noise(precision, recall, rate float64) (k noise, ok bool) {
	switch {
	case precision != Unknown:
		k.theta, k.p = NatsOf(precision), precision
	case s.Trust > 0:
		k.theta = s.Trust
		k.p = -math.Expm1(-k.theta)
	}
	if k.theta < leastNats || recall == 0 {
		return k, false
	}
	if recall != Unknown {
		k.a, k.g = float64((1-recall)*rate), recall*rate/k.p
		return k, k.g > 0
	}
	if s.Silent == 0 {
		return k, false
	}
	k.a = s.Silent
	// Half a signal at the rate of a recall of 1/2 is what is believed before.
	k.g = (s.Heard + 0.5) / (s.Listened + 0.5*k.p/k.a)
	return k, true
}

// rate is D, the rate of all changes.
func (k noise) rate() float64 { return k.a + float64(k.g*k.p) }

// SignalledRate returns the change rate, precision and recall that are believed of
// a node whose signals are heeded.
func SignalledRate(n *Node) (rate, precision, recall float64, ok bool) {
	k, ok := n.Signals.noise(n.Precision, n.Recall, InterestOf(n).Arrival)
	if !ok {
		return 0, 0, 0, false
	}
	rate = k.rate()
	if rate > 0 {
		recall = min(1, k.g*k.p/rate)
	}
	return rate, k.p, recall, true
}

// noisy is the law of the index of a page with signals.
type noisy struct {
	noise
	s     float64 // m/C
	nats  float64 // of the signals since the last probe
	count float64 // their number
	top   float64 // limit
}

// noisyCurve is the law of a node of importance m, cost C and change rate D, if
// its signals are heeded.
func noisyCurve(s *Signals, precision, recall, rate, worth float64) (k noisy, ok bool) {
	k.noise, ok = s.noise(precision, recall, rate)
	if !ok {
		return k, false
	}
	k.s, k.nats, k.count = worth, s.Nats, s.Count
	k.top = worth / k.rate()
	return k, true
}

// silent says that the value is zero until a signal comes.
func (k *noisy) silent() bool { return k.a == 0 && k.nats == 0 }

// at is V at an age of at least 1.
func (k *noisy) at(age int64) float64 { return k.value(float64(k.a*float64(age)) + k.nats) }

// value is V at y.
func (k *noisy) value(y float64) float64 {
	switch {
	case y >= fullY:
		return k.top
	case y <= k.theta && k.a == 0:
		return min(k.top, k.s/k.g*-math.Expm1(-y))
	case y <= k.theta:
		return min(k.top, k.s*k.unsignalled(y/k.a))
	}
	w, psi := k.cycle(y)
	return min(k.top, max(0, k.s*(w-float64(math.Exp(-y)*psi))))
}

// unsignalled is V/s where one signal ends the cycle, so that only i = 0 counts:
//
//	(1 - exp(-(a+g) t))/(a+g) - exp(-a t) (1 - exp(-g t))/g
//	= (1/g) (1 - exp(-a t) - a/(a+g) (1 - exp(-(a+g) t)))
//	= a t^2 sum over k from 2 of (-t)^(k-2) S_k/k!,  S_2 = 1, S_k+1 = (a+g) S_k + a^(k-1).
//
// Each form is used where little is lost to cancellation.
func (k *noisy) unsignalled(t float64) float64 {
	a, g, both := k.a, k.g, k.a+k.g
	switch x := both * t; {
	case x < 0.5:
		sum, factor, s, power := 0.0, 0.5, 1.0, 1.0 // t^(k-2)/k!, S_k/(a+g)^(k-2), (a/(a+g))^(k-2)
		for n := 2.0; n < 20; n++ {
			sum += float64(factor * s)
			factor *= -x / (n + 1)
			power *= a / both
			s += power
		}
		return a * t * float64(t*sum)
	case g < a:
		return -math.Expm1(-x)/both - float64(math.Exp(-float64(a*t))*-math.Expm1(-float64(g*t))/g)
	default:
		return (-math.Expm1(-float64(a*t)) - float64(a/both*-math.Expm1(-x))) / g
	}
}

// cycle returns w and psi at y.
func (k *noisy) cycle(y float64) (w, psi float64) {
	both := k.a + k.g
	weight, fade := 1/both, k.g*math.Exp(-k.theta)/both // nu^i/(a+g)^(i+1)
	for i := 0; ; i++ {
		left := y - float64(float64(i)*k.theta)
		if !(left > 0) {
			return w, psi
		}
		late, early := 1.0, 1.0
		if k.a > 0 {
			t := left / k.a
			late, early = poissonTail(i, k.g*t), poissonTail(i, both*t)
		}
		psi += late / k.g
		w += float64(weight * early)
		weight *= fade
		if early < 1e-18 { // and so is what follows
			return w, psi
		}
	}
}

// poissonTail is P(X > i) for a Poisson variable X of mean x > 0, by the sum of
// those terms that fall from the first one on.
func poissonTail(i int, x float64) float64 {
	n := float64(i)
	if spread := x - n; spread > 60 && spread*spread > 100*x {
		return 1
	}
	if n+1 > x {
		log, _ := math.Lgamma(n + 2)
		term := math.Exp(float64((n+1)*math.Log(x)) - x - log)
		sum := 0.0
		for k := n + 2; term > sum*1e-17; k++ {
			sum += term
			term *= x / k
		}
		return sum
	}
	log, _ := math.Lgamma(n + 1)
	term := math.Exp(float64(n*math.Log(x)) - x - log)
	sum := 0.0
	for k := n; term > sum*1e-17; k-- {
		sum += term
		term *= k / x
	}
	return max(0, 1-sum)
}

// SignalsIndex is what the policy freshness ranks a node by at an age, given the
// signals since its last probe. Without signals that are heeded it is the
// FreshnessIndex of [FreshnessOf].
func SignalsIndex(n *Node, age int64) float64 {
	m := InterestOf(n)
	k, ok := noisyCurve(&n.Signals, n.Precision, n.Recall, m.Arrival, n.Weight/n.Cost)
	switch {
	case age <= 0:
		return 0
	case ok && k.silent():
		return 0
	case ok:
		return k.at(age)
	}
	return FreshnessIndex(n, age)
}
