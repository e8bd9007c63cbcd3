package commands

import (
	"errors"

	"github.com/vigildb/vigil/structures"
)

// TakeOrWait tries to take something from the keys, and waits for them if there is
// nothing to take (see Park). A client that waits already looks only at the key that
// changed, and continues to wait if that came to hold a value of another type. When
// the time is over the reply is a null array.
func (c *Ctx) TakeOrWait(keys [][]byte, millis int64, take func(keys [][]byte) (taken bool, err error)) error {
	try := keys
	if c.Woken != nil {
		try = [][]byte{c.Woken}
	}
	taken, err := take(try)
	if taken || err != nil && !(c.Woken != nil && errors.Is(err, structures.ErrWrongType)) {
		return err
	}
	return c.Park(keys, millis, (*Reply).NullArray)
}
