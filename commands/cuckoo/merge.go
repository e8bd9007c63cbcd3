package cuckoo

import (
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/cuckoo"
)

// merge is CF.MERGE, which RedisBloom does not have.
func merge(c *commands.Ctx) error { return c.Apart(beginMerge) }

func beginMerge(c *commands.Ctx) (*commands.Job, error) {
	key, exists, keys, filters, err := commands.Sources[*cuckoo.Filter](c, errNotFound)
	if err != nil {
		return nil, err
	}
	maxFilters, limit := int(c.Host.Limits().Filters.CuckooMaxFilters), memoryLimit(c)
	filters, bytes := commands.Fork(c, filters...)
	var sum *persistence.Prepared
	return &commands.Job{
		Bytes: 3 * bytes, // the sum, and its record
		Keys:  keys,
		Work: func() error {
			f, err := cuckoo.Merge(filters, maxFilters, limit)
			switch {
			case errors.Is(err, cuckoo.ErrUnread):
				return c.Tx.Err()
			case errors.Is(err, cuckoo.ErrShape):
				return errMergeShape
			case err != nil:
				return errMergeRoom
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
