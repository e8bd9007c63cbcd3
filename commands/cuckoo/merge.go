package cuckoo

import (
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/cuckoo"
)

// merge is CF.MERGE, which RedisBloom does not have.
func merge(c *commands.Ctx) error {
	key, exists, filters, err := commands.Sources[*cuckoo.Filter](c, errNotFound)
	if err != nil {
		return err
	}
	sum, err := cuckoo.Merge(filters, int(c.Host.Limits().Filters.CuckooMaxFilters), memoryLimit(c))
	switch {
	case errors.Is(err, cuckoo.ErrUnread):
		return c.Tx.Err()
	case errors.Is(err, cuckoo.ErrShape):
		return errMergeShape
	case err != nil:
		return errMergeRoom
	}
	if !exists {
		c.NotifyNew(key)
	}
	persistence.Replace(c.Tx, key, sum, persistence.KeepExpiry)
	c.Reply.OK()
	return nil
}
