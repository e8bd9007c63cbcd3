package sim

import (
	"math"
	"math/rand/v2"

	"github.com/vigildb/vigil/scheduler"
)

// Model says what probes are for.
type Model uint8

const (
	Queues    Model = iota // items wait until they are probed
	Interest               // the interest in items decays
	Freshness              // copies of pages go stale
)

// ModelOf is the model that a policy was made for.
func ModelOf(p *scheduler.PolicySpec) Model {
	switch {
	case p.Name == "freshness":
		return Freshness
	case p.Rewards:
		return Interest
	}
	return Queues
}

// Rewards says that the model is judged by what probes earn, not by what waits.
func (m Model) Rewards() bool { return m != Queues }

// Counts names what a cost or reward of the model is the number of.
func (m Model) Counts() string {
	return [...]string{Queues: "waiting items", Interest: "earned interest", Freshness: "fresh copies"}[m]
}

// Items says how items come.
type Items uint8

const (
	Mean      Items = iota // rate x gap, and the mean interest: no chance at all
	Bernoulli              // at most one a step; rates above 1 bring their whole part always
	Poisson
)

// rateOf is the true rate of items of a node; for [Interest] and [Freshness]
// that is the arrival rate, if one was given.
func (m Model) rateOf(p *scheduler.Params) float64 {
	rate := p.Rate
	if m != Queues && p.Arrival != scheduler.Unknown {
		rate = p.Arrival
	}
	if rate == scheduler.Unknown {
		return 1 // as the estimator `fixed` believes
	}
	return rate
}

// earns is what a probe of a node earns by its age, as an interest of cost 1. A
// probe's cost divides it: a probe that costs twice as much is worth half. A
// copy that was renewed after T steps was fresh for (1 - exp(-D T))/D of them,
// which is the interest of arrival rate 1 and decay D.
func (m Model) earns(p *scheduler.Params, rate float64) scheduler.Interest {
	worth := p.Weight / p.Cost
	if m == Freshness {
		if rate == 0 {
			worth = 0 // always fresh, whatever the schedule: it counts for nothing
		}
		return scheduler.Interest{Weight: worth, Arrival: 1, Decay: rate, Cost: 1}
	}
	return scheduler.Interest{Weight: worth, Arrival: rate, Decay: p.Decay, Cost: 1, MaxAge: p.MaxAge}
}

// count draws how many items of a rate came in gap steps.
func (it Items) count(rate float64, gap int64, draws *rand.Rand) float64 {
	steps := float64(gap)
	switch it {
	case Poisson:
		return poisson(rate*steps, draws)
	case Bernoulli:
		whole := math.Floor(rate)
		return whole*steps + binomial(steps, rate-whole, draws)
	}
	return rate * steps
}

// keptItems is up to how many items their interest is added up one by one; the sum
// of more is drawn from the normal law with its mean and variance.
const keptItems = 4096

// faded is the product of decay and age from which an item's interest is
// nothing: exp(-40) is below the last bit of the sum.
const faded = 40

// interest draws the interest in the items of a node that came in age steps
// and are not older than MAXAGE.
func (it Items) interest(p *scheduler.Params, rate float64, age int64, draws *rand.Rand) float64 {
	m := scheduler.Interest{Weight: p.Weight, Arrival: rate, Decay: p.Decay, Cost: 1, MaxAge: p.MaxAge}
	mean := m.Reward(age)
	if it == Mean {
		return mean
	}
	span := float64(age)
	if p.MaxAge > 0 {
		span = float64(min(age, p.MaxAge))
	}
	if p.Decay == 0 {
		return p.Weight * poisson(rate*span, draws)
	}
	span = min(span, faded/p.Decay)
	if rate*span > keptItems {
		variance := p.Weight * p.Weight * rate * -math.Expm1(-2*p.Decay*span) / (2 * p.Decay)
		return max(0, mean+math.Sqrt(variance)*draws.NormFloat64())
	}
	left := 0.0
	for n := poisson(rate*span, draws); n > 0; n-- {
		left += math.Exp(-p.Decay * span * draws.Float64())
	}
	return p.Weight * left
}
