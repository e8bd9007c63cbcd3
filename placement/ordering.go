package placement

import (
	"encoding/binary"
	"slices"
)

// ordering is the numbering of equal units from 1 to n by which cutpaste and
// jump place: order[i] has number i+1. A new unit gets the next number; when
// a unit leaves, the last one takes over its number. The numbering is history
// and therefore their state. It is never changed in place.
type ordering struct {
	roster
	order []int32
}

// apply returns the ordering after changes, in their order.
func (o *ordering) apply(changes []Change) (ordering, error) {
	r, err := o.applyEqual(changes)
	if err != nil {
		return ordering{}, err
	}
	next := ordering{roster: r, order: slices.Clone(o.order)}
	for _, c := range changes {
		_, known := o.find(c.Unit)
		switch {
		case c.Capacity == 0:
			at, last := slices.Index(next.order, int32(c.Unit)), len(next.order)-1
			next.order[at] = next.order[last]
			next.order = next.order[:last]
		case !known:
			next.order = append(next.order, int32(c.Unit))
		}
	}
	return next, nil
}

func (o *ordering) bytes() int { return o.roster.bytes() + 4*cap(o.order) }

// AppendState appends the units by number, or nothing if they ascend.
func (o *ordering) AppendState(dst []byte) []byte {
	if slices.Equal(o.order, o.units) {
		return dst
	}
	for _, u := range o.order {
		dst = binary.AppendUvarint(dst, uint64(u))
	}
	return dst
}

// decodeOrder returns the numbering that AppendState wrote for these units.
func (o *ordering) decodeOrder(state []byte) ([]int32, error) {
	if len(state) == 0 {
		return slices.Clone(o.units), nil
	}
	order := make([]int32, 0, len(o.units))
	for len(state) > 0 {
		u, n := binary.Uvarint(state)
		if n <= 0 || u >= MaxUnits || len(order) == len(o.units) {
			return nil, ErrCorrupt
		}
		order, state = append(order, int32(u)), state[n:]
	}
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, o.units) {
		return nil, ErrCorrupt
	}
	return order, nil
}

// moves visits what moves between two orderings in which a unit that joins takes
// its part of all objects, and nothing else moves: what is at a number of the smaller system stays there with
// probability small/large, and is at each further number of the larger one
// with probability 1/large, wherever it came from.
func (o *ordering) moves(to *ordering, visit func(from, to int, share Fraction)) {
	a, b := o.order, to.order
	if len(a) == 0 || len(b) == 0 || slices.Equal(a, b) {
		return
	}
	small, large, back := a, b, false
	if len(a) > len(b) {
		small, large, back = b, a, true
	}
	s, l := len(small), len(large)
	put := func(i, k int, share Fraction) {
		from, to := small[i], large[k]
		if back {
			from, to = to, from
		}
		if from != to {
			visit(int(from), int(to), share)
		}
	}
	for i := range small {
		put(i, i, Fraction(1/float64(l)))
		for k := s; k < l; k++ {
			put(i, k, Fraction(1/float64(s)/float64(l)))
		}
	}
}
