package commands

import (
	"errors"
	"math"

	"github.com/vigildb/vigil/structures"
)

// TakeOrWait tries to take something from the keys, and waits for them if there is
// nothing to take (see Park). A client that waits already looks only at the keys that
// may have changed, and passes over those that came to hold a value of another type. When
// the time is over the reply is a null array.
func (c *Ctx) TakeOrWait(keys [][]byte, millis int64, take func(keys [][]byte) (taken bool, err error)) error {
	taken, err := false, error(nil)
	if c.Woken == nil {
		taken, err = take(keys)
	} else {
		taken, err = c.takeAgain(keys, take)
	}
	if taken || err != nil {
		return err
	}
	return c.Park(keys, millis, (*Reply).NullArray)
}

func (c *Ctx) takeAgain(keys [][]byte, take func(keys [][]byte) (taken bool, err error)) (taken bool, err error) {
	for i, key := range keys {
		if !c.Reaches(key) {
			continue
		}
		taken, err := take(keys[i : i+1])
		if taken || err != nil && !errors.Is(err, structures.ErrWrongType) {
			return taken, err
		}
	}
	return false, nil
}

// MultiPop runs LMPOP and ZMPOP, and the forms of them that wait:
//
//	[timeout] numkeys key [key ...] end [COUNT count]
//
// take takes up to count elements at an end of the first value that is there.
func MultiPop[End any](c *Ctx, blocking bool, readEnd func(a *Args) End,
	take func(keys [][]byte, end End, count int) (taken bool, err error)) error {
	timeout := c.Args // stands first but is looked at last
	if blocking {
		c.Args.Skip(1)
	}
	n := c.Args.IntIn(1, math.MaxInt, ErrNumkeys)
	keys := c.Args.Take(int(min(n, int64(c.Args.Left())))) // if too many, no word for the end is left
	end, count := readEnd(&c.Args), 1
	for counted := false; c.Args.More(); counted = true {
		if counted || c.Args.Left() < 2 || !c.Args.Is("COUNT") {
			c.Args.Syntax()
			break
		}
		count = int(c.Args.IntIn(1, math.MaxInt, ErrPopCount))
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if !blocking {
		taken, err := take(keys, end, count)
		if err == nil && !taken {
			c.Reply.NullArray()
		}
		return err
	}
	millis := timeout.Timeout()
	if err := timeout.Err(); err != nil {
		return err
	}
	return c.TakeOrWait(keys, millis, func(keys [][]byte) (bool, error) { return take(keys, end, count) })
}
