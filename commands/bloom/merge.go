package bloom

import (
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/bloom"
)

// merge is BF.MERGE, which RedisBloom does not have.
func merge(c *commands.Ctx) error { return c.Apart(beginMerge) }

func beginMerge(c *commands.Ctx) (*commands.Job, error) {
	key, exists, keys, filters, err := commands.Sources[*bloom.Filter](c, errNotFound)
	if err != nil {
		return nil, err
	}
	filters, bytes := commands.Fork(c, filters...)
	var sum *persistence.Prepared
	return &commands.Job{
		Bytes: 3 * bytes, // the sum, and its record
		Keys:  keys,
		Work: func() error {
			f, err := bloom.Merge(filters)
			switch {
			case errors.Is(err, bloom.ErrShape):
				return errMergeShape
			case err != nil:
				return errMergeCrowded
			}
			sum = persistence.Prepare(f)
			return nil
		},
		End: func(c *commands.Ctx) error {
			if !exists {
				c.NotifyNew(key)
			}
			persistence.ReplacePrepared(c.Tx, key, sum, persistence.KeepExpiry)
			c.Reply.OK()
			return nil
		},
	}, nil
}
