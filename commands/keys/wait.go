package keys

import (
	"math"

	"github.com/vigildb/vigil/commands"
)

// Durability is how far the writes of the client of the call are on the device.
type Durability interface {
	// Synced reports whether all that the client wrote is on the device. With
	// wait it is forced there first; false then means that this failed.
	Synced(c *commands.Ctx, wait bool) bool
}

func waitRows() []commands.Command {
	return []commands.Command{
		{Name: "WAIT", Arity: 3, Tips: "request_policy:all_shards response_policy:agg_min", Flags: commands.NoScript | commands.Blocking, Category: "connection",
			Syntax: "numreplicas timeout", Since: "3.0.0", Cost: "O(1)",
			Summary: "Waits until replicas have the client's writes, and returns how many have them.", Run: wait},
		{Name: "WAITAOF", Arity: 4, Tips: "request_policy:all_shards response_policy:agg_min", Flags: commands.NoScript | commands.Blocking, Category: "connection",
			Syntax: "numlocal numreplicas timeout", Since: "7.2.0", Cost: "O(1)",
			Summary: "Waits until the client's writes are on the device, here and on replicas.", Run: waitAOF},
	}
}

// There are no replicas: a client that waits for some waits until its timeout,
// as it does with a Redis that lost its replicas.

func wait(c *commands.Ctx) error {
	replicas, millis := c.Args.Int(), readTimeout(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if replicas <= 0 {
		c.Reply.Int(0)
		return nil
	}
	return c.Park(nil, millis, func(r *commands.Reply) { r.Int(0) })
}

func waitAOF(c *commands.Ctx) error {
	local := c.Args.Int()
	if local < 0 || local > 1 {
		c.Args.Fail(errNumLocalRange)
	}
	replicas, millis := c.Args.IntIn(0, math.MaxInt64, commands.ErrMustBePositive), readTimeout(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	synced := int64(0)
	if c.Host.(Durability).Synced(c, local > 0 && !c.InMulti) {
		synced = 1
	}
	answer := func(r *commands.Reply) {
		r.Array(2)
		r.Int(synced)
		r.Int(0)
	}
	if replicas > 0 || synced < local {
		return c.Park(nil, millis, answer)
	}
	answer(&c.Reply)
	return nil
}

// readTimeout reads a timeout in whole milliseconds, 0 for no end.
func readTimeout(c *commands.Ctx) int64 {
	v := c.Args.IntOr(commands.ErrTimeoutNotInt)
	if v < 0 {
		c.Args.Fail(commands.ErrTimeoutNegative)
	}
	if v > math.MaxInt64-c.Now {
		c.Args.Fail(commands.ErrTimeoutRange)
	}
	return v
}
