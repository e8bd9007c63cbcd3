package scheduler

import "math"

// whittlePolicy probes the nodes with the greatest [Interest.Index]: the
// Whittle index policy of P2 for ephemeral content with known parameters.
// A node whose index can never reach those of the others is never probed.
var whittlePolicy = PolicySpec{
	Name: "whittle", Number: 4, Estimator: "fixed", Rewards: true,
	Check: func(p *Params) error {
		if p.Decay == 0 {
			return ErrDecay
		}
		return nil
	},
	New: func() Policy {
		return &ranking{value: func(n *Node, age int64) float64 {
			return InterestOf(n).Index(age)
		}}
	},
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
// increases with a up to w lambda/(c C), which float64 reaches at about
// a = 36/c. With finite M it is x(M)/C from age M on.
func (m Interest) Index(age int64) float64 {
	if age <= 0 || m.Decay == 0 {
		return 0
	}
	if m.MaxAge > 0 && age >= m.MaxAge {
		return m.Reward(m.MaxAge) / m.Cost
	}
	a := float64(age)
	y := m.Decay * a
	if y < indexSeries {
		return m.Weight * m.Arrival / m.Cost * float64(math.Exp(-y)*indexHead(m.Decay, a))
	}
	kept := float64(a * -math.Expm1(-m.Decay) * math.Exp(-y))
	return m.Limit() / m.Cost * (-math.Expm1(-y) - kept)
}

// indexSeries is the product c a below which Index sums a series. Above it the
// closed form loses at most a factor 2/(c a), four in all, to cancellation.
const indexSeries = 0.5

// indexHead is (exp(ca) - 1 - a (1 - exp(-c))) / c for small ca, by
//
//	sum over k >= 2 of a ((ca)^(k-1) - (-c)^(k-1)) / k!
//
// whose first term is c a (a+1) / 2. Every term is at least 0, so nothing
// cancels; 16 terms leave less than 0.5^16/17! of the first.
func indexHead(c, a float64) float64 {
	y, sum := float64(c*a), 0.0
	power, sign, factorial := y, -c, 2.0
	for k := 2.0; k <= 17; k++ {
		sum += float64(a * (power - sign) / factorial)
		power = float64(power * y)
		sign = float64(sign * -c)
		factorial *= k + 1
	}
	return sum
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
