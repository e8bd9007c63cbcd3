package scheduler

import "math"

// What a policy costs with many nodes. A policy that ranks nodes probes each when its
// value reaches a level, which the choice of c nodes in each step keeps nearly constant if
// there are many of them: the fluid limit. The level is such that the nodes want c probes
// a step. Where the value is the index of the model, that is the [relaxation] itself (R. R.
// Weber and G. Weiss, "On an index policy for restless bandits", 1990), see
// PolicySpec.Meets; this is for the other policies. How far schedules are from the
// limit is measured by TestCostsOfManyNodesAreNearTheirLimit of structures/schedule.

// levelCost is the sum of pi (T+1)/2 for the gaps T that a policy comes to with many
// nodes: those at the level at which sum 1/T = c, or, where many nodes change their gap
// at one level, in part those on either side of it.
func levelCost(rates []float64, c int, gap func(rate, level float64) float64) float64 {
	guess := 0.0
	for _, r := range rates {
		if r > 0 {
			guess = max(guess, r)
		}
	}
	at := func(level float64) (cost, slope float64, _ error) {
		slope = -float64(c)
		for _, r := range rates {
			if r > 0 {
				t := max(1, gap(r, level))
				cost, slope = cost+float64(r*(t+1)/2), slope+1/t
			}
		}
		return cost, slope, nil
	}
	s, _ := around(at, guess)
	if !s.rises || !s.falls {
		return s.top.v
	}
	for s.top.at-s.low.at > levelMargin*s.top.at && s.low.slope > levelMargin*float64(c) {
		level, ok := s.next()
		if !ok {
			break
		}
		_ = s.look(at, level)
	}
	return s.top.v + (s.low.v-s.top.v)*(s.top.slope/(s.top.slope-s.low.slope))
}

// levelMargin is the relative error of a level: far less than what a schedule is off.
const levelMargin = 1e-9

func sqrtageLimit(rates []float64, c int) float64 {
	return levelCost(rates, c, func(rate, level float64) float64 { return math.Ceil(level / math.Sqrt(rate)) })
}

func greedyLimit(rates []float64, c int) float64 {
	return levelCost(rates, c, func(rate, level float64) float64 { return math.Ceil(level / rate) })
}

// strideLimit is the cost of equal gaps at the frequencies that are best, as whole
// numbers of steps on either side of them.
func strideLimit(rates []float64, c int) float64 {
	cost := 0.0
	for i, f := range Frequencies(rates, c) {
		if rates[i] > 0 {
			cost += float64(rates[i] * meanAge(1/f, 1))
		}
	}
	return cost
}
