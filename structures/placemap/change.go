package placemap

import (
	"fmt"
	"math"

	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/structures"
)

// Operations of a map. These numbers are on disk and never change.
const (
	opSet    = 16 // for each unit: name, capacity (the bits of its float64), domain ("": as it is)
	opRemove = 17 // names

	opAssign  = 18 // hashes of objects, none of them assigned
	opRelease = 19 // hashes of objects, all of them assigned
)

// Set adds units and changes those that are there, all or nothing, and returns
// how many are new. It returns the errors of placement.Map.Set.
func (v *Map) Set(ch *structures.Change, units []placement.Unit) (added int, err error) {
	before := v.state.Map.Len()
	if err := v.set(units); err != nil {
		return 0, err
	}
	ch.Op(opSet, 3*len(units))
	for _, u := range units {
		ch.String(u.Name)
		ch.Uint(math.Float64bits(u.Capacity))
		ch.String(u.Domain)
	}
	return v.state.Map.Len() - before, nil
}

func (v *Map) set(units []placement.Unit) error {
	return v.change(func(m *placement.Map) error { return m.Set(units...) })
}

// Remove removes units, all or none. It returns the errors of
// placement.Map.Remove.
func (v *Map) Remove(ch *structures.Change, names []string) error {
	if err := v.remove(names); err != nil {
		return err
	}
	ch.Op(opRemove, len(names))
	for _, name := range names {
		ch.String(name)
	}
	return nil
}

func (v *Map) remove(names []string) error {
	return v.change(func(m *placement.Map) error { return m.Remove(names...) })
}

// change makes a change that leaves a map as it was if it fails.
func (v *Map) change(f func(*placement.Map) error) error {
	m := v.state.Map
	if v.lent {
		m = m.Clone()
	}
	if err := f(m); err != nil {
		return err
	}
	v.adopt(m)
	return nil
}

// Apply replays a recorded operation. The error wraps structures.ErrCorrupt or
// structures.ErrUnknownChange; the map is unchanged then.
func (v *Map) Apply(op byte, args *structures.Args) error {
	err := structures.ErrUnknownChange
	switch op {
	case opSet:
		err = v.applySet(args)
	case opRemove:
		err = v.applyRemove(args)
	case opAssign, opRelease:
		err = v.applyObjects(op, args)
	}
	if err != nil {
		return fmt.Errorf("placemap: operation %d: %w", op, err)
	}
	return nil
}

func (v *Map) applySet(args *structures.Args) error {
	var units []placement.Unit
	for args.Left() >= 3 {
		u := placement.Unit{Name: string(args.Bytes()), Capacity: math.Float64frombits(args.Uint()), Domain: string(args.Bytes())}
		if units = append(units, u); len(units) > placement.MaxUnits {
			return structures.ErrCorrupt
		}
	}
	return applied(args, func() error { return v.set(units) })
}

func (v *Map) applyRemove(args *structures.Args) error {
	var names []string
	for args.Left() > 0 {
		if names = append(names, string(args.Bytes())); len(names) > placement.MaxUnits {
			return structures.ErrCorrupt
		}
	}
	return applied(args, func() error { return v.remove(names) })
}

// applied makes a change whose arguments have been read. What the map refuses
// was never recorded of this map.
func applied(args *structures.Args, change func() error) error {
	if err := args.Done(); err != nil {
		return err
	}
	if err := change(); err != nil {
		return fmt.Errorf("%w: %w", err, structures.ErrCorrupt)
	}
	return nil
}
