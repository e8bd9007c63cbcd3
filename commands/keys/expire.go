package keys

import (
	"math"

	"github.com/vigildb/vigil/commands"
)

func expireRows() []commands.Command {
	set := []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)}
	get := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	const when = " [NX | XX | GT | LT]"
	return []commands.Command{
		{Name: "EXPIRE", Arity: -3, Flags: commands.Write | commands.Fast, Keys: set,
			Syntax: "key seconds" + when, Since: "1.0.0", Cost: "O(1)",
			Summary: "Sets a key to expire after a number of seconds.",
			Run:     func(c *commands.Ctx) error { return expire(c, commands.Seconds, c.Now) }},
		{Name: "PEXPIRE", Arity: -3, Flags: commands.Write | commands.Fast, Keys: set,
			Syntax: "key milliseconds" + when, Since: "2.6.0", Cost: "O(1)",
			Summary: "Sets a key to expire after a number of milliseconds.",
			Run:     func(c *commands.Ctx) error { return expire(c, commands.Milliseconds, c.Now) }},
		{Name: "EXPIREAT", Arity: -3, Flags: commands.Write | commands.Fast, Keys: set,
			Syntax: "key unix-time-seconds" + when, Since: "1.2.0", Cost: "O(1)",
			Summary: "Sets a key to expire at a Unix time in seconds.",
			Run:     func(c *commands.Ctx) error { return expire(c, commands.Seconds, 0) }},
		{Name: "PEXPIREAT", Arity: -3, Flags: commands.Write | commands.Fast, Keys: set,
			Syntax: "key unix-time-milliseconds" + when, Since: "2.6.0", Cost: "O(1)",
			Summary: "Sets a key to expire at a Unix time in milliseconds.",
			Run:     func(c *commands.Ctx) error { return expire(c, commands.Milliseconds, 0) }},
		{Name: "EXPIRETIME", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: get,
			Syntax: "key", Since: "7.0.0", Cost: "O(1)",
			Summary: "Returns the Unix time in seconds at which a key expires.",
			Run:     func(c *commands.Ctx) error { return timeToLive(c, commands.Seconds, 0) }},
		{Name: "PEXPIRETIME", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: get,
			Syntax: "key", Since: "7.0.0", Cost: "O(1)",
			Summary: "Returns the Unix time in milliseconds at which a key expires.",
			Run:     func(c *commands.Ctx) error { return timeToLive(c, commands.Milliseconds, 0) }},
		{Name: "TTL", Arity: 2, Tips: "nondeterministic_output", Flags: commands.ReadOnly | commands.Fast, Keys: get,
			Syntax: "key", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns in how many seconds a key expires.",
			Run:     func(c *commands.Ctx) error { return timeToLive(c, commands.Seconds, c.Now) }},
		{Name: "PTTL", Arity: 2, Tips: "nondeterministic_output", Flags: commands.ReadOnly | commands.Fast, Keys: get,
			Syntax: "key", Since: "2.6.0", Cost: "O(1)",
			Summary: "Returns in how many milliseconds a key expires.",
			Run:     func(c *commands.Ctx) error { return timeToLive(c, commands.Milliseconds, c.Now) }},
		{Name: "PERSIST", Arity: 2, Flags: commands.Write | commands.Fast, Keys: set,
			Syntax: "key", Since: "2.2.0", Cost: "O(1)",
			Summary: "Removes the expiry of a key.", Run: persist},
	}
}

// readConditions reads the options of EXPIRE.
func readConditions(c *commands.Ctx) (f commands.ExpiryCondition, err error) {
	for c.Args.More() {
		raw := c.Args.Peek()
		one := commands.ParseExpiryCondition(c.Args.Word())
		if one == 0 {
			return 0, errUnsupportedOption(raw)
		}
		f |= one
	}
	switch {
	case f&commands.IfNoExpiry != 0 && f != commands.IfNoExpiry:
		return 0, errExpireNXOthers
	case f&(commands.IfLater|commands.IfEarlier) == commands.IfLater|commands.IfEarlier:
		return 0, errExpireGTLT
	}
	return f, nil
}

// deadline turns n units after base into unix milliseconds. Negative times are
// long past, not errors.
func deadline(c *commands.Ctx, n int64, u commands.TimeUnit, base int64) (ms int64, err error) {
	if n > math.MaxInt64/int64(u) || n < math.MinInt64/int64(u) {
		return 0, commands.ErrInvalidExpire(c.Command)
	}
	ms = n * int64(u)
	if ms > math.MaxInt64-base {
		return 0, commands.ErrInvalidExpire(c.Command)
	}
	return ms + base, nil
}

func expire(c *commands.Ctx, u commands.TimeUnit, base int64) error {
	key, number := c.Args.Key(), c.Args.Bytes()
	f, err := readConditions(c)
	if err != nil {
		return err
	}
	n, ok := commands.ParseInt(number)
	if !ok {
		return commands.ErrNotInteger
	}
	ms, err := deadline(c, n, u, base)
	if err != nil {
		return err
	}
	old, ok := c.Tx.ExpireAt(key)
	switch {
	case !ok || !f.Allows(old, ms):
		c.Reply.Int(0)
		return nil
	case c.Past(ms):
		c.Tx.Delete(key)
		c.Notify(commands.EventGeneric, "del", key)
	default:
		c.Tx.SetExpire(key, max(ms, 1))
		c.Notify(commands.EventGeneric, "expire", key)
	}
	c.Reply.Int(1)
	return nil
}

// timeToLive returns -2 for a key that does not exist, -1 for one that stays,
// and else its time to live from base on, rounded to the nearest unit.
func timeToLive(c *commands.Ctx, u commands.TimeUnit, base int64) error {
	key := c.Args.Key()
	ms, ok := c.Tx.ExpireAt(key)
	c.Looked(key, ok, c.Tx.Err())
	switch {
	case !ok:
		c.Reply.Int(-2)
	case ms == 0:
		c.Reply.Int(-1)
	default:
		left := max(ms-base, 0)
		if u == commands.Seconds {
			left = left/1000 + (left%1000+500)/1000
		}
		c.Reply.Int(left)
	}
	return nil
}

func persist(c *commands.Ctx) error {
	key := c.Args.Key()
	if !c.Tx.Persist(key) {
		c.Reply.Int(0)
		return nil
	}
	c.Notify(commands.EventGeneric, "persist", key)
	c.Reply.Int(1)
	return nil
}
