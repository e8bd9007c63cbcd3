package placement

import (
	"math/bits"
	"slices"
)

// domain returns 2^K, 0 for a table without units.
func (t *sieveAbs) domain() uint64 {
	if len(t.segments) == 0 {
		return 0
	}
	return t.mask + 1
}

// makeRoom sees to it that free ranges measure at least what is asked. Ranges
// are split, which frees the unused parts of partly filled ones, as long as
// the domain would hold everything and ranges are wider than 1/8 of it divided
// by the number of units; then the domain is doubled. So it is doubled only if
// more than 7/8 would be in use.
func (t *sieveAbs) makeRoom(measure uint64) {
	if len(t.segments) == 0 {
		t.found(measure)
	}
	for t.domain()-t.taken < measure {
		top := bits.Len64(t.mask)
		finest := max(0, top-3-ceilLog2(t.n))
		widest := uint8(0)
		for _, s := range t.segments {
			widest = max(widest, s.width)
		}
		if int(widest) > finest && t.total+measure <= t.domain() {
			t.split(widest)
		} else {
			t.double()
		}
	}
}

// found starts with the least domain that holds the first unit: one range.
func (t *sieveAbs) found(measure uint64) {
	b := bits.Len64(measure - 1)
	t.segments = append(t.segments[:0], segment{width: uint8(b)})
	t.relevel(b)
	t.table = append(t.table[:0], 0)
	t.free = newRangeSet(1)
	t.free.add(0)
}

// double adds a level with one range a unit, at least. Nothing moves.
func (t *sieveAbs) double() {
	top := bits.Len64(t.mask) // the new level is [2^top, 2^(top+1))
	width := max(0, top-ceilLog2(t.n))
	first := len(t.table)
	t.segments = append(t.segments, segment{
		start: 1 << top, first: uint32(first), width: uint8(width)})
	t.table = append(t.table, make([]uint32, 1<<(top-width))...)
	for r := first; r < len(t.table); r++ {
		t.free.add(uint32(r))
	}
	t.relevel(top + 1)
}

// split halves the ranges of a width. Nothing moves: an interval is the same
// set of points.
func (t *sieveAbs) split(width uint8) {
	old := slices.Clone(t.segments)
	first := uint32(0)
	for i := range t.segments {
		s := &t.segments[i]
		s.first = first
		end := uint32(len(t.table))
		if i+1 < len(old) {
			end = old[i+1].first
		}
		count := end - old[i].first
		if s.width == width {
			s.width--
			count *= 2
		}
		first += count
	}
	for i := range t.units {
		t.units[i].split(old, t.segments)
	}
	t.released = t.released[:0]
	t.relevel(bits.Len64(t.mask))
	t.repaint(int(first))
}

// split renumbers a unit's ranges.
func (u *absUnit) split(old, now []segment) {
	var ranges []uint32
	part, i := int64(-1), 0
	for _, r := range u.ranges {
		for i+1 < len(old) && old[i+1].first <= r {
			i++
		}
		to := now[i].first + (r - old[i].first)
		whole := old[i].width == now[i].width
		if !whole {
			to += r - old[i].first
		}
		half := uint64(1) << now[i].width
		switch {
		case whole:
			ranges = append(ranges, to)
			if int64(r) == u.part {
				part = int64(to)
			}
		case int64(r) != u.part:
			ranges = append(ranges, to, to+1)
		case u.fill <= half:
			ranges = append(ranges, to)
			if u.fill < half {
				part = int64(to)
			} else {
				u.fill = 0
			}
		default:
			ranges = append(ranges, to, to+1)
			part = int64(to + 1)
			u.fill -= half
		}
	}
	u.ranges, u.part = ranges, part
}

// repaint makes table, free and taken of n ranges from the units.
func (t *sieveAbs) repaint(n int) {
	t.table = make([]uint32, n)
	t.free = newRangeSet(n)
	for r := range n {
		t.free.add(uint32(r))
	}
	t.taken = 0
	for i := range t.units {
		u := &t.units[i]
		for _, r := range u.ranges {
			fill := t.width(r)
			t.taken += fill
			if int64(r) == u.part {
				fill = u.fill
			}
			t.paint(r, i, fill)
			t.free.remove(r)
		}
	}
}

// relevel makes the levels of a domain 2^top from the segments.
func (t *sieveAbs) relevel(top int) {
	t.mask = 1<<top - 1
	low := t.segments[0]
	for j := range t.levels {
		t.levels[j] = level{width: low.width, coarse: coarseness(low.width)}
	}
	for _, s := range t.segments[1:] {
		t.levels[bits.Len64(s.start)] = level{
			offset: int64(s.first) - int64(s.start>>s.width),
			width:  s.width, coarse: coarseness(s.width)}
	}
}

// settle brings the domain to its size after a unit shrank: the least that holds
// every point in use, or less if the halving rule asks for it.
func (t *sieveAbs) settle() {
	if t.n == 0 {
		*t = sieveAbs{}
		return
	}
	end := uint64(0)
	for i := range t.units {
		u := &t.units[i]
		if len(u.ranges) == 0 {
			continue
		}
		r := u.ranges[len(u.ranges)-1]
		used := t.width(r)
		if int64(r) == u.part {
			used = u.fill
		}
		end = max(end, t.startOf(r)+used)
	}
	top := bits.Len64(end - 1)
	for !enough(t.total, top) {
		top--
	}
	if top < bits.Len64(t.mask) {
		t.cut(top)
	}
}

// enough says whether 3/8 of the domain 2^top are in use, the halving rule.
func enough(total uint64, top int) bool {
	if top < 3 {
		return total<<3 >= 3<<top
	}
	return total >= 3<<(top-3)
}

// cut makes the domain [0, 2^top) and places what was above it below.
func (t *sieveAbs) cut(top int) {
	limit := uint64(1) << top
	above := make([]uint64, len(t.units))
	for i := range t.units {
		above[i] = t.cutUnit(i, limit)
	}
	low := &t.segments[0]
	n := uint32(0)
	if i := slices.IndexFunc(t.segments, func(s segment) bool { return s.start >= limit }); i > 0 {
		n = t.segments[i].first
		t.segments = t.segments[:i]
	} else {
		n = uint32(len(t.table))
	}
	if len(t.segments) == 1 {
		low.width = min(low.width, uint8(top))
		n = 1 << (uint8(top) - low.width)
	}
	t.relevel(top)
	t.repaint(int(n))
	for i, measure := range above {
		if measure > 0 {
			t.grow(i, measure)
		}
	}
}

// cutUnit takes from a unit what lies at limit and above, and returns how much
// that is. Of a range wider than the domain to come, the lowest, the part
// below stays.
func (t *sieveAbs) cutUnit(unit int, limit uint64) (above uint64) {
	u := &t.units[unit]
	for k := len(u.ranges) - 1; k >= 0; k-- {
		r := u.ranges[k]
		start, width := t.startOf(r), t.width(r)
		if start+width <= limit {
			break
		}
		used := width
		if int64(r) == u.part {
			used = u.fill
			u.part, u.fill = -1, 0
		}
		if start < limit {
			if kept := min(used, limit); kept < limit {
				u.part, u.fill = int64(r), kept
			} else {
				above += used - kept
			}
			break
		}
		above += used
		u.ranges = u.ranges[:k]
	}
	t.total -= above
	return above
}

// withoutRange deletes r from an ascending list.
func withoutRange(list []uint32, r uint32) []uint32 {
	i, _ := slices.BinarySearch(list, r)
	return slices.Delete(list, i, i+1)
}

func ascending(list []uint32) []uint32 {
	slices.Sort(list)
	return list
}
