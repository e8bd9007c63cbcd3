package commands

import (
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// View finds a value for a command that reads; ok is false if the key does not exist,
// which is published as a miss.
func View[T structures.Value](c *Ctx, key []byte) (v T, ok bool, err error) {
	v, ok, err = persistence.View[T](c.Tx, key)
	c.Looked(key, ok, err)
	return v, ok, err
}

// ReplyLen replies with the length of a value that was looked for, 0 for a missing key.
func (c *Ctx) ReplyLen(v interface{ Len() int }, ok bool, err error) error {
	if err != nil {
		return err
	}
	n := 0
	if ok {
		n = v.Len()
	}
	c.Reply.Int(int64(n))
	return nil
}

// Schedules, maps and sketches are created by a command of their own: for all others a
// missing key is an error, of the family.

// ViewExisting finds a value to read; missing is the error for a key that does not exist.
func ViewExisting[T structures.Value](c *Ctx, key []byte, missing error) (T, error) {
	v, ok, err := View[T](c, key)
	if err == nil && !ok {
		err = missing
	}
	return v, err
}

// CheckAbsent returns nil if key is absent, for a command that creates a value. Of a
// value of this type the error is busy, of another type the error of View.
func CheckAbsent[T structures.Value](c *Ctx, key []byte, busy error) error {
	_, ok, err := persistence.View[T](c.Tx, key)
	if ok {
		err = busy
	}
	return err
}

// Store gives a key a value, in the place of any that it has, without an expiry.
func Store(c *Ctx, key []byte, v structures.Value) error {
	c.NotifyReplaced(key, v.Kind())
	return persistence.Replace(c.Tx, key, v, persistence.NoExpiry)
}

// EditExisting finds a value to change; missing is the error for a key that does not exist.
func EditExisting[T structures.Value](c *Ctx, key []byte, missing error) (T, *structures.Change, error) {
	return EditCreated[T](c, key, func() error { return missing })
}

// EditCreated finds a value to change. If the key does not exist create makes it, or returns why it does not.
func EditCreated[T structures.Value](c *Ctx, key []byte, create func() error) (T, *structures.Change, error) {
	v, ch, ok, err := persistence.Edit[T](c.Tx, key, nil)
	if err == nil && !ok {
		if err = create(); err == nil {
			v, ch, _, err = persistence.Edit[T](c.Tx, key, nil)
		}
	}
	return v, ch, err
}
