package placement

import (
	"cmp"
	"math/big"
	"math/bits"
	"slices"
)

// sieve is the strategy SIEVE of Brinkmann, Salzwedel and Scheideler (Compact,
// adaptive placement schemes for non-uniform capacities, SPAA 2002).
//
// Model. [0,1) is cut into n' ranges of equal size. A range has at most one
// owner, an owner's interval starts at the range's lower end, and a unit fills
// at most one of its ranges partly. The intervals of unit i measure
// (1 - 2^-q) c'_i; the lecture has q = 1, half of everything. An object draws
// points until one lies in an interval, whose owner has it; what L draws do
// not place goes to the fall-back unit f.
//
// Lemma 8.7. n' = 2^(ceil(log2 n) + q) ranges suffice: partly filled are at
// most n <= n' 2^-q, full at most n' (1 - 2^-q). The notes say that n ranges
// remain for the full ones; it must read n'/2.
//
// Theorem 8.8. A draw hits with probability 1 - 2^-q, so a lookup takes
// 1/(1 - 2^-q) draws and O(1) time.
//
// Theorem 8.9. With e = 2^(-q L) the adjusted shares are c'_i = c_i/(1-e) and
// c'_f = (c_f - e)/(1-e); they add to 1, and every unit's share is c_i exactly.
// Here intervals are multiples of 2^-109 of a range, rounded down. (Notes: the
// measure is c'_i/2 where d_i/2 is printed.)
//
// Lemma 8.10. On a change of capacities units first shrink, then grow. Ratio 2:
// a point given up and a point taken each move the objects that hit it.
//
// Theorem 8.11. n' grows by halving ranges, which moves nothing. The largest
// unit becomes fall-back unit when it has twice the share of the present one;
// adjusted shares then change by 2/(2^L-1) in all (the second term printed has
// c_1 for c_2). L grows by 1 while c_f < 2^-(L-t), with t = 8: adjusted shares
// change by (1-c_f) 2^(L+1)/((2^L-1)(2^(L+1)-1)). Both are about 2^-t of the
// changes that made them needed: ratio 2 + 2^-t or so. Measured over random
// joins and leaves of 20 units: 1.31 with q = 3, 1.67 with q = 1.
//
// Two ways to set it up. Levels = 0, our own: q = 3 and L = 64. Then e = 2^-192
// is nothing, shares need no adjusting, and neither role nor L ever changes;
// lookups take 8/7 draws instead of 2. Levels >= 1, the lecture's: q = 1, and
// L starts at Levels and grows as above.
//
// Cost. A change recomputes every unit's interval: O(n), or O(n') when ranges
// are halved. Memory is 8 bytes a range for lookups, n' < 2^(q+1) n, plus 4 a
// range in lists of owners. n' does not shrink before the last unit leaves.
//
// Left open by the notes: n' shrinking, and what is done when the fall-back
// unit leaves. Here the largest unit follows, the least number first.
type sieve struct {
	table  []uint64 // by range: fill << 16 | owner
	log    uint8    // log2 n'
	q      uint8
	levels int // Options.Levels; 0: shares are not adjusted

	rounds   int // L
	fallback int
	roster   roster
	held     []holding // by unit number
	free     rangeSet
	released []uint32 // given up during this Apply, taken again first
}

// holding is what a unit has: all of its ranges are full but part.
type holding struct {
	amount amount
	part   int64 // -1 if none
	ranges []uint32
}

// amount is a measure in ranges: whole + fill 2^-45 + rest 2^-109.
type amount struct {
	whole, fill, rest uint64
}

const (
	sieveFill   = 45 // bits of fill: with the 19 of a range's number, 64
	sieveFull   = 1 << sieveFill
	sieveOwner  = 1<<16 - 1
	sieveSlack  = 8                  // t
	sieveRounds = 64                 // L of our own
	sieveDraw   = 0x801F2E2858EFC167 // odd numbers of the streams
	sieveRest   = 0xBA7C9045F12C7F99
)

// specSieve is the row of SIEVE.
func specSieve() Spec {
	return Spec{Name: "sieve", Number: 6, Weighted: true, MaxUnits: MaxUnits,
		Summary: "SIEVE: exact shares, fast, moves up to twice the optimum.", New: newSieve}
}

func newSieve(o Options) Strategy {
	s := &sieve{q: 3, rounds: sieveRounds, levels: o.Levels}
	if o.Levels > 0 {
		s.q, s.rounds = 1, o.Levels
	}
	return s
}

// Locate implements Strategy.
func (s *sieve) Locate(hash uint64) int {
	if len(s.table) == 0 {
		return -1
	}
	for i := range uint64(s.rounds) {
		x := draw(hash + (i+1)*sieveDraw)
		r := x >> ((64 - s.log) & 63)
		e := s.table[r]
		f := x << (s.log & 63) >> (64 - sieveFill)
		if f < e>>16 {
			return int(e & sieveOwner)
		}
		if f == e>>16 && s.exactly(hash, i+1, r) {
			return int(e & sieveOwner)
		}
	}
	return s.fallback
}

// exactly decides a draw whose 45 bits equal the fill, by 64 bits more.
func (s *sieve) exactly(hash, round, r uint64) bool {
	u := int(s.table[r] & sieveOwner)
	return u < len(s.held) && s.held[u].part == int64(r) &&
		draw(hash+round*sieveRest) < s.held[u].amount.rest
}

// Set implements Strategy.
func (s *sieve) Set(unit int, capacity Capacity) error { return set(s, unit, capacity) }

// Remove implements Strategy.
func (s *sieve) Remove(unit int) error { return remove(s, unit) }

// Apply implements Batcher: all changes are one change of distribution.
func (s *sieve) Apply(changes []Change) error {
	next, err := s.roster.apply(changes)
	if err != nil {
		return err
	}
	if len(next.units) == 0 {
		*s = *newSieve(Options{Levels: s.levels}).(*sieve)
		return nil
	}
	s.setRoster(next)
	s.appoint()
	for int(s.log) < ceilLog2(len(next.units))+int(s.q) || len(s.table) == 0 {
		s.split()
	}
	goal := s.amounts()
	s.shrinkAll(goal)
	for i, u := range s.roster.units {
		if s.held[u].amount.less(goal[i]) {
			s.grow(int(u), goal[i])
		}
	}
	s.released = s.released[:0]
	return nil
}

func (s *sieve) setRoster(next roster) {
	s.roster = next
	for last := int(next.units[len(next.units)-1]); len(s.held) <= last; {
		s.held = append(s.held, holding{part: -1})
	}
}

// appoint chooses the fall-back unit and, in the lecture's way, the number of
// rounds.
func (s *sieve) appoint() {
	largest := 0
	for i, c := range s.roster.caps {
		if c > s.roster.caps[largest] {
			largest = i
		}
	}
	c := s.roster.capacity(s.fallback)
	if s.roster.caps[largest] >= 2*c { // also if it left: 0
		s.fallback = int(s.roster.units[largest])
		c = s.roster.caps[largest]
	}
	for s.levels > 0 && !enoughRounds(s.rounds, c, s.roster.total) {
		s.rounds++
	}
}

// enoughRounds says whether c/total >= 2^-(L-t).
func enoughRounds(rounds int, c, total Capacity) bool {
	if rounds < sieveSlack {
		return false
	}
	hi, lo := bits.Mul64(uint64(c), 1<<(rounds-sieveSlack))
	return hi > 0 || lo >= uint64(total)
}

// amounts returns how much each unit of the roster is to have, in ranges.
func (s *sieve) amounts() []amount {
	full := uint64(1)<<s.log - 1<<(s.log-s.q)
	out := make([]amount, len(s.roster.units))
	if s.levels == 0 {
		total := uint64(s.roster.total)
		for i, c := range s.roster.caps {
			hi, lo := bits.Mul64(full, uint64(c))
			whole, rem := bits.Div64(hi, lo, total)
			fill, rem := bits.Div64(rem>>(64-sieveFill), rem<<sieveFill, total)
			rest, _ := bits.Div64(rem, 0, total)
			out[i] = amount{whole, fill, rest}
		}
		return out
	}
	for i, c := range s.roster.caps {
		out[i] = s.adjusted(full, c, int(s.roster.units[i]) == s.fallback)
	}
	return out
}

// adjusted returns full c'_i with e = 2^-L: for f full (2^L w_i - W)/(W (2^L-1)),
// for the others full 2^L w_i/(W (2^L-1)).
func (s *sieve) adjusted(full uint64, c Capacity, fallback bool) amount {
	n := new(big.Int).SetUint64(uint64(c))
	n.Lsh(n, uint(s.rounds))
	total := new(big.Int).SetUint64(uint64(s.roster.total))
	if fallback {
		n.Sub(n, total)
	}
	n.Mul(n, new(big.Int).SetUint64(full))
	d := new(big.Int).Lsh(big.NewInt(1), uint(s.rounds))
	d.Mul(d.Sub(d, big.NewInt(1)), total)
	whole, rem := new(big.Int).QuoRem(n, d, new(big.Int))
	fill, rem := new(big.Int).QuoRem(rem.Lsh(rem, sieveFill), d, new(big.Int))
	rest := n.Quo(rem.Lsh(rem, 64), d)
	return amount{whole.Uint64(), fill.Uint64(), rest.Uint64()}
}

func (a amount) partial() bool { return a.fill > 0 || a.rest > 0 }

func (a amount) less(b amount) bool {
	return cmp.Or(cmp.Compare(a.whole, b.whole), cmp.Compare(a.fill, b.fill),
		cmp.Compare(a.rest, b.rest)) < 0
}

// shrinkAll shrinks the units that are to have less than they have; goal is by
// place in the roster, others get nothing.
func (s *sieve) shrinkAll(goal []amount) {
	i := 0
	for u := range s.held {
		var a amount
		if i < len(goal) && int(s.roster.units[i]) == u {
			a = goal[i]
			i++
		}
		if a.less(s.held[u].amount) {
			s.shrink(u, a)
		}
	}
}

// shrink takes from the range filled partly, then whole ranges from the
// highest down; the last of them becomes the one filled partly.
func (s *sieve) shrink(unit int, a amount) {
	h := &s.held[unit]
	if h.part >= 0 && (a.whole < h.amount.whole || !a.partial()) {
		r := uint32(h.part)
		h.ranges = withoutRange(h.ranges, r)
		h.part = -1
		s.release(r)
	}
	want := a.whole
	if a.partial() {
		want++
	}
	for uint64(len(h.ranges)) > want {
		r := h.ranges[len(h.ranges)-1]
		h.ranges = h.ranges[:len(h.ranges)-1]
		s.release(r)
	}
	if a.partial() && h.part < 0 {
		h.part = int64(h.ranges[len(h.ranges)-1])
	}
	h.amount = a
	if h.part >= 0 {
		s.table[h.part] = a.fill<<16 | uint64(unit)
	}
}

func (s *sieve) release(r uint32) {
	s.table[r] = 0
	s.free.add(r)
	s.released = append(s.released, r)
}

// grow fills the range filled partly, then free ones. There are enough: Lemma
// 8.7.
func (s *sieve) grow(unit int, a amount) {
	h := &s.held[unit]
	if h.part >= 0 && a.whole > h.amount.whole {
		s.table[h.part] = sieveFull<<16 | uint64(unit)
		h.part = -1
	}
	want := int(a.whole)
	if a.partial() {
		want++
	}
	var got []uint32
	for len(h.ranges)+len(got) < want {
		r := s.take()
		s.table[r] = sieveFull<<16 | uint64(unit)
		got = append(got, r)
	}
	if a.partial() {
		if h.part < 0 {
			h.part = int64(got[len(got)-1])
		}
		s.table[h.part] = a.fill<<16 | uint64(unit)
	}
	h.ranges = mergeRanges(h.ranges, ascending(got))
	h.amount = a
}

// take returns a free range: one released in this Apply, else the lowest.
func (s *sieve) take() uint32 {
	if k := len(s.released); k > 0 {
		r := s.released[k-1]
		s.released = s.released[:k-1]
		s.free.remove(r)
		return r
	}
	return s.free.takeLeast()
}

// split halves all ranges, or makes the first ones.
func (s *sieve) split() {
	if len(s.table) == 0 {
		s.log = uint8(ceilLog2(len(s.roster.units))) + s.q
	} else {
		s.log++
	}
	for u := range s.held {
		s.held[u].split()
	}
	s.repaint()
}

// split counts in ranges of half the size.
func (h *holding) split() {
	carry := uint64(0)
	ranges := make([]uint32, 0, 2*len(h.ranges))
	part := int64(-1)
	twice := amount{rest: h.amount.rest << 1, fill: h.amount.fill<<1 | h.amount.rest>>63}
	if twice.fill >= sieveFull {
		twice.fill -= sieveFull
		carry = 1
	}
	twice.whole = 2*h.amount.whole + carry
	for _, r := range h.ranges {
		if int64(r) != h.part {
			ranges = append(ranges, 2*r, 2*r+1)
			continue
		}
		ranges = append(ranges, 2*r)
		if carry == 1 && twice.partial() {
			ranges = append(ranges, 2*r+1)
		}
		if twice.partial() {
			part = int64(2*r) + int64(carry)
		}
	}
	h.amount, h.part, h.ranges = twice, part, ranges
}

// repaint makes table and free from the units.
func (s *sieve) repaint() {
	n := 1 << s.log
	s.table = make([]uint64, n)
	s.free = newRangeSet(n)
	for r := range n {
		s.free.add(uint32(r))
	}
	for u := range s.held {
		h := &s.held[u]
		for _, r := range h.ranges {
			s.table[r] = sieveFull<<16 | uint64(u)
			if int64(r) == h.part {
				s.table[r] = h.amount.fill<<16 | uint64(u)
			}
			s.free.remove(r)
		}
	}
	s.released = slices.Clip(s.released[:0])
}
