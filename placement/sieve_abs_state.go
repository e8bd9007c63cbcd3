package placement

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"
)

// Clone implements Strategy.
func (t *sieveAbs) Clone() Strategy {
	c := *t
	c.table = slices.Clone(t.table)
	c.segments = slices.Clone(t.segments)
	c.free = t.free.clone()
	c.released = nil
	c.units = slices.Clone(t.units)
	for i := range c.units {
		c.units[i].ranges = slices.Clone(c.units[i].ranges)
	}
	return &c
}

// Bytes implements Strategy.
func (t *sieveAbs) Bytes() int {
	n := int(unsafe.Sizeof(*t)) + 4*cap(t.table) + 8*cap(t.free.words) + 4*cap(t.released)
	n += cap(t.segments)*int(unsafe.Sizeof(segment{})) + cap(t.units)*int(unsafe.Sizeof(absUnit{}))
	for i := range t.units {
		n += 4 * cap(t.units[i].ranges)
	}
	return n
}

// AppendState implements Strategy. Nothing is written without units, else:
//
//	K        1 byte     the domain is 2^K
//	segments 1 byte     how many, s
//	widths   s bytes    log2 of their ranges' width, the segment [0,2^(K-s+1)) first
//	owners   see appendOwners
//	parts    uvarint    for each unit in ascending order: 0 if it fills all its
//	                    ranges, else 1 + the place of the one filled partly
func (t *sieveAbs) AppendState(dst []byte) []byte {
	if t.n == 0 {
		return dst
	}
	dst = append(dst, byte(bits.Len64(t.mask)), byte(len(t.segments)))
	for _, s := range t.segments {
		dst = append(dst, s.width)
	}
	owners := make([]int32, len(t.table))
	for i := range owners {
		owners[i] = -1
	}
	for i := range t.units {
		for _, r := range t.units[i].ranges {
			owners[r] = int32(i)
		}
	}
	dst = appendOwners(dst, owners)
	for i := range t.units {
		u := &t.units[i]
		if u.weight == 0 {
			continue
		}
		place := 0
		if u.part >= 0 {
			place, _ = slices.BinarySearch(u.ranges, uint32(u.part))
			place++
		}
		dst = binary.AppendUvarint(dst, uint64(place))
	}
	return dst
}

// appendOwners writes the owners of ranges, -1 for a free one: a bit for each
// range, set where the owner is not that of the range before (-1 before the
// first), lowest bit first, padded to bytes; then for each set bit 1 + the
// owner as a uvarint.
func appendOwners(dst []byte, owners []int32) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, (len(owners)+7)/8)...)
	before := int32(-1)
	for r, o := range owners {
		if o != before {
			dst[at+r/8] |= 1 << (r % 8)
			dst = binary.AppendUvarint(dst, uint64(o+1))
			before = o
		}
	}
	return dst
}

// decodeOwners reads the owners of n ranges and calls own for each that has
// one. It refuses more ranges than b has bits before anything is allocated.
func decodeOwners(b []byte, n uint64, own func(r uint32, unit int) bool) ([]byte, bool) {
	if n > 8*uint64(len(b)) {
		return nil, false
	}
	changes := b[:(n+7)/8]
	b = b[len(changes):]
	owner := uint64(0)
	for r := range n {
		if changes[r/8]>>(r%8)&1 == 1 {
			next, k := binary.Uvarint(b)
			if k <= 0 || next == owner || next > MaxUnits {
				return nil, false
			}
			owner, b = next, b[k:]
		}
		if owner > 0 && !own(uint32(r), int(owner-1)) {
			return nil, false
		}
	}
	return b, true
}

// DecodeState implements Strategy. What it takes is written again to the same
// bytes.
func (t *sieveAbs) DecodeState(state []byte) error {
	if t.n == 0 {
		if len(state) > 0 {
			return ErrCorrupt
		}
		return nil
	}
	b, n, ok := t.decodeSegments(state)
	if !ok || !enough(t.weights(), bits.Len64(t.mask)) {
		return ErrCorrupt
	}
	for i := range t.units {
		u := &t.units[i]
		u.ranges, u.part, u.fill = nil, -1, 0
	}
	b, ok = decodeOwners(b, n, func(r uint32, unit int) bool {
		if t.weight(unit) == 0 {
			return false
		}
		t.units[unit].ranges = append(t.units[unit].ranges, r)
		return true
	})
	if !ok {
		return ErrCorrupt
	}
	for i := range t.units {
		if u := &t.units[i]; u.weight > 0 {
			place, k := binary.Uvarint(b)
			if k <= 0 || place > uint64(len(u.ranges)) || !t.fit(u, int(place)) {
				return ErrCorrupt
			}
			b = b[k:]
		}
	}
	t.total = t.weights()
	t.repaint(int(n))
	if !bytes.Equal(t.AppendState(nil), state) {
		return ErrCorrupt
	}
	return nil
}

func (t *sieveAbs) weights() (sum uint64) {
	for i := range t.units {
		sum += t.units[i].weight
	}
	return sum
}

// decodeSegments reads the layout and returns how many ranges it has.
func (t *sieveAbs) decodeSegments(b []byte) (rest []byte, ranges uint64, ok bool) {
	if len(b) < 2 || b[0] > 63 || b[1] == 0 || int(b[1]) > int(b[0])+1 || len(b) < 2+int(b[1]) {
		return nil, 0, false
	}
	top, count := int(b[0]), int(b[1])
	low := top - count + 1
	t.segments = t.segments[:0]
	for i, width := range b[2 : 2+count] {
		size := max(low, low+i-1) // log2 of the segment
		s := segment{first: uint32(ranges), width: width}
		if i > 0 {
			s.start = 1 << size
		}
		if int(width) > size || size-int(width) > 40 {
			return nil, 0, false
		}
		if ranges += 1 << (size - int(width)); ranges > 8*uint64(len(b)) {
			return nil, 0, false
		}
		t.segments = append(t.segments, s)
	}
	t.relevel(top)
	return b[2+count:], ranges, true
}

// fit fills a unit's ranges with its weight, all of them but the one at place-1.
func (t *sieveAbs) fit(u *absUnit, place int) bool {
	all := uint64(0)
	for _, r := range u.ranges {
		all += t.width(r)
	}
	if place == 0 {
		return all == u.weight
	}
	r := u.ranges[place-1]
	w := t.width(r)
	if all <= u.weight || all-u.weight >= w {
		return false
	}
	u.part, u.fill = int64(r), w-(all-u.weight)
	return true
}

// Moves implements Strategy. A pair is visited once, in ascending order. Cost
// O(ranges + pairs).
func (t *sieveAbs) Moves(to Strategy, visit func(from, to int, share Fraction)) {
	if j := t.join(to); j != nil {
		j.visit(visit)
	}
}

// Moved returns the sum of all Moves in O(ranges).
func (t *sieveAbs) Moved(to Strategy) Fraction {
	if j := t.join(to); j != nil {
		return j.moved()
	}
	return 0
}

// join compares with another table over the larger of the two domains, which
// changes neither: see double.
func (t *sieveAbs) join(to Strategy) *joint {
	o, ok := to.(*sieveAbs)
	if !ok || t.n == 0 || o.n == 0 {
		return nil
	}
	return join(t.side(), o.side(), float64(max(t.domain(), o.domain())))
}

func (t *sieveAbs) side() side {
	s := side{shares: make([]float64, len(t.units))}
	for i := range t.units {
		u := &t.units[i]
		s.shares[i] = float64(u.weight) / float64(t.total)
		for _, r := range u.ranges {
			lo, fill := t.startOf(r), t.width(r)
			if int64(r) == u.part {
				fill = u.fill
			}
			s.spans = append(s.spans, span{lo, lo + fill, int32(i)})
		}
	}
	slices.SortFunc(s.spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	return s
}
