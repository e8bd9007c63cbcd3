package commands

import (
	"math"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Sources finds the values that a merge is of: the one of the destination, if it exists, and those of
// the keys that follow their number. There is at least one; missing is the error for a source that
// does not exist.
func Sources[T structures.Value](c *Ctx, missing error) (destination []byte, exists bool, values []T, err error) {
	destination = c.Args.Key()
	n := c.Args.IntIn(1, math.MaxInt, ErrNumkeys)
	keys := c.Args.Rest()
	switch {
	case c.Args.Err() != nil:
		return nil, false, nil, c.Args.Err()
	case n != int64(len(keys)):
		return nil, false, nil, ErrSyntax
	}
	v, exists, err := persistence.View[T](c.Tx, destination)
	if err != nil {
		return nil, false, nil, err
	}
	if exists {
		values = append(values, v)
	}
	for _, key := range keys {
		v, ok, err := View[T](c, key)
		switch {
		case err != nil:
			return nil, false, nil, err
		case !ok:
			return nil, false, nil, missing
		}
		values = append(values, v)
	}
	return destination, exists, values, nil
}
