package placement

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"unsafe"
)

// Clone implements Strategy.
func (s *sieve) Clone() Strategy {
	c := *s
	c.table = slices.Clone(s.table)
	c.free = s.free.clone()
	c.released = nil
	c.held = slices.Clone(s.held)
	for i := range c.held {
		c.held[i].ranges = slices.Clone(c.held[i].ranges)
	}
	return &c // the roster is never changed in place
}

// Bytes implements Strategy.
func (s *sieve) Bytes() int {
	n := int(unsafe.Sizeof(*s)) + 8*cap(s.table) + 8*cap(s.free.words) + 4*cap(s.released)
	n += s.roster.bytes() + cap(s.held)*int(unsafe.Sizeof(holding{}))
	for i := range s.held {
		n += 4 * cap(s.held[i].ranges)
	}
	return n
}

// AppendState implements Strategy. Nothing is written without units, else:
//
//	log2 n'   1 byte
//	L         1 byte
//	fall-back uvarint   the unit
//	owners    see appendOwners
//	parts     uvarint   for each unit in ascending order that fills a range
//	                    partly: the place of that range among its ranges
func (s *sieve) AppendState(dst []byte) []byte {
	if len(s.table) == 0 {
		return dst
	}
	dst = append(dst, s.log, byte(s.rounds))
	dst = binary.AppendUvarint(dst, uint64(s.fallback))
	owners := make([]int32, len(s.table))
	for i := range owners {
		owners[i] = -1
	}
	for u := range s.held {
		for _, r := range s.held[u].ranges {
			owners[r] = int32(u)
		}
	}
	dst = appendOwners(dst, owners)
	for u := range s.held {
		if h := &s.held[u]; h.part >= 0 {
			place, _ := slices.BinarySearch(h.ranges, uint32(h.part))
			dst = binary.AppendUvarint(dst, uint64(place))
		}
	}
	return dst
}

// DecodeState implements Strategy. What it takes is written again to the same
// bytes.
func (s *sieve) DecodeState(state []byte) error {
	if len(s.table) == 0 {
		if len(state) > 0 {
			return ErrCorrupt
		}
		return nil
	}
	b, ok := s.decodeHead(state)
	if !ok {
		return ErrCorrupt
	}
	for u := range s.held {
		s.held[u] = holding{part: -1}
	}
	b, ok = decodeOwners(b, 1<<s.log, func(r uint32, unit int) bool {
		if s.roster.capacity(unit) == 0 {
			return false
		}
		s.held[unit].ranges = append(s.held[unit].ranges, r)
		return true
	})
	if !ok {
		return ErrCorrupt
	}
	for i, a := range s.amounts() {
		h := &s.held[s.roster.units[i]]
		h.amount = a
		want := a.whole
		if a.partial() {
			want++
		}
		if uint64(len(h.ranges)) != want {
			return ErrCorrupt
		}
		if a.partial() {
			place, k := binary.Uvarint(b)
			if k <= 0 || place >= want {
				return ErrCorrupt
			}
			b = b[k:]
			h.part = int64(h.ranges[place])
		}
	}
	s.repaint()
	if !bytes.Equal(s.AppendState(nil), state) {
		return ErrCorrupt
	}
	return nil
}

// decodeHead reads what is before the owners. The number of ranges can be that
// of more units than there are, but not that of more than there can be.
func (s *sieve) decodeHead(b []byte) (rest []byte, ok bool) {
	if len(b) < 3 {
		return nil, false
	}
	log, rounds := b[0], int(b[1])
	fallback, k := binary.Uvarint(b[2:])
	if k <= 0 || fallback >= MaxUnits {
		return nil, false
	}
	c := s.roster.capacity(int(fallback))
	largest := slices.Max(s.roster.caps)
	if int(log) < ceilLog2(len(s.roster.units))+int(s.q) || log > 16+s.q || c == 0 || largest >= 2*c {
		return nil, false
	}
	b = b[2+k:]
	if s.levels == 0 {
		ok = rounds == sieveRounds
	} else {
		ok = rounds >= s.levels && rounds <= sieveRounds && enoughRounds(rounds, c, s.roster.total)
	}
	if !ok || 1<<log > 8*len(b) {
		return nil, false
	}
	s.log, s.rounds, s.fallback = log, rounds, int(fallback)
	return b, true
}

// sievePoints is the number of points that ranges are cut into for comparing
// two tables: intervals are rounded down to multiples of 2^-62.
const sievePoints = 62

// Moves implements Strategy. A pair is visited once, in ascending order. Cost
// O(n' + pairs): a change of one capacity moves objects between most pairs.
func (s *sieve) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	if j := s.join(to); j != nil {
		j.visit(visit)
	}
}

// Moved returns the sum of all Moves in O(n').
func (s *sieve) Moved(to Strategy) Fraction {
	if j := s.join(to); j != nil {
		return j.moved()
	}
	return 0
}

func (s *sieve) join(to Strategy) *joint {
	o, ok := to.(*sieve)
	if !ok || len(s.table) == 0 || len(o.table) == 0 {
		return nil
	}
	return join(s.side(), o.side(), 1<<sievePoints)
}

func (s *sieve) side() side {
	d := side{shares: make([]float64, len(s.held)), rounds: s.rounds, fallback: s.fallback}
	d.miss = 1 / float64(uint64(1)<<s.q)
	full := float64(uint64(1)<<s.log) * (1 - d.miss)
	width := sievePoints - int(s.log) // at least 43
	for u := range s.held {
		h := &s.held[u]
		d.shares[u] = h.amount.float() / full
		for _, r := range h.ranges {
			lo, points := uint64(r)<<width, uint64(1)<<width
			if int64(r) == h.part {
				points = h.amount.points(width)
			}
			if points > 0 {
				d.spans = append(d.spans, span{lo, lo + points, int32(u)})
			}
		}
	}
	slices.SortFunc(d.spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	return d
}

// float returns an amount in ranges.
func (a amount) float() float64 {
	return float64(a.whole) + (float64(a.fill)+float64(a.rest)/(1<<63)/2)/sieveFull
}

// points returns the part of an amount below one range in points, 2^width to a
// range.
func (a amount) points(width int) uint64 {
	if width <= sieveFill {
		return a.fill >> (sieveFill - width)
	}
	return a.fill<<(width-sieveFill) | a.rest>>(64-(width-sieveFill))
}
