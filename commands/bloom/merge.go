package bloom

import (
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/bloom"
)

// merge is BF.MERGE, which RedisBloom does not have.
func merge(c *commands.Ctx) error {
	key, exists, filters, err := commands.Sources[*bloom.Filter](c, errNotFound)
	if err != nil {
		return err
	}
	sum, err := bloom.Merge(filters)
	switch {
	case errors.Is(err, bloom.ErrShape):
		return errMergeShape
	case err != nil:
		return errMergeCrowded
	}
	if !exists {
		c.NotifyNew(key)
	}
	persistence.Replace(c.Tx, key, sum, persistence.KeepExpiry)
	c.Reply.OK()
	return nil
}
