package scheduler

import "math"

// whittlePolicy probes the nodes with the greatest [Interest.Index]: the
// Whittle index policy of P2 for ephemeral content with known parameters.
//
// A node whose index can never reach those of the others is never probed: that
// is right for the objective, but nothing is learnt of it (see [Explore]). Past
// y = 42 the index is constant, and ties are decided by the lower slot.
//
// Without decay the index is the limit for decays that go to zero, divided by
// none: a schedule in which no node has a decay is probed as by the policy index
// with w lambda for w pi. Beside nodes with a decay such a node waits until they
// leave a probe over, as waiting costs it nothing.
//
// Cost: see tournament, parking and curveLead. In the steady state only the nodes
// near the greatest value play; in the first steps of a new schedule with decays
// that differ all do, and the order of many changes.
var whittlePolicy = PolicySpec{
	Name: "whittle", Number: 4, Ranks: true, Estimator: "fixed", Rewards: true, Arrival: true, Meets: true,
	New: func() Policy { return newTournament(curveContest{interestCurve}) },
}

// interestCurve is the curve of Interest.Index of the node in a slot of a page.
func interestCurve(p *page, i int, k *curve) {
	arrival := p.arrival(i)
	k.ephemeral(p.get(i, colWeight)*arrival/p.get(i, colCost), p.get(i, colDecay), int64(p.get(i, colMaxAge)))
}

// arrival is the rate of arrival, or the estimate of the rate if none is given.
func (p *page) arrival(i int) float64 {
	if v := p.get(i, colArrival); v != Unknown {
		return v
	}
	return p.get(i, colEstimate)
}

// Interest is the model of one node with ephemeral content. Items of weight w
// arrive at rate lambda a step, the interest in each decays at rate c a step,
// so by alpha = exp(-c), and items older than M steps are dropped. Age a is 1
// in the step after a probe. The expected interest at age a is
//
//	x(a) = (w lambda / c) (1 - alpha^min(a, M)) = u (1 - alpha^a) / (1 - alpha)
//
// with u = x(1). P2 prints u with a factor 1 - alpha^M for finite M, which
// contradicts its own reset to zero after a probe.
type Interest struct {
	Weight, Arrival, Decay, Cost float64
	MaxAge                       int64 // 0: infinite
}

// InterestOf reads a node's parameters. Without an arrival rate the estimate
// of the rate is used.
func InterestOf(n *Node) Interest {
	m := Interest{n.Weight, n.Arrival, n.Decay, n.Cost, n.MaxAge}
	if m.Arrival == Unknown {
		m.Arrival = n.Estimate
	}
	return m
}

// Limit is what Index and Reward approach with age: w lambda / c.
// Index approaches it divided by the cost.
func (m Interest) Limit() float64 { return m.Weight * m.Arrival / m.Decay }

// Reward is x(a), what a probe at age a earns on average. Zero decay: items
// keep their worth and x(a) = w lambda min(a, M).
func (m Interest) Reward(age int64) float64 {
	if m.MaxAge > 0 {
		age = min(age, m.MaxAge)
	}
	if m.Decay == 0 {
		return m.Weight * m.Arrival * float64(age)
	}
	return m.Limit() * -math.Expm1(-m.Decay*float64(age))
}

// Index is the Whittle index at age a,
//
//	gamma(a) = ((a+1) x(a) - a x(a+1)) / C
//	         = (u/C) ((1 - alpha^a)/(1 - alpha) - a alpha^a)   for infinite M,
//
// the closed form of P2's (4) and (5) on the states that a node can reach. It
// increases with a up to w lambda/(c C), which it is taken to be from c a = 42
// on. With finite M it is x(M)/C from age M on. For c that goes to zero it
// becomes (w lambda/C) c a (a+1)/2; decays below 2^-60 count as 2^-60.
func (m Interest) Index(age int64) float64 {
	if age <= 0 {
		return 0
	}
	k := m.curve()
	return k.at(age)
}

// curve is that of the index.
func (m *Interest) curve() (k curve) {
	k.ephemeral(m.Weight*m.Arrival/m.Cost, m.Decay, m.MaxAge)
	return k
}

// IndexOfState is P2's index (4) of a state x with (5),
// zeta = the least integer exceeding log_alpha((u - (1-alpha) x)/u), for any x
// and infinite M. On the states x(a) it equals Index(a); it is there to check
// one against the other.
func (m Interest) IndexOfState(x float64) float64 {
	gap := -math.Expm1(-m.Decay) // 1 - alpha
	u := m.Reward(1)
	left := (u - float64(gap*x)) / u
	if left <= 0 {
		return m.Limit() / m.Cost
	}
	zeta := math.Floor(max(0, -math.Log(left)/m.Decay)) + 1
	grown := float64(-math.Expm1(-m.Decay*zeta) / gap * u)
	return (float64(zeta*(float64(gap*x)-u)) + grown) / m.Cost
}
