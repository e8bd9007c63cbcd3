package scheduler

// binary estimates a change rate from probes that only tell whether something
// changed: items > 0 means yes. Changes come as a Poisson process of rate x, so
// that after a gap T a probe sees one with probability 1 - exp(-x T).
//
// It is the stochastic approximation (SA) estimator of Avrachenkov, Patil and
// Thoppe 2020 (Change rate estimation and optimal freshness in web page crawling),
//
//	x <- x + eta (I - expected I) times a gain,   I = 1 if changed, else 0.
//
// Theirs expects I = x/(x+p), which is so if a page is crawled at Poisson times of
// rate p; so does their LLN estimator p sum(I)/(k - sum(I)). Schedules here keep
// gaps nearly regular, and there both converge to (exp(xT) - 1)/T, 1.72 times x at
// x T = 1. So the expectation given the very gap is used, and the step that makes
// SA as good as maximum likelihood (Fisher scoring of ln x). With y = x T, and a
// the information on ln x so far, counted in items,
//
//	nothing found:  x <- x a/(a+y)
//	changed:        x <- x (1 + s/a),  s = y exp(-y)/(1 - exp(-y)),
//	                a <- a + s^2 exp(y)
//
// The first is the mean of a Gamma posterior; s is the derivative of the
// likelihood's logarithm by ln x; s^2 exp(y) has the Fisher information of a probe
// for its mean, and is 1, one item, for short gaps. Before the first probe a is
// 1/2 and x the user's guess or 1/2, as in the other estimators.
//
// As change does, it keeps at most memory items of information, so that it
// follows rates that drift, and watches for a rate that doubled or halved by two
// sums of log likelihood ratios, here of the two outcomes. Where one passes
// changeAlarm it believes so, with the information of half an item.
//
// Bias. The mean over nodes is within 5 % of the maximum likelihood estimate of
// Cho and Garcia-Molina (2003) for x T from 0.05 to 3 and 200 probes; most of it is
// the prior's half item, where few changes were seen. If every one of k probes
// finds a change that estimate is infinite. This one grows only like ln(k)/(2T)
// from the guess on: a node that changes much more often than it is looked at is
// underestimated until a probe finds nothing. If none of them does, it is about
// 1/(2W) after W steps.
//
// It computes with what IEEE 754 rounds exactly: decay, and logarithms by ln1p.
type binary struct{}

// shape is a before the first probe: half an item, as in prior.
const shape = 0.5

func (binary) Refresh(n *Node) {
	n.Born = 0
	// A rate of zero stops a node, and any other starts it again.
	if n.Probes > 0 && n.Rate != 0 && n.Estimate > 0 {
		return
	}
	n.Estimate = n.Rate
	if n.Rate == Unknown {
		n.Estimate = 0.5
	}
	n.Count, n.Up, n.Down = shape, 0, 0
}

func (binary) Observe(n *Node, items float64, gap, _ int64) {
	y := n.Estimate * float64(gap)
	if !(y > 0) {
		return // no time in which to change, or a node that is never scheduled
	}
	if items > 0 {
		kept := decay(y)
		s, information := 1-y/2, 1.0
		if y > smallMean {
			s = y * kept / (1 - kept)
			information = s * y / (1 - kept)
		}
		watch(n, ln1p(kept), -ln1p(decay(y/2)))
		n.Estimate *= 1 + s/n.Count
		n.Count = min(n.Count+information, memory)
	} else {
		watch(n, -y, y/2)
		n.Estimate *= n.Count / (n.Count + y)
	}
	switch {
	case n.Up > changeAlarm:
		n.Estimate, n.Count, n.Up, n.Down = n.Estimate*2, shape, 0, 0
	case n.Down > changeAlarm:
		n.Estimate, n.Count, n.Up, n.Down = n.Estimate/2, shape, 0, 0
	}
	n.Estimate = min(max(n.Estimate, LeastRate), MaxNumber)
}

const (
	// smallMean is where 1 - exp(-y) begins to lose digits; the next terms of
	// the series are y*y/12, below the 1e-9 that are lost otherwise.
	smallMean = 1e-4
	// LeastRate is the least rate that is learnt by binary and of signals. It keeps a node that was silent for ever from rate zero, which
	// would stop it: it is less than one item in MaxStep steps.
	LeastRate = 1e-17
)

// watch adds what one outcome says for a doubled and for a halved rate. The
// sums rest until a first change was seen.
func watch(n *Node, up, down float64) {
	if n.Count > shape {
		n.Up, n.Down = max(0, n.Up+up), max(0, n.Down+down)
	}
}

// ln1p is ln(1+z) for z in [0, 1] within 1e-15, by 2 artanh(z/(2+z)). The
// argument is at most 1/3, and 3^-35/35 is below the last bit.
func ln1p(z float64) float64 {
	w := z / (2 + z)
	square, sum := w*w, 0.0
	for k := 35.0; k > 0; k -= 2 {
		sum = float64(square*sum) + 1/k
	}
	return 2 * w * sum
}
