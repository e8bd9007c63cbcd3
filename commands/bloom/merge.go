package bloom

import (
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
)

// merge is BF.MERGE, which RedisBloom does not have.
func merge(c *commands.Ctx) error { return c.Apart(beginMerge) }

func beginMerge(c *commands.Ctx) (*commands.Job, error) {
	exists, keys, filters, err := commands.Sources[*bloom.Filter](c, errNotFound)
	if err != nil {
		return nil, err
	}
	filters, bytes := commands.Fork(c, filters...)
	return commands.MergeJob(keys, exists, 3*bytes, func() (structures.Value, error) { // the sum, and its record
		sum, err := bloom.Merge(filters)
		switch {
		case errors.Is(err, bloom.ErrShape):
			return nil, errMergeShape
		case errors.Is(err, bloom.ErrUnread):
			return nil, c.Tx.Err()
		case err != nil:
			return nil, errMergeCrowded
		}
		return sum, nil
	}), nil
}
