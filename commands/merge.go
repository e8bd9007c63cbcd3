package commands

import (
	"math"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Sources finds the values that a merge is of: the one of the destination, if it exists, and those of
// the keys that follow their number. There is at least one; missing is the error for a source that
// does not exist. keys are all of them, copied.
func Sources[T structures.Value](c *Ctx, missing error) (destination []byte, exists bool, keys [][]byte, values []T, err error) {
	destination = c.Args.Key()
	n := c.Args.IntIn(1, math.MaxInt, ErrNumkeys)
	sources := c.Args.Rest()
	switch {
	case c.Args.Err() != nil:
		return nil, false, nil, nil, c.Args.Err()
	case n != int64(len(sources)):
		return nil, false, nil, nil, ErrSyntax
	}
	v, exists, err := persistence.View[T](c.Tx, destination)
	if err != nil {
		return nil, false, nil, nil, err
	}
	if exists {
		values = append(values, v)
	}
	for _, key := range sources {
		v, ok, err := View[T](c, key)
		switch {
		case err != nil:
			return nil, false, nil, nil, err
		case !ok:
			return nil, false, nil, nil, missing
		}
		values = append(values, v)
	}
	keys = CopyArgs(append([][]byte{destination}, sources...))
	return keys[0], exists, keys, values, nil
}
