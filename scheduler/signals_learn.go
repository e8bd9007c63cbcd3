package scheduler

import "math"

// A crawl of a page shows the steps t since the one before, the n signals in
// between, and whether the page changed. With y = a t + theta n
//
//	P(unchanged) = exp(-y),
//
// whose logarithm, and that of its complement, are concave in (a, theta). So both
// can be learnt, by the score and its variance: with z = exp(-y)/(1-exp(-y))
//
//	d/dtheta   n z if changed, -n if not;      information n^2 z
//	d/dlog a   a t z if changed, -a t if not;  information (a t)^2 z.
//
// One page sees few signals, and pages have them from the same sources: theta is
// learnt by the nodes of a table together, a by each node, as the estimator binary
// learns a rate. Signals are counted while they can be compared with the time.

// Crowd is what the nodes of a table learnt together. The zero Crowd knows nothing.
type Crowd struct {
	// Theta is the theta of a signal, Sure the information on it. Zero: none yet.
	Theta, Sure float64
}

const (
	// A precision of 1/2 is believed before anything was learnt, with the weight
	// of one signal.
	firstTheta, firstSure = math.Ln2, 1
	// leastTheta and mostTheta are precisions of .01 and 1 - 1e-9.
	leastTheta, mostTheta = 0.01, 20
	// crowdMemory bounds the information, so that what is believed can change.
	crowdMemory = 1 << 14
)

func (c *Crowd) theta() float64 {
	if c.Theta == 0 {
		return firstTheta
	}
	return c.Theta
}

// Hear adds a signal that is worth nats to a node. It makes a node whose precision
// is unknown believe the crowd, and one whose recall is unknown begin to learn:
// it believes first that half of its changes are signalled.
func (n *Node) Hear(c *Crowd, nats float64) {
	if n.Precision == Unknown && n.Trust == 0 {
		n.Trust = c.theta()
	}
	n.begin(n.Recall, InterestOf(n).Arrival)
	n.Nats = min(n.Nats+nats, MaxNats)
	n.Signals.Count = min(n.Signals.Count+1, MaxNumber)
}

// Worth of a signal to a node: in nats, by the precision that is known of the node
// or believed of all.
func (n *Node) SignalNats(c *Crowd) float64 {
	switch {
	case n.Precision != Unknown:
		return NatsOf(n.Precision)
	case n.Trust > 0:
		return n.Trust
	}
	return c.theta()
}

func (s *Signals) begin(recall, rate float64) {
	if recall == Unknown && s.Silent == 0 {
		s.Silent, s.Sure = max(rate/2, LeastRate), shape
	}
}

// Discard ends a period without learning: the probe counts as done, and nobody says
// what it found.
func (s *Signals) Discard() { s.Nats, s.Count = 0, 0 }

// learn takes in a crawl after gap steps and count signals.
func (s *Signals) learn(c *Crowd, p *Params, rate, gap, count float64, changed bool) {
	shared := p.Precision == Unknown
	if shared && s.Trust == 0 || !shared && (p.Recall != Unknown || NatsOf(p.Precision) == 0) {
		return
	}
	a, theta := float64((1-p.Recall)*rate), s.Trust
	if p.Recall == Unknown {
		s.begin(p.Recall, rate)
		s.Heard, s.Listened = s.Heard+count, s.Listened+gap
		a = s.Silent
	}
	if !shared {
		theta = NatsOf(p.Precision)
	}
	x := a * gap
	y := x + float64(theta*count)
	if !(y > 0) {
		return
	}
	fresh := decay(y)
	z := 1/y - 0.5
	if y > smallMean {
		z = fresh / (1 - fresh)
	}
	if p.Recall == Unknown {
		s.learnSilent(x, z, fresh, changed)
	}
	if shared {
		if count > 0 {
			c.learn(count, z, changed)
		}
		s.Trust = c.theta()
	}
}

func (s *Signals) learnSilent(x, z, fresh float64, changed bool) {
	if !(x > 0) {
		return
	}
	if changed {
		score := x * z
		information := score // of short gaps: one change that nobody told
		if x > smallMean {
			information = score * x / (1 - fresh)
		}
		s.Silent *= 1 + score/s.Sure
		s.Sure = min(s.Sure+information, memory)
	} else {
		s.Silent *= s.Sure / (s.Sure + x)
	}
	s.Silent = min(max(s.Silent, LeastRate), MaxNumber)
}

func (c *Crowd) learn(count, z float64, changed bool) {
	if c.Theta == 0 {
		c.Theta, c.Sure = firstTheta, firstSure
	}
	score := -count
	if changed {
		score = count * z
	}
	c.Sure = min(c.Sure+float64(count*float64(count*z)), crowdMemory)
	// One crawl moves it by no more than a factor of two.
	theta := min(max(c.Theta+score/c.Sure, c.Theta/2), 2*c.Theta)
	c.Theta = min(max(theta, leastTheta), mostTheta)
}

// Crawl is what one crawl of a page showed.
type Crawl struct {
	Steps   int64 // since the crawl before
	Signals int64 // in between
	Changed bool
}

// FitSignals is the maximum likelihood estimate of a, the rate of changes that are
// not signalled, and of theta, from crawls of one page or of pages that are alike.
// Both are at least 0. A theta that would be infinite, as every crawl with a signal
// found a change, is 64, which stands for a precision of 1; so is an infinite a.
// Without crawls both are 0. It is exact to 1e-9 relative; schedules learn step by
// step instead. Cost O(n) for each of some thousand values.
func FitSignals(crawls []Crawl) (a, theta float64) {
	var steps, signals, changes float64
	for _, c := range crawls {
		steps, signals = steps+float64(c.Steps), signals+float64(c.Signals)
		if c.Changed {
			changes++
		}
	}
	if changes == 0 {
		return 0, 0
	}
	// The likelihood is concave, so it is greatest where its greatest value over
	// a, given theta, is; the slope of that is the slope by theta.
	best := func(theta float64) float64 {
		return root(func(a float64) float64 { slope, _ := slopes(crawls, a, theta); return slope }, steps)
	}
	if signals > 0 {
		theta = root(func(theta float64) float64 { _, slope := slopes(crawls, best(theta), theta); return slope }, signals)
	}
	return min(certain, best(theta)), min(certain, theta)
}

// slopes are the derivatives of the log likelihood by a and theta.
func slopes(crawls []Crawl, a, theta float64) (byA, byTheta float64) {
	for _, c := range crawls {
		t, n := float64(c.Steps), float64(c.Signals)
		y, z := a*t+theta*n, -1.0
		if c.Changed && y > 0 {
			z = 1 / math.Expm1(y)
		} else if c.Changed {
			z = math.Inf(1)
		}
		if t > 0 {
			byA += t * z
		}
		if n > 0 {
			byTheta += n * z
		}
	}
	return byA, byTheta
}

// root is where a falling function of x >= 0 is zero: 0 if it is not above zero
// there, certain if it is above zero at all that counts. unit is a count that x
// times something like it is about 1 for.
func root(f func(float64) float64, unit float64) float64 {
	low, high := 0.0, 1/max(1, unit)
	for f(high) > 0 {
		if low, high = high, 2*high; low > certain {
			return certain
		}
	}
	for range 200 {
		middle := (low + high) / 2
		if high-low <= 1e-13*high || middle <= low || middle >= high {
			break
		}
		if f(middle) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	if high <= 1e-12 && f(0) <= 0 {
		return 0
	}
	return high
}
