package placement

import "slices"

// Set implements Strategy. ErrCapacity for a capacity of 0 or above
// MaxCapacity, or a total above MaxTotal; ErrUnit for a number out of range.
func (t *sieveAbs) Set(unit int, capacity Capacity) error {
	if capacity == 0 {
		return ErrCapacity
	}
	return t.Apply([]Change{{Unit: unit, Capacity: capacity}})
}

// Remove implements Strategy.
func (t *sieveAbs) Remove(unit int) error {
	return t.Apply([]Change{{Unit: unit}})
}

// Apply implements Batcher. The optimum is moved if the shares given up or the
// shares gained belong to one unit; a growing unit takes first what others
// released in the same call.
func (t *sieveAbs) Apply(changes []Change) error {
	if err := checkChanges(changes, t.total, t.weight); err != nil {
		return err
	}
	shrunk := false
	for _, c := range changes {
		if w := t.weight(c.Unit); uint64(c.Capacity) < w {
			t.shrink(c.Unit, w-uint64(c.Capacity))
			shrunk = true
		}
	}
	for _, c := range changes {
		if w := t.weight(c.Unit); uint64(c.Capacity) > w {
			t.enter(c.Unit)
			t.units[c.Unit].weight = uint64(c.Capacity)
			t.grow(c.Unit, uint64(c.Capacity)-w)
		}
	}
	t.released = t.released[:0]
	if shrunk {
		t.settle()
	}
	t.last = slices.IndexFunc(t.units, func(u absUnit) bool { return u.weight > 0 })
	return nil
}

// weight returns the capacity of a unit, 0 if it is not there.
func (t *sieveAbs) weight(unit int) uint64 {
	if unit < 0 || unit >= len(t.units) {
		return 0
	}
	return t.units[unit].weight
}

// checkChanges returns the error that a batch deserves, before any of it is
// done: ErrUnit, ErrCapacity, ErrDuplicate.
func checkChanges(changes []Change, total uint64, weight func(int) uint64) error {
	var seen map[int]bool
	if len(changes) > 1 {
		seen = make(map[int]bool, len(changes))
	}
	for _, c := range changes {
		old := weight(c.Unit)
		switch {
		case c.Unit < 0 || c.Unit >= MaxUnits:
			return ErrUnit
		case c.Capacity == 0 && old == 0:
			return ErrUnit
		case c.Capacity > MaxCapacity:
			return ErrCapacity
		case seen[c.Unit]:
			return ErrDuplicate
		}
		if seen != nil {
			seen[c.Unit] = true
		}
		// At most 2^16 units of at most 2^60 could overflow: a batch is
		// refused at the first sum above the limit, in the order given, so
		// what is removed must come first.
		total = total - old + uint64(c.Capacity)
		if total > uint64(MaxTotal) {
			return ErrCapacity
		}
	}
	return nil
}

// enter makes room for a unit.
func (t *sieveAbs) enter(unit int) {
	for len(t.units) <= unit {
		t.units = append(t.units, absUnit{part: -1})
	}
	if t.units[unit].weight == 0 {
		t.n++
	}
}

// shrink takes measure from a unit: its partly filled range first, then its
// ranges from the highest down, so that the upper half of the domain drains.
func (t *sieveAbs) shrink(unit int, measure uint64) {
	u := &t.units[unit]
	u.weight -= measure
	if u.weight == 0 {
		t.n--
	}
	t.total -= measure
	if u.part >= 0 {
		d := min(u.fill, measure)
		u.fill -= d
		measure -= d
		if r := uint32(u.part); u.fill == 0 {
			u.part = -1
			u.ranges = withoutRange(u.ranges, r)
			t.release(r)
		} else {
			t.paint(r, unit, u.fill)
		}
	}
	for measure > 0 {
		r := u.ranges[len(u.ranges)-1]
		w := t.width(r)
		if measure < w {
			u.part, u.fill = int64(r), w-measure
			t.paint(r, unit, u.fill)
			return
		}
		u.ranges = u.ranges[:len(u.ranges)-1]
		t.release(r)
		measure -= w
	}
}

func (t *sieveAbs) release(r uint32) {
	t.table[r] = 0
	t.taken -= t.width(r)
	t.free.add(r)
	t.released = append(t.released, r)
}

// take returns a free range: one released in this Apply, else the lowest.
func (t *sieveAbs) take() uint32 {
	var r uint32
	if k := len(t.released); k > 0 {
		r = t.released[k-1]
		t.released = t.released[:k-1]
		t.free.remove(r)
	} else {
		r = t.free.takeLeast()
	}
	t.taken += t.width(r)
	return r
}

// grow gives measure to a unit: its partly filled range first, then free ones.
// Its weight is already the new one.
func (t *sieveAbs) grow(unit int, measure uint64) {
	u := &t.units[unit]
	if u.part >= 0 {
		r := uint32(u.part)
		d := min(t.width(r)-u.fill, measure)
		u.fill += d
		t.total += d
		measure -= d
		t.paint(r, unit, u.fill)
		if u.fill == t.width(r) {
			u.part, u.fill = -1, 0
		}
	}
	if measure == 0 {
		return
	}
	t.makeRoom(measure)
	t.total += measure
	var got []uint32
	for measure > 0 {
		r := t.take()
		got = append(got, r)
		d := min(t.width(r), measure)
		if d < t.width(r) {
			u.part, u.fill = int64(r), d
		}
		t.paint(r, unit, d)
		measure -= d
	}
	u.ranges = mergeRanges(u.ranges, ascending(got))
}

// paint writes a range's owner and fill, rounded down to a multiple of
// 2^coarse. A full range has the greatest fill that 16 bits hold: in ranges
// narrower than 2^16 it is above every point, in wider ones a point that
// equals it is decided by exactly.
func (t *sieveAbs) paint(r uint32, unit int, fill uint64) {
	c := coarseness(t.segmentOf(r).width)
	t.table[r] = uint32(unit)<<fillBits | uint32(min(fill>>c, fillMax))
}

func coarseness(width uint8) uint8 { return max(width, fillBits) - fillBits }

func (t *sieveAbs) width(r uint32) uint64 { return 1 << t.segmentOf(r).width }

// segmentOf looks from the top, where nearly all ranges are.
func (t *sieveAbs) segmentOf(r uint32) *segment {
	i := len(t.segments) - 1
	for t.segments[i].first > r {
		i--
	}
	return &t.segments[i]
}

// startOf returns the lowest point of a range.
func (t *sieveAbs) startOf(r uint32) uint64 {
	s := t.segmentOf(r)
	return s.start + uint64(r-s.first)<<s.width
}
