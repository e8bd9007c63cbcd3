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

// Schedules and maps are created by a command of their own: for all others a
// missing key is an error.

// ViewExisting finds a value to read; a missing key is ErrNoKey.
func ViewExisting[T structures.Value](c *Ctx, key []byte) (T, error) {
	v, ok, err := View[T](c, key)
	if err == nil && !ok {
		err = ErrNoKey
	}
	return v, err
}

// CheckAbsent returns nil if key is absent, for a command that creates a value. Of a
// value of this type the error is ErrBusyKey, of another type the error of View.
func CheckAbsent[T structures.Value](c *Ctx, key []byte) error {
	_, ok, err := persistence.View[T](c.Tx, key)
	if ok {
		err = ErrBusyKey
	}
	return err
}

// EditExisting finds a value to change; a missing key is ErrNoKey.
func EditExisting[T structures.Value](c *Ctx, key []byte) (T, *structures.Change, error) {
	v, ch, ok, err := persistence.Edit[T](c.Tx, key, nil)
	if err == nil && !ok {
		err = ErrNoKey
	}
	return v, ch, err
}
