package cuckoo

import (
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cuckoo"
)

// merge is CF.MERGE, which RedisBloom does not have.
func merge(c *commands.Ctx) error { return c.Apart(beginMerge) }

func beginMerge(c *commands.Ctx) (*commands.Job, error) {
	exists, keys, filters, err := commands.Sources[*cuckoo.Filter](c, errNotFound)
	if err != nil {
		return nil, err
	}
	maxFilters, limit := int(c.Host.Limits().Filters.CuckooMaxFilters), c.Host.Limits().ModuleMemory()
	filters, bytes := commands.Fork(c, filters...)
	return commands.MergeJob(keys, exists, 3*bytes, func() (structures.Value, error) { // the sum, and its record
		sum, err := cuckoo.Merge(filters, maxFilters, limit)
		switch {
		case errors.Is(err, cuckoo.ErrUnread):
			return nil, c.Tx.Err()
		case errors.Is(err, cuckoo.ErrShape):
			return nil, errMergeShape
		case err != nil:
			return nil, errMergeRoom
		}
		return sum, nil
	}), nil
}
