package place

import (
	"context"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/structures/placemap"
)

// What takes long is done off the locks, on a state that the map lends.
const (
	// quickUnits is how many units a map has whose table for copies is made
	// under the locks, by the first LOCATE after a change: 10 ms. It is not less, as
	// a LOCATE had better not wait for a worker that simulates for minutes.
	quickUnits = 1 << 14
	// quickSteps is how many units a call may look at under the locks: some
	// milliseconds of a race.
	quickSteps = 1 << 20
	// maxTableMulti and maxStepsMulti keep a transaction below some tenths of a
	// second.
	maxTableMulti = 4 << 20
	maxStepsMulti = 1 << 26
)

// readObjects reads objects, and COPIES, which is an option if it is the last
// word but one and an object stands before it. So a caller whose objects may
// have any name ends with COPIES. 0: not given.
func readObjects(a *commands.Args) (objects [][]byte, copies int) {
	n := a.Left()
	if n < 3 {
		return a.Rest(), 0
	}
	if objects = a.AllBut(2); a.Is("COPIES") {
		return objects, readCopies(a)
	}
	a.Skip(2 - n)
	return a.Rest(), 0
}

// locate returns an array with an entry for each object:
//
//	one copy, which is the default       the name of its unit
//	several copies                       an array of names, different units in different domains
//	one copy, and strategy twochoice     an array of two names, perhaps the same one
//
// COPIES is their number, by default the one given to PLACE.CREATE. With twochoice an
// object goes to the unit with less load, which the caller knows, and is looked for on
// both.
func locate(c *commands.Ctx) error {
	key := c.Args.Key()
	objects, copies := readObjects(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	v, err := view(c, key)
	if err != nil {
		return err
	}
	m := v.State().Map
	if copies == 0 {
		copies = m.Options().Copies
	}
	if m.Len() == 0 {
		return errEmpty
	}
	s := v.ForCopies(copies)
	steps := s.Steps(copies) * len(objects)
	if steps > quickSteps || !s.Ready(copies) && m.Len() > quickUnits {
		return locateSlowly(c, v, objects, copies, steps)
	}
	return locateNow(c, s, objects, copies, v.Buffer())
}

// locateNow looks up under the locks and allocates nothing.
func locateNow(c *commands.Ctx, s *placemap.State, objects [][]byte, copies int, buf []int) error {
	if err := checkCopies(s, copies, buf); err != nil {
		return err
	}
	c.Reply.Array(len(objects))
	for _, object := range objects {
		slots, _ := places(s, s.Map.Hash(object), copies, buf)
		replyPlaces(&c.Reply, s.Map, slots)
	}
	return nil
}

// checkCopies builds the table for copies, or returns the reason why there
// cannot be one.
func checkCopies(s *placemap.State, copies int, buf []int) error {
	_, err := places(s, 0, copies, buf)
	return wireError(err)
}

// places appends the units of an object: its copies, or the units that it may
// be on.
func places(s *placemap.State, hash uint64, copies int, dst []int) ([]int, error) {
	if copies > 1 {
		return s.LocateCopies(hash, copies, dst)
	}
	return s.Map.Choices(hash, dst), nil
}

// replyPlaces writes a name, or an array of names if there are several.
func replyPlaces(r *commands.Reply, m *placement.Map, slots []int) {
	if len(slots) > 1 {
		r.Array(len(slots))
	}
	for _, slot := range slots {
		r.BulkString(m.Name(slot))
	}
}

// locateSlowly looks up off the locks.
func locateSlowly(c *commands.Ctx, v *placemap.Map, objects [][]byte, copies, steps int) error {
	if c.InMulti && steps > maxStepsMulti {
		return errStepsMulti
	}
	if err := c.MayCompute(0); err != nil {
		return err
	}
	s := v.Lend()
	hashes := make([]uint64, len(objects))
	for i, object := range objects {
		hashes[i] = s.Map.Hash(object)
	}
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) {
		if err := checkCopies(s, copies, nil); err != nil {
			return nil, err
		}
		var slots []int
		for _, hash := range hashes {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			slots, _ = places(s, hash, copies, slots)
		}
		return func(r *commands.Reply) {
			width := len(slots) / len(hashes)
			r.Array(len(hashes))
			for ; len(slots) > 0; slots = slots[width:] {
				replyPlaces(r, s.Map, slots[:width])
			}
		}, nil
	})
}
