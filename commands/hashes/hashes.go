package hashes

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

func Group() commands.Group {
	rows := append(readRows(), writeRows()...)
	rows = append(rows, walkRows()...)
	rows = append(rows, fieldExpiryRows()...)
	return commands.Group{Name: "hash", Commands: append(rows, fieldExRows()...)}
}

// Expired fields are deleted by the next command that opens their
// hash, whether it reads or writes: handlers never see one, unless another server decides what expires. Then
// those that read pass over it.

// view finds a hash to read; ok is false if the key does not exist, which
// is published as a miss.
func view(c *commands.Ctx, key []byte) (h *hash.Hash, ok bool, err error) {
	h, ok, err = commands.View[*hash.Hash](c, key)
	if ok && c.PartsDue(h) {
		if c.Tx.KeepsExpired() {
			return h, h.Live(c.Now) > 0, err
		}
		h, _, ok, err = edit(c, key)
	}
	return h, ok, err
}

// edit finds a hash to change; ok is false if the key does not exist.
func edit(c *commands.Ctx, key []byte) (h *hash.Hash, ch *structures.Change, ok bool, err error) {
	return commands.EditTimed(c, key, nil, expired)
}

// editOrCreate finds a hash to change, making it if needed.
func editOrCreate(c *commands.Ctx, key []byte) (h *hash.Hash, ch *structures.Change, err error) {
	h, ch, _, err = commands.EditTimed(c, key, func() *hash.Hash { return hash.New(c.Tx.HashKeys()) }, expired)
	return h, ch, err
}

// expired publishes that fields have expired.
func expired(c *commands.Ctx, h *hash.Hash, key []byte, fields *commands.PartNames) {
	c.NotifyParts(commands.EventHash, "hexpired", key, fields)
	notifyEmptied(c, h, key)
}

// ready reads the pages of fields, one in each step of names, so that what is done to
// them does not fail half way.
func ready(c *commands.Ctx, h *hash.Hash, step int, names ...[]byte) error {
	if h == nil || h.Ready(step, names...) {
		return nil
	}
	return c.Tx.Err()
}

// notifyEmptied publishes that a hash is gone, if its last field is.
func notifyEmptied(c *commands.Ctx, h *hash.Hash, key []byte) {
	if h.Empty() {
		c.Notify(commands.EventGeneric, "del", key)
	}
}

// notify publishes an event about fields, which stand at every step-th place of names.
func notify(c *commands.Ctx, event string, key []byte, step int, names ...[]byte) {
	fields := c.PartNames()
	for i := 0; i < len(names); i += step {
		fields.Add(names[i])
	}
	c.NotifyParts(commands.EventHash, event, key, &fields)
}
