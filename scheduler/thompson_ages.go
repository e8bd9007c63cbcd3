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
	ageCount = 4
	// memoWatch is where the sums of a watch are: -1, so that nobody takes it for the
	// count of a fifth age, which memos had before, then up, down and 0.
	memoWatch = memoAges + 4*ageCount
	// thompsonMemo is the number of float64s in a memo: 192 bytes a node, where
	// three sums at each of 90 grid points would take 2160.
	thompsonMemo = memoWatch + 4
	// agesRemembered bounds the sum of counts: older probes fade then by a factor
	// 1 - 1/agesRemembered a probe. A node that changes is learnt anew before that,
	// because its watch calls, and one that does not is known ever better.
	agesRemembered = 1 << 14
	// ageForgotten is the count below which an age gives up its place.
	ageForgotten = 1e-3
)

// ages are the remembered ages of a node in increasing order; those of count 0
// are last. The extra place is for a new one before two are merged.
type ages struct {
	list     [ageCount + 1]age
	used     int
	up, down float64 // sums of the watch
}

const (
	// watchShift is the change of the mean that a watch is made for, in standard
	// deviations of a reward.
	watchShift = 1
	// watchAlarm is the logarithm of the likelihood ratio at which what is
	// remembered is given up.
	watchAlarm = 12
	// watchFrom is how many probes are remembered before the watch begins.
	watchFrom = 16
	// watchMost bounds how much one reward may say.
	watchMost = 4
)

// watch tells whether a node has changed: two sums of logarithms of likelihood ratios
// (Page 1954), of rewards one deviation above what is believed and one below, which
// never fall below zero. off is how far a reward is from that, in deviations.
func (s *ages) watch(off float64) (changed bool) {
	off = min(max(off, -watchMost), watchMost)
	s.up = max(0, s.up+float64(watchShift*off)-watchShift*watchShift/2.)
	s.down = max(0, s.down-float64(watchShift*off)-watchShift*watchShift/2.)
	return s.up > watchAlarm || s.down > watchAlarm
}

// loadAges reads a memo. Of a memo that no policy wrote it takes what makes
// sense: what was read back from a damaged disk must not turn into a NaN.
func loadAges(memo []float64) (s ages) {
	if w := memo[memoWatch:thompsonMemo]; w[0] == -1 && w[1] >= 0 && w[1] <= watchAlarm && w[2] >= 0 && w[2] <= watchAlarm {
		s.up, s.down = w[1], w[2]
	}
	for m := memo[memoAges:memoWatch]; len(m) > 0; m = m[4:] {
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
	copy(memo[memoWatch:], []float64{-1, s.up, s.down, 0})
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
		steps:  between(a.steps, b.steps, share, curve),
		reward: a.reward + float64(share*(b.reward-a.reward)),
		spread: a.spread + b.spread + float64(a.count*share*noise*noise),
	}
	copy(s.list[best+1:], s.list[best+2:s.used])
	s.used--
}

// between is the age at which the curve is the mean of what it is at two ages, where
// the second one counts with a share. It is below the mean age, as the curve is concave:
// with that, a node whose ages are merged again and again would be believed to
// earn less than it does.
func between(a, b, share float64, curve func(float64) float64) float64 {
	low, high := curve(a), curve(b)
	if !(high > low) {
		return a + float64(share*(b-a))
	}
	mean := low + float64(share*(high-low))
	for range betweenSteps {
		middle := (a + b) / 2
		if curve(middle) < mean {
			a = middle
		} else {
			b = middle
		}
	}
	return (a + b) / 2
}

// betweenSteps bound the error to 2^-20 of the distance of two ages.
const betweenSteps = 20
