package commands

import (
	"math"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Schedules and maps are created by a command of their own: for all others a
// missing key is an error.

// viewPresent finds a value for reading; a missing one is ErrNoKey.
func viewPresent[T structures.Value](c *Ctx, key []byte) (T, error) {
	v, ok, err := persistence.View[T](c.Tx, key)
	if err == nil && !ok {
		err = ErrNoKey
	}
	return v, err
}

// editPresent finds a value for changing; a missing one is ErrNoKey.
func editPresent[T structures.Value](c *Ctx, key []byte) (T, *structures.Change, error) {
	v, ch, ok, err := persistence.Edit[T](c.Tx, key, nil)
	if err == nil && !ok {
		err = ErrNoKey
	}
	return v, ch, err
}

// drawSeed draws the seed of a value for which the client named none.
func drawSeed(c *Ctx) uint64 {
	return uint64(c.Host.Random(math.MaxInt32))<<31 | uint64(c.Host.Random(math.MaxInt32))
}
