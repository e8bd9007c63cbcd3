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
	// Copies returns a function that counts the other members of the group, or the replicas, that have all
	// that the client has written by now, replicas with durable on their devices. The function may be called at
	// any time by any goroutine.
	Copies(c *commands.Ctx, durable bool) func() int
}

// pollMillis is after how long a call that waits for other members looks again for the
// first time.
const pollMillis = 1

func waitRows() []commands.Command {
	return []commands.Command{
		{Name: "WAIT", Arity: 3, Tips: "request_policy:all_shards response_policy:agg_min", Flags: commands.Blocking, Category: "connection",
			Syntax: "numreplicas timeout", Since: "3.0.0", Cost: "O(1)",
			Summary: "Waits until replicas have the client's writes, and returns how many have them.", Run: wait},
		{Name: "WAITAOF", Arity: 4, Tips: "request_policy:all_shards response_policy:agg_min", Flags: commands.Blocking, Category: "connection",
			Syntax: "numlocal numreplicas timeout", Since: "7.2.0", Cost: "O(1)",
			Summary: "Waits until the client's writes are on the device, here and on replicas.", Run: waitAOF},
	}
}

// wait counts the members, or the replicas, that have what the client wrote.
func wait(c *commands.Ctx) error {
	replicas, millis := c.Args.Int(), readTimeout(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	copies, err := copiesOf(c, "WAIT")
	if err != nil {
		return err
	}
	return until(c, millis, func() bool { return int64(copies()) >= replicas }, func(r *commands.Reply) { r.Int(int64(copies())) })
}

// copiesOf is how the members are counted that have what the client wrote.
func copiesOf(c *commands.Ctx, command string) (copies func() int, err error) {
	if m := c.Membership(); m != nil && !m.Leads {
		return nil, errWaitAtFollower(command)
	}
	return c.Host.(Durability).Copies(c, command == "WAITAOF"), nil
}

// until replies when something is so, or the time is over.
func until(c *commands.Ctx, millis int64, so func() bool, answer func(*commands.Reply)) error {
	if so() {
		answer(&c.Reply)
		return nil
	}
	return c.ParkFor(commands.Wait{Millis: millis, Expired: answer, Until: so, Again: pollMillis})
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
	copies, err := copiesOf(c, "WAITAOF")
	if err != nil {
		return err
	}
	if m := c.Membership(); m != nil && !m.Synced {
		return errWaitUnsynced
	}
	synced := int64(0)
	if c.Host.(Durability).Synced(c, local > 0 && !c.InMulti) {
		synced = 1
	}
	return until(c, millis, func() bool { return int64(copies()) >= replicas && synced >= local }, func(r *commands.Reply) {
		r.Array(2)
		r.Int(synced)
		r.Int(int64(copies()))
	})
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
