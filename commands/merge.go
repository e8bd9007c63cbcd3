package commands

import (
	"math"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// MergeJob is the [Job] of a call that makes its destination, the first of the keys, the sum of forks of values. bytes is 0 if
// they are no forks.
func MergeJob(keys [][]byte, exists bool, bytes int, sum func() (structures.Value, error)) *Job {
	var made *persistence.Prepared
	return &Job{
		Bytes: bytes,
		Keys:  keys,
		Work: func() error {
			v, err := sum()
			if err == nil {
				made = persistence.Prepare(v)
			}
			return err
		},
		End: func(c *Ctx) error {
			if !exists {
				c.NotifyNew(keys[0])
			}
			if err := persistence.ReplacePrepared(c.Tx, keys[0], made, persistence.KeepExpiry); err != nil {
				return err
			}
			c.Reply.OK()
			return nil
		},
	}
}

// Sources finds the values that a merge is of: the one of the destination, if it exists, and those of
// the keys that follow their number. There is at least one; missing is the error for a source that
// does not exist. keys are all of them, the destination first, copied.
func Sources[T structures.Value](c *Ctx, missing error) (exists bool, keys [][]byte, values []T, err error) {
	destination := c.Args.Key()
	n := c.Args.IntIn(1, math.MaxInt, ErrNumkeys)
	sources := c.Args.Rest()
	switch {
	case c.Args.Err() != nil:
		return false, nil, nil, c.Args.Err()
	case n != int64(len(sources)):
		return false, nil, nil, ErrSyntax
	}
	v, exists, err := persistence.View[T](c.Tx, destination)
	if err != nil {
		return false, nil, nil, err
	}
	if exists {
		values = append(values, v)
	}
	for _, key := range sources {
		v, ok, err := View[T](c, key)
		switch {
		case err != nil:
			return false, nil, nil, err
		case !ok:
			return false, nil, nil, missing
		}
		values = append(values, v)
	}
	return exists, CopyArgs(append([][]byte{destination}, sources...)), values, nil
}
