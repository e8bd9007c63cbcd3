package scheduler

import "math"

// freshContest is the contest of the policy freshness: curves, and the law of
// noisy for nodes whose signals are heeded.
//
// V of noisy grows between signals, so that a leader stays before a follower as
// long as the follower would not have reached the leader's present value: some
// values of the follower certify a lead. A signal is a Touch.
type freshContest struct{ curveContest }

func (r freshContest) enter(p *page, i int, c *contender) {
	if c.noisy, c.hears = p.noisy(i); c.hears {
		c.scale = c.noisy.s
		if c.noisy.silent() {
			c.scale = 0
		}
		return
	}
	r.curveContest.enter(p, i, c)
}

// noisy is the law of a node whose signals are heeded.
func (p *page) noisy(i int) (noisy, bool) {
	if p.mask&signalled == 0 {
		return noisy{}, false
	}
	s := p.signals(i)
	return noisyCurve(&s, p.get(i, colPrecision), p.get(i, colRecall), p.arrival(i), p.get(i, colWeight)/p.get(i, colCost))
}

func (r freshContest) value(c *contender, age int64) float64 {
	if c.hears {
		return c.noisy.at(age)
	}
	return r.curveContest.value(c, age)
}

func (r freshContest) lead(i, j *contender, vi, vj float64, step int64) int64 {
	if !i.hears && !j.hears {
		return r.curveContest.lead(i, j, vi, vj, step)
	}
	if !(vj*(1+noisyMargin) < vi) {
		return 1
	}
	at := j.curve.at
	if j.hears {
		at = j.noisy.at
	}
	return certified(vi, step-j.last, i.want, at) + 1
}

// leadTries bounds the values that certify a lead.
const leadTries = 5

// certified is a number of steps, at most ahead, for which a value that never
// falls stays below a level that it has not reached at an age. A number of at least
// want is as good as a greater one.
func certified(level float64, age, want int64, at func(age int64) float64) int64 {
	below := func(h int64) bool { return at(age+h)*(1+noisyMargin) < level }
	if below(ahead - age - 1) {
		return ahead - 1
	}
	sure, bad := int64(0), max(2, want)
	if below(bad) {
		return bad
	}
	for range leadTries {
		middle := sure + (bad-sure)/4
		if middle <= sure {
			break
		}
		if below(middle) {
			sure = middle
		} else {
			bad = middle
		}
	}
	return sure
}

// reach doubles the age from the one where the value was asked for last, until the
// value is at the level, and halves the distance some times.
func (r freshContest) reach(c *contender, level float64) int64 {
	if !c.hears {
		return r.curveContest.reach(c, level)
	}
	level *= 1 - noisyMargin
	if c.noisy.top < level {
		return ahead
	}
	low := int64(0)
	if c.asOf > c.last {
		low = c.asOf - c.last
	}
	if c.noisy.at(max(1, low)) >= level {
		return low
	}
	if c.noisy.a == 0 { // its value stays what it is from age 1 on
		return ahead
	}
	h := int64(1)
	for ; low+h < ahead/2 && c.noisy.at(low+h) < level; h *= 2 {
		low += h
	}
	for high := low + h; high-low > 1+low/64; {
		if middle := low + (high-low)/2; c.noisy.at(middle) < level {
			low = middle
		} else {
			high = middle
		}
	}
	return low + 1
}

// waiting is the simple use of signals by the policy index: n signals since
// the last probe mean n p items more, and the others come at (1-r) times the rate.
// Items are as many as a node without signals has at age
//
//	A = (1-r) a + n p/pi,
//
// so the value is pi A (A+1)/2.
func (k *noisy) waiting(worth float64, age int64) float64 {
	told := k.told(float64(age))
	return worth * told * (told + 1) / 2
}

func (k *noisy) told(age float64) float64 {
	d := k.rate()
	return float64(k.a/d*age) + k.count*k.p/d
}

// waitingAge is the age at which the value is at a level, or a little less.
func (k *noisy) waitingAge(worth, level float64) float64 {
	told := math.Sqrt(0.25+2*level/worth) - 0.5
	d := k.rate()
	return (told - k.count*k.p/d) * (1 - growthMargin) * d / k.a
}
