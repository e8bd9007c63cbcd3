package placement

import (
	"math"
	"math/bits"
	"slices"
)

// rendezvous is weighted highest random weight (Thaler and Ravishankar 1996,
// with the weights of Schindelhauer and Schomaker 2005), a peer that needs no
// table and moves the optimum.
//
// Model: object and unit i give a random u_i in (0, 1); the object goes to the
// unit with the smallest -ln(u_i)/w_i, ties to the lower number. These are
// exponential variables with rates w_i, so unit i wins with probability
// w_i / sum w. The logarithm is computed with integers, in units of 2^-58, and
// fractions are compared by cross-multiplication: the error of a share is
// below 1e-12 of it.
//
// Guarantee: exact shares; a change of one unit moves objects to or from it
// alone, the optimum; no history.
//
// Cost: O(n) a lookup, about 1.8 ns a unit at n = 1000: the logarithm is computed only
// when its lower bound 1-u may win, some ln n times. 20 bytes a unit.
type rendezvous struct {
	roster
	seed uint64
	keys []uint64 // by place in the roster
}

func specRendezvous() Spec {
	return Spec{Name: "rendezvous", Number: 10, Weighted: true, Race: true, MaxUnits: MaxUnits,
		Summary: "weighted rendezvous: unequal units, exact, optimal moves, O(n) a lookup",
		New:     func(o Options) Strategy { return &rendezvous{seed: o.Seed} }}
}

func (r *rendezvous) Locate(hash uint64) int {
	best, least, weight := -1, uint64(math.MaxUint64), uint64(1)
	for i, k := range r.keys {
		w := uint64(r.caps[i])
		rest := attraction(hash, k) | 1 // 2^64 (1-u), not 0
		if best >= 0 && !smaller(rest>>(64-logBits), w, least, weight) {
			continue
		}
		if e := negLog(rest); best < 0 || smaller(e, w, least, weight) {
			best, least, weight = i, e, w
		}
	}
	if best < 0 {
		return -1
	}
	return int(r.units[best])
}

// smaller says whether e/w < f/v.
func smaller(e, w, f, v uint64) bool {
	h1, l1 := bits.Mul64(e, v)
	h2, l2 := bits.Mul64(f, w)
	return h1 < h2 || (h1 == h2 && l1 < l2)
}

const (
	logBits = 58                 // -ln of 2^-64 is below 2^6
	ln2     = 199786072581291494 // in units of 2^-58
)

// negLog returns -ln(1 - rest/2^64) in units of 2^-58, for rest > 0, within
// 2^-57. With u = 2^64 - rest = m 2^-k, 1/2 <= m/2^64 < 1, it is
// k ln 2 + 2 artanh z, z = (2^64-m)/(2^64+m) <= 1/3.
func negLog(rest uint64) uint64 {
	u := -rest
	k := bits.LeadingZeros64(u)
	m := u << k
	z, _ := bits.Div64(-m>>1, -m<<63, 1<<63+m>>1)
	square, _ := bits.Mul64(z, z)
	sum, odd := uint64(0), uint64(1)
	for term := z; term >= odd; odd += 2 {
		sum += term / odd
		term, _ = bits.Mul64(term, square)
	}
	return uint64(k)*ln2 + sum>>(63-logBits)
}

func (r *rendezvous) Set(unit int, c Capacity) error { return set(r, unit, c) }

func (r *rendezvous) Remove(unit int) error { return remove(r, unit) }

// Apply implements Batcher.
func (r *rendezvous) Apply(changes []Change) error {
	next, err := r.apply(changes)
	if err != nil {
		return err
	}
	r.roster = next
	r.keys = make([]uint64, len(next.units))
	for i, u := range next.units {
		r.keys[i] = Mix(Mix(r.seed+(uint64(u)+1)*pi6) + phi64)
	}
	return nil
}

func (r *rendezvous) Clone() Strategy { c := *r; return &c }

func (r *rendezvous) Bytes() int { return r.bytes() + 8*cap(r.keys) }

func (r *rendezvous) AppendState(dst []byte) []byte { return dst }

func (r *rendezvous) DecodeState(state []byte) error { return noState(state) }

// racer is a unit in both of two maps, with its rates.
type racer struct {
	unit     int32
	old, now float64
	ratio    float64 // old/now: where now rho overtakes old; +Inf for a unit that leaves
}

// Moves integrates over rho, the quotient of the winning times there and here.
// With E_i = -ln u_i, a wins here at T = E_a/w_a and b there at T' = E_b/w'_b
// if every other E_i is above max(w_i T, w'_i T'). Integrating T away leaves
//
//	P(a -> b) = w_a w'_b (F(w_a/w'_a) - F(w_b/w'_b)),  F(x) = integral_0^x d rho / S(rho)^2,
//	S(rho) = sum_i max(w_i, rho w'_i),
//
// which is positive for w_a/w'_a > w_b/w'_b. S is linear between the quotients
// w_i/w'_i, where the integral over [p, q] is (q-p)/(S(p) S(q)).
func (r *rendezvous) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	t := to.(*rendezvous)
	if len(r.units) == 0 || len(t.units) == 0 {
		return
	}
	racers := r.racers(t)
	integral := integrate(racers)
	for i := 0; i < len(racers); {
		level := i // racers[:level] have a smaller quotient than racers[i]
		for ; i < len(racers) && racers[i].ratio == racers[level].ratio; i++ {
			a := racers[i]
			if a.old == 0 {
				continue
			}
			for k, b := range racers[:level] {
				if b.now > 0 {
					share := a.old * b.now * (integral[i] - integral[k])
					visit(int(a.unit), int(b.unit), Fraction(share))
				}
			}
		}
	}
}

// racers returns the units of both maps by quotient, rates scaled to sum to 1.
func (r *rendezvous) racers(t *rendezvous) []racer {
	units := slices.Concat(r.units, t.units)
	slices.Sort(units)
	units = slices.Compact(units)
	out := make([]racer, len(units))
	for i, u := range units {
		w, v := r.capacity(int(u)), t.capacity(int(u))
		out[i] = racer{unit: u, old: float64(w) / float64(r.total), now: float64(v) / float64(r.total),
			ratio: math.Inf(1)}
		if v > 0 {
			out[i].ratio = float64(w) / float64(v)
		}
	}
	slices.SortStableFunc(out, func(a, b racer) int {
		switch {
		case a.ratio < b.ratio:
			return -1
		case a.ratio > b.ratio:
			return 1
		}
		return 0
	})
	return out
}

// integrate returns F at the quotient of each racer.
func integrate(racers []racer) []float64 {
	var constant, slope float64 // S = constant + slope rho
	for _, c := range racers {
		constant += c.old
	}
	out := make([]float64, len(racers))
	f, at := 0.0, 0.0
	for i, c := range racers {
		switch {
		case i > 0 && c.ratio == racers[i-1].ratio:
		case math.IsInf(c.ratio, 1):
			f += 1 / (slope * (constant + slope*at))
		default:
			f += (c.ratio - at) / ((constant + slope*at) * (constant + slope*c.ratio))
			at = c.ratio
		}
		out[i] = f
		constant, slope = constant-c.old, slope+c.now
	}
	return out
}
