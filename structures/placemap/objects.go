package placemap

import (
	"slices"

	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/structures"
)

// Assign assigns objects of these hashes, all or none, and appends their slots to
// dst. It returns how many were not assigned before, and the errors of
// placement.Map.Assign.
func (v *Map) Assign(ch *structures.Change, hashes []uint64, dst []int) (slots []int, added int, err error) {
	if err := ch.Permit(opAssign); err != nil {
		return dst, 0, err
	}
	var missing []uint64
	for _, hash := range hashes {
		if !v.state.Map.IsAssigned(hash) {
			missing = append(missing, hash)
		}
	}
	slices.Sort(missing)
	if err := v.state.Map.MayAssign(len(slices.Compact(missing))); err != nil {
		return dst, 0, err
	}
	m := v.ours()
	var fresh []uint64
	for _, hash := range hashes {
		slot, isNew, err := m.Assign(hash)
		if err != nil {
			return dst, 0, err // not reached: it was asked for all
		}
		if isNew {
			fresh = append(fresh, hash)
		}
		dst = append(dst, slot)
	}
	v.changed(m, ch, opAssign, fresh)
	return dst, len(fresh), nil
}

// Release ends assignments, and returns how many there were. placement.ErrBound for
// a map without a bound.
func (v *Map) Release(ch *structures.Change, hashes []uint64) (int, error) {
	if err := ch.Permit(opRelease); err != nil {
		return 0, err
	}
	if v.state.Map.Options().Bound == 0 {
		return 0, placement.ErrBound
	}
	m := v.state.Map
	var gone []uint64
	for _, hash := range hashes {
		if m.IsAssigned(hash) {
			if len(gone) == 0 {
				m = v.ours()
			}
			m.Release(hash)
			gone = append(gone, hash)
		}
	}
	v.changed(m, ch, opRelease, gone)
	return len(gone), nil
}

// ours is the map, for a change that leaves its units as they are: a copy of one
// that is lent.
func (v *Map) ours() *placement.Map {
	if v.lent {
		v.state, v.lent = newState(v.state.Map.Clone(), v.state.Domains), false
	}
	return v.state.Map
}

// changed records the objects of a change, if there are any.
func (v *Map) changed(m *placement.Map, ch *structures.Change, op byte, hashes []uint64) {
	if len(hashes) == 0 {
		return
	}
	v.version++
	v.table = m.Bytes()
	ch.Op(op, len(hashes))
	for _, hash := range hashes {
		ch.Uint(hash)
	}
}

// applyObjects replays a change of objects.
func (v *Map) applyObjects(op byte, args *structures.Args) error {
	var hashes []uint64
	for args.Left() > 0 {
		if hashes = append(hashes, args.Uint()); len(hashes) > placement.MaxObjects {
			return structures.ErrCorrupt
		}
	}
	return applied(args, func() error {
		n, err := 0, error(nil)
		if op == opAssign {
			_, n, err = v.Assign(nil, hashes, nil)
		} else {
			n, err = v.Release(nil, hashes)
		}
		if err == nil && n != len(hashes) {
			err = placement.ErrCorrupt
		}
		return err
	})
}

// Form is 1 for a map with a strategy or with options that versions before could
// not have.
func (v *Map) Form() byte {
	o := v.state.Map.Options()
	if spec, _ := placement.Lookup(o.Strategy); spec.Number > lastOfFirstForm || o.Spread > 0 || o.Scatter > 0 || o.Bound > 0 {
		return 1
	}
	return 0
}

// lastOfFirstForm is the last strategy that all versions know.
const lastOfFirstForm = 11
