package scheduler

import (
	"math"
	"math/rand/v2"
)

// The grid of the decay c: decayPoints values, gridOctave to an octave, up to
// gridTop, that is from 3.0e-5 to 6.96. Slower decay cannot be told from none
// in 10^4 steps, and faster decay leaves nothing after one step. Around a sharp
// peak the grid is refined by gridFine.
const (
	decayPoints = 90
	gridOctave  = 5
	gridFine    = 8
	gridTop     = 6.964404506368992 // 2^2.8
	fineOctave  = gridOctave * gridFine
	// peakWidth is how many grid points either side of a peak are refined.
	peakWidth = 2
	// peakMass is the share of the probability that makes a peak sharp if it lies
	// on a grid point and its neighbours.
	peakMass = 0.9
	// guessPoint is the decay that is believed before two rewards were seen:
	// 0.29, the geometric mean of Table I's.
	guessPoint = 66
)

// posterior holds the functions of x = c a that the model needs, at points with
// constant ratio: since the grid of c is such a one too, an age costs one
// logarithm, and each grid point some multiplications. One is made by a policy
// and never changes.
type posterior struct {
	shape [tablePoints]float64 // (1 - exp(-x)) / x
	noise [tablePoints]float64 // ln (1 - exp(-2x))
	steps [fineOctave]float64  // 2^(-i/fineOctave)
}

// The tables begin two points below x = c a of the smallest c and age 1, and
// end where exp(-x) is below the last bit of 1.
const tablePoints = decayPoints + 2 + 17

func newPosterior() *posterior {
	p := new(posterior)
	for i := range p.steps {
		p.steps[i] = decay(float64(i) / fineOctave * math.Ln2)
	}
	for i := range p.shape {
		x := p.decayAt(gridFine * (i - 2))
		p.shape[i] = saturation(x) / x
		p.noise[i] = logarithm(saturation(2 * x))
	}
	return p
}

// decayAt is c at a point of the refined grid; whole points of the coarse grid
// are the multiples of gridFine.
func (p *posterior) decayAt(fine int) float64 {
	below := (decayPoints-1)*gridFine - fine
	rest := (below%fineOctave + fineOctave) % fineOctave
	return math.Ldexp(gridTop*p.steps[rest], (rest-below)/fineOctave)
}

// at gives 1 - exp(-x) and ln(1 - exp(-2x)) at x = x0 2^(place/gridOctave), where x0
// is the smallest c: by the cubic through four points of the tables, which is
// right to 1e-5.
func (p *posterior) at(place, x float64) (grown, noise float64) {
	i := int(place)
	if i+4 >= tablePoints || x > 40 {
		return 1, 0
	}
	f := place - float64(i)
	// Weights of the points i-1, i, i+1, i+2; the tables begin at -2.
	w0 := -f * (f - 1) * (f - 2) / 6
	w1 := (f + 1) * (f - 1) * (f - 2) / 2
	w2 := -(f + 1) * f * (f - 2) / 2
	w3 := (f + 1) * f * (f - 1) / 6
	s, v := p.shape[i+1:i+5], p.noise[i+1:i+5]
	shape := float64(w0*s[0]) + float64(w1*s[1]) + float64(w2*s[2]) + float64(w3*s[3])
	noise = float64(w0*v[0]) + float64(w1*v[1]) + float64(w2*v[2]) + float64(w3*v[3])
	return min(1, x*shape), min(0, noise)
}

// sample is what has been seen of one node.
type sample struct {
	ages
	place  [ageCount]float64 // gridOctave log2(age)
	weight float64           // of an item
}

func newSample(s ages, weight float64) (m sample) {
	m = sample{ages: s, weight: weight}
	for i, a := range s.list[:s.used] {
		m.place[i] = gridOctave / math.Ln2 * logarithm(a.steps)
	}
	return m
}

// belief is what a sample says of K and of the likelihood if c were a point of
// the grid.
type belief struct {
	c, k, doubt float64
	likelihood  float64 // logarithm, up to a constant
}

// fit computes a belief. With m = 1 - exp(-ca), v = 1 - exp(-2ca) = m (2 - m) and
// the three running sums
//
//	A = sum of m^2/v    B = sum of m X/v    Q = sum of X^2/v
//
// the weighted least squares are K = B/A and the residue Q - B^2/A. Here the
// sums are over the remembered ages, and the residue is summed from deviations,
// which does not cancel.
func (p *posterior) fit(s *sample, fine int) belief {
	c := p.decayAt(fine)
	var grown [ageCount]float64
	var a, b, spread float64
	n, noises := 0.0, 0.0
	for i, g := range s.list[:s.used] {
		m, noise := p.at(s.place[i]+float64(fine)/gridFine, c*g.steps)
		grown[i] = m
		a += float64(g.count * m / (2 - m))
		b += float64(g.count * g.reward / (2 - m))
		spread += g.spread / (m * (2 - m))
		n += g.count
		noises += float64(g.count * noise)
	}
	k := (b + float64(priorItems*s.weight)) / a
	for i, g := range s.list[:s.used] {
		apart := g.reward - float64(k*grown[i])
		spread += float64(g.count * apart / (grown[i] * (2 - grown[i])) * apart)
	}
	variance := (float64(priorProbes*s.weight*k/2) + spread) / (priorProbes + n)
	variance = max(variance, minVariance)
	return belief{c: c, k: k, doubt: math.Sqrt(variance / a),
		likelihood: -(float64((priorProbes+n)*logarithm(variance)) + noises + logarithm(a)) / 2}
}

// off returns how far a reward is from what k and c say of an age, in standard
// deviations: that of the model with the variance that the sample has shown, around a
// curve that the sample leaves uncertain.
func (p *posterior) off(s *ages, weight, k, c, steps, reward float64) float64 {
	spread, n := 0.0, 0.0
	for _, g := range s.list[:s.used] {
		m := saturation(c * g.steps)
		apart := g.reward - float64(k*m)
		spread += (g.spread + float64(g.count*apart*apart)) / (m * (2 - m))
		n += g.count
	}
	m := saturation(c * steps)
	variance := (float64(priorProbes*weight*k/2) + spread) / (priorProbes + n) * (m * (2 - m))
	return (reward - float64(k*m)) / math.Sqrt(max(variance, minVariance))
}

const (
	// priorItems is added to B, in items: a node at which nothing was found yet
	// may be found to have something.
	priorItems = 0.25
	// priorProbes is how many probes the variance of Poisson arrivals, w K/2,
	// is worth against the variance that is seen. Rewards without noise are
	// soon believed to be exact.
	priorProbes = 2
	// trust is the power to which likelihoods are raised when c is drawn. Before a
	// few rewards were seen an untempered draw is anywhere on the grid; with 2 the
	// share of full knowledge rose from .962 to .974 at 40 noisy nodes, and with
	// 3 it fell from .997 to .995 in the noisy Table I (ten seeds).
	trust = 2
	// hopeless is the exponent from which a chance is taken as 0: all points
	// together are less than what a draw of 53 bits can tell from 0.
	hopeless = 45
	// minVariance keeps the logarithm finite if all rewards and weights are 0.
	minVariance = 1e-200
)

// draw picks c from its probabilities on the grid.
func (p *posterior) draw(s *sample, draws *rand.Rand) belief {
	var list [decayPoints]belief
	for i := range list {
		list[i] = p.fit(s, i*gridFine)
	}
	picked, peak, sharp := choose(list[:], draws)
	if !sharp {
		return picked
	}
	const width = peakWidth * gridFine
	first := min(max(0, peak*gridFine-width), (decayPoints-1)*gridFine-2*width)
	near := list[:2*width+1]
	for i := range near {
		near[i] = p.fit(s, first+i)
	}
	picked, _, _ = choose(near, draws)
	return picked
}

// choose draws one of a list by likelihood. It also tells the likeliest, and
// whether that and its neighbours have nearly all the probability.
func choose(list []belief, draws *rand.Rand) (picked belief, peak int, sharp bool) {
	for i := range list {
		if list[i].likelihood > list[peak].likelihood {
			peak = i
		}
	}
	var chances [decayPoints]float64
	sum, near := 0.0, 0.0
	for i := range list {
		if behind := trust * (list[peak].likelihood - list[i].likelihood); behind < hopeless {
			chances[i] = decay(behind)
		}
		sum += chances[i]
		if i >= peak-1 && i <= peak+1 {
			near += chances[i]
		}
	}
	left := float64(draws.Float64() * sum)
	for i := range list {
		if left -= chances[i]; left < 0 {
			return list[i], peak, near > peakMass*sum
		}
	}
	return list[peak], peak, near > peakMass*sum
}
