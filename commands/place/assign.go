package place

import "github.com/vigildb/vigil/commands"

// hashesOf are the hashes of objects with the seed of a map.
func hashesOf(hash func([]byte) uint64, objects [][]byte) []uint64 {
	out := make([]uint64, len(objects))
	for i, object := range objects {
		out[i] = hash(object)
	}
	return out
}

// assign replies with an array of the names of units, in the order of the objects.
func assign(c *commands.Ctx) error {
	key, objects := c.Args.Key(), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	m, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	slots, added, err := m.Assign(ch, hashesOf(m.State().Map.Hash, objects), nil)
	if err != nil {
		return wireError(err)
	}
	if added > 0 {
		c.Notify(commands.EventModule, "place.assign", key)
	}
	c.Reply.Array(len(slots))
	for _, slot := range slots {
		c.Reply.BulkString(m.State().Map.Name(slot))
	}
	return nil
}

// release replies with the number of objects that were assigned.
func release(c *commands.Ctx) error {
	key, objects := c.Args.Key(), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	m, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	n, err := m.Release(ch, hashesOf(m.State().Map.Hash, objects))
	if err != nil {
		return wireError(err)
	}
	if n > 0 {
		c.Notify(commands.EventModule, "place.release", key)
	}
	c.Reply.Int(int64(n))
	return nil
}
