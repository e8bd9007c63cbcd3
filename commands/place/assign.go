package place

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/placemap"
)

// bounded is a map whose objects a call changes.
type bounded struct {
	key    []byte
	m      *placemap.Map
	ch     *structures.Change
	hashes []uint64 // of the objects, with the seed of the map
}

// objects reads the key of a map and objects.
func objects(c *commands.Ctx) (b bounded, err error) {
	b.key = c.Args.Key()
	names := c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return b, err
	}
	if b.m, b.ch, err = edit(c, b.key); err != nil {
		return b, err
	}
	b.hashes = make([]uint64, len(names))
	for i, name := range names {
		b.hashes[i] = b.m.State().Map.Hash(name)
	}
	return b, nil
}

// assign replies with an array of the names of units, in the order of the objects.
func assign(c *commands.Ctx) error {
	b, err := objects(c)
	if err != nil {
		return err
	}
	slots, added, err := b.m.Assign(b.ch, b.hashes, nil)
	if err != nil {
		return wireError(err)
	}
	if added > 0 {
		c.Notify(commands.EventModule, "place.assign", b.key)
	}
	c.Reply.Array(len(slots))
	for _, slot := range slots {
		c.Reply.BulkString(b.m.State().Map.Name(slot))
	}
	return nil
}

// release replies with the number of objects that were assigned.
func release(c *commands.Ctx) error {
	b, err := objects(c)
	if err != nil {
		return err
	}
	n, err := b.m.Release(b.ch, b.hashes)
	if err != nil {
		return wireError(err)
	}
	if n > 0 {
		c.Notify(commands.EventModule, "place.release", b.key)
	}
	c.Reply.Int(int64(n))
	return nil
}
