package scheduler

// An age is what thompson remembers of the probes of a node at one age, or at
// ages near each other: how many, and mean and spread of what they found.
type age struct {
	count  float64 // discounted number of probes
	steps  float64 // mean age
	reward float64 // mean of the rewards
	spread float64 // sum of squared deviations from the mean
}

// The memo of a node. It is stored with the node, so its length and order never
// change.
const (
	memoK        = iota // drawn w lambda / c; 0 before the first draw
	memoDecay           // drawn c
	memoDoubt           // standard deviation of K
	memoPatience        // age from which doubt is added
	memoAges            // ageCount times count, steps, reward, spread
)

const (
	// ageCount is how many ages a node remembers. An index policy in its steady
	// state comes at two to four ages; two identify the model.
	ageCount = 5
	// thompsonMemo is the number of float64s in a memo: 192 bytes a node, where
	// three sums at each of 90 grid points would take 2160.
	thompsonMemo = memoAges + 4*ageCount
	// agesRemembered bounds the sum of counts. Older probes fade by a factor
	// 1 - 1/agesRemembered a probe, so that a node that changes is learnt anew.
	// With 1024, a mixture of old and new rewards was fitted by a decay near 0, at
	// which a node is hardly probed: 8000 steps after a change the share of full
	// knowledge was as low as .43. With 128 all of ten runs recovered, at the price
	// of .0002 on the weighted Table I and some .005 at lambda 2.5.
	agesRemembered = 128
	// ageForgotten is the count below which an age gives up its place.
	ageForgotten = 1e-3
)

// ages are the remembered ages of a node in increasing order; those of count 0
// are last. The extra place is for a new one before two are merged.
type ages struct {
	list [ageCount + 1]age
	used int
}

// loadAges reads a memo. Of a memo that no policy wrote it takes what makes
// sense: what was read back from a damaged disk must not turn into a NaN.
func loadAges(memo []float64) (s ages) {
	for m := memo[memoAges:thompsonMemo]; len(m) > 0; m = m[4:] {
		a := age{m[0], m[1], m[2], m[3]}
		sane := a.count > 0 && a.count <= 2*agesRemembered && a.steps >= 1 && a.steps <= MaxStep &&
			a.reward >= 0 && a.reward <= MaxNumber && a.spread >= 0 && a.spread <= 2*agesRemembered*MaxNumber*MaxNumber
		if !sane || s.used > 0 && a.steps <= s.list[s.used-1].steps {
			break
		}
		s.list[s.used] = a
		s.used++
	}
	return s
}

func (s *ages) store(memo []float64) {
	for i, a := range s.list[:ageCount] {
		if i >= s.used {
			a = age{}
		}
		copy(memo[memoAges+4*i:], []float64{a.count, a.steps, a.reward, a.spread})
	}
}

// total is the number of probes that still count.
func (s *ages) total() float64 {
	sum := 0.0
	for _, a := range s.list[:s.used] {
		sum += a.count
	}
	return sum
}

// add takes in a reward that was found at an age. The curve is the mean reward
// by age as believed so far: where two ages are merged it tells which part of
// their difference is not noise.
func (s *ages) add(steps, reward float64, curve func(steps float64) float64) {
	s.fade()
	at := 0
	for at < s.used && s.list[at].steps < steps {
		at++
	}
	if at < s.used && s.list[at].steps == steps {
		a := &s.list[at]
		a.count++
		apart := reward - a.reward
		a.reward += apart / a.count
		a.spread += float64(apart * (reward - a.reward))
		return
	}
	copy(s.list[at+1:s.used+1], s.list[at:s.used])
	s.list[at] = age{1, steps, reward, 0}
	s.used++
	if s.used > ageCount {
		s.merge(curve)
	}
}

// fade discounts what is remembered, once that is much.
func (s *ages) fade() {
	if s.total() < agesRemembered {
		return
	}
	const keep = 1 - 1.0/agesRemembered
	kept := 0
	for _, a := range s.list[:s.used] {
		a.count *= keep
		a.spread *= keep
		if a.count >= ageForgotten {
			s.list[kept] = a
			kept++
		}
	}
	s.used = kept
}

// merge makes one of the two neighbours that lose least by it: Ward's rule on
// the relative distance of the ages.
func (s *ages) merge(curve func(float64) float64) {
	best, least := 0, 0.0
	for i := range s.used - 1 {
		a, b := s.list[i], s.list[i+1]
		gap := (b.steps - a.steps) / (b.steps + a.steps)
		loss := gap * gap * (a.count * b.count / (a.count + b.count))
		if i == 0 || loss < least {
			best, least = i, loss
		}
	}
	a, b := s.list[best], s.list[best+1]
	count := a.count + b.count
	share := b.count / count
	noise := b.reward - a.reward - (curve(b.steps) - curve(a.steps))
	s.list[best] = age{
		count:  count,
		steps:  a.steps + float64(share*(b.steps-a.steps)),
		reward: a.reward + float64(share*(b.reward-a.reward)),
		spread: a.spread + b.spread + float64(a.count*share*noise*noise),
	}
	copy(s.list[best+1:], s.list[best+2:s.used])
	s.used--
}
