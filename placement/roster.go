package placement

import "slices"

// roster is the units of a strategy, ascending by number, with capacities.
// It is never changed in place: apply returns a new one, so that a change
// that fails leaves all as it was, and copies may share the slices.
type roster struct {
	units []int32
	caps  []Capacity
	total Capacity
}

// find returns the place of a unit, and whether it is there.
func (r *roster) find(unit int) (int, bool) {
	return slices.BinarySearch(r.units, int32(unit))
}

func (r *roster) bytes() int { return 4*cap(r.units) + 8*cap(r.caps) }

// capacity returns a unit's capacity, 0 for one that is not there.
func (r *roster) capacity(unit int) Capacity {
	if i, ok := r.find(unit); ok {
		return r.caps[i]
	}
	return 0
}

// apply returns the roster after changes: ErrUnit for removing an unknown unit
// and for a number that no unit can have, ErrDuplicate, ErrCapacity.
func (r *roster) apply(changes []Change) (roster, error) {
	sorted := slices.SortedStableFunc(slices.Values(changes), func(a, b Change) int { return a.Unit - b.Unit })
	out := roster{
		units: make([]int32, 0, len(r.units)+len(changes)),
		caps:  make([]Capacity, 0, len(r.units)+len(changes)),
	}
	i := 0
	for at, c := range sorted {
		if c.Unit < 0 || c.Unit >= MaxUnits {
			return roster{}, ErrUnit
		}
		if at > 0 && sorted[at-1].Unit == c.Unit {
			return roster{}, ErrDuplicate
		}
		for ; i < len(r.units) && int(r.units[i]) < c.Unit; i++ {
			out.push(r.units[i], r.caps[i])
		}
		known := i < len(r.units) && int(r.units[i]) == c.Unit
		if known {
			i++
		}
		switch {
		case c.Capacity == 0 && !known:
			return roster{}, ErrUnit
		case c.Capacity > MaxCapacity || out.total+c.Capacity > MaxTotal:
			return roster{}, ErrCapacity
		case c.Capacity > 0:
			out.push(int32(c.Unit), c.Capacity)
		}
	}
	for ; i < len(r.units); i++ {
		out.push(r.units[i], r.caps[i])
	}
	if out.total > MaxTotal {
		return roster{}, ErrCapacity
	}
	return out, nil
}

// push appends a unit. The total cannot wrap: it was below 2^62 in both of
// the rosters that are merged.
func (r *roster) push(unit int32, c Capacity) {
	r.units = append(r.units, unit)
	r.caps = append(r.caps, c)
	r.total += c
}

// applyEqual is apply for strategies whose units must be equal: ErrUniform.
func (r *roster) applyEqual(changes []Change) (roster, error) {
	out, err := r.apply(changes)
	if err != nil {
		return out, err
	}
	for _, c := range out.caps {
		if c != out.caps[0] {
			return roster{}, ErrUniform
		}
	}
	return out, nil
}

// set is a Strategy's Set by its Apply. Capacity 0 is an error here, while in
// a Change it removes.
func set(b Batcher, unit int, c Capacity) error {
	if c == 0 {
		return ErrCapacity
	}
	return b.Apply([]Change{{Unit: unit, Capacity: c}})
}

// remove is a Strategy's Remove by its Apply.
func remove(b Batcher, unit int) error { return b.Apply([]Change{{Unit: unit}}) }
