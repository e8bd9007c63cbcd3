package hashes

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
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
	if ok && due(c, h) {
		if c.Tx.KeepsExpired() {
			return h, h.Live(c.Now) > 0, err
		}
		h, _, ok, err = edit(c, key)
	}
	return h, ok, err
}

// edit finds a hash to change; ok is false if the key does not exist.
func edit(c *commands.Ctx, key []byte) (h *hash.Hash, ch *structures.Change, ok bool, err error) {
	h, ch, ok, err = persistence.Edit[*hash.Hash](c.Tx, key, nil)
	if ok && due(c, h) {
		expireFields(c, key, h, ch)
		ok = !h.Empty()
	}
	return h, ch, ok, err
}

// editOrCreate finds a hash to change, making it if needed.
func editOrCreate(c *commands.Ctx, key []byte) (h *hash.Hash, ch *structures.Change, err error) {
	create := func() *hash.Hash { return hash.New(c.Tx.HashKeys()) }
	c.NotifyNew(key)
	h, ch, _, err = persistence.Edit(c.Tx, key, create)
	if err == nil && due(c, h) {
		expireFields(c, key, h, ch)
		if h.Empty() {
			// Gone with its expiry: this is a new hash.
			c.NotifyNew(key)
			h, ch, _, err = persistence.Edit(c.Tx, key, create)
		}
	}
	return h, ch, err
}

// ready reads the pages of fields, one in each step of names, so that what is done to
// them does not fail half way.
func ready(c *commands.Ctx, h *hash.Hash, step int, names ...[]byte) error {
	if h == nil || h.Ready(step, names...) {
		return nil
	}
	return c.Tx.Err()
}

// due reports that fields of the hash can have expired.
func due(c *commands.Ctx, h *hash.Hash) bool {
	soon, some := h.NextExpiry()
	return some && soon <= c.Now
}

// expireFields deletes the expired fields. A hash that is left
// empty is removed when its key is looked up next, or at the end of the call.
func expireFields(c *commands.Ctx, key []byte, h *hash.Hash, ch *structures.Change) {
	n := h.ExpireFields(ch, c.Now, math.MaxInt, nil)
	if n == 0 {
		return
	}
	c.Tx.CountExpiredFields(n)
	c.Notify(commands.EventHash, "hexpired", key)
	notifyEmptied(c, h, key)
}

// notifyEmptied publishes that a hash is gone, if its last field is.
func notifyEmptied(c *commands.Ctx, h *hash.Hash, key []byte) {
	if h.Empty() {
		c.Notify(commands.EventGeneric, "del", key)
	}
}
