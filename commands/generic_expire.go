package commands

import "math"

func expireRows() []Command {
	set := []KeySpec{Key(1, RW|Update)}
	get := []KeySpec{Key(1, RO|Access)}
	const when = " [NX | XX | GT | LT]"
	return []Command{
		{Name: "EXPIRE", Arity: -3, Flags: Write | Fast, Keys: set,
			Syntax: "key seconds" + when, Since: "1.0.0", Cost: "O(1)",
			Summary: "Lets a key go after a number of seconds.",
			Run:     func(c *Ctx) error { return expire(c, Seconds, c.Now) }},
		{Name: "PEXPIRE", Arity: -3, Flags: Write | Fast, Keys: set,
			Syntax: "key milliseconds" + when, Since: "2.6.0", Cost: "O(1)",
			Summary: "Lets a key go after a number of milliseconds.",
			Run:     func(c *Ctx) error { return expire(c, Milliseconds, c.Now) }},
		{Name: "EXPIREAT", Arity: -3, Flags: Write | Fast, Keys: set,
			Syntax: "key unix-time-seconds" + when, Since: "1.2.0", Cost: "O(1)",
			Summary: "Lets a key go at a time in unix seconds.",
			Run:     func(c *Ctx) error { return expire(c, Seconds, 0) }},
		{Name: "PEXPIREAT", Arity: -3, Flags: Write | Fast, Keys: set,
			Syntax: "key unix-time-milliseconds" + when, Since: "2.6.0", Cost: "O(1)",
			Summary: "Lets a key go at a time in unix milliseconds.",
			Run:     func(c *Ctx) error { return expire(c, Milliseconds, 0) }},
		{Name: "EXPIRETIME", Arity: 2, Flags: ReadOnly | Fast, Keys: get,
			Syntax: "key", Since: "7.0.0", Cost: "O(1)",
			Summary: "Tells when a key goes, in unix seconds.",
			Run:     func(c *Ctx) error { return timeToLive(c, Seconds, 0) }},
		{Name: "PEXPIRETIME", Arity: 2, Flags: ReadOnly | Fast, Keys: get,
			Syntax: "key", Since: "7.0.0", Cost: "O(1)",
			Summary: "Tells when a key goes, in unix milliseconds.",
			Run:     func(c *Ctx) error { return timeToLive(c, Milliseconds, 0) }},
		{Name: "TTL", Arity: 2, Flags: ReadOnly | Fast, Keys: get,
			Syntax: "key", Since: "1.0.0", Cost: "O(1)",
			Summary: "Tells in how many seconds a key goes.",
			Run:     func(c *Ctx) error { return timeToLive(c, Seconds, c.Now) }},
		{Name: "PTTL", Arity: 2, Flags: ReadOnly | Fast, Keys: get,
			Syntax: "key", Since: "2.6.0", Cost: "O(1)",
			Summary: "Tells in how many milliseconds a key goes.",
			Run:     func(c *Ctx) error { return timeToLive(c, Milliseconds, c.Now) }},
		{Name: "PERSIST", Arity: 2, Flags: Write | Fast, Keys: set,
			Syntax: "key", Since: "2.2.0", Cost: "O(1)",
			Summary: "Takes the expiry of a key away.", Run: persist},
	}
}

// readConditions reads the options of EXPIRE.
func readConditions(c *Ctx) (f ExpiryCondition, err error) {
	for c.Args.More() {
		raw := c.Args.Peek()
		one := ParseExpiryCondition(c.Args.Word())
		if one == 0 {
			return 0, ErrUnsupportedOption(raw)
		}
		f |= one
	}
	switch {
	case f&IfNoExpiry != 0 && f != IfNoExpiry:
		return 0, ErrExpireNXOthers
	case f&(IfLater|IfEarlier) == IfLater|IfEarlier:
		return 0, ErrExpireGTLT
	}
	return f, nil
}

// deadline turns n units after base into unix milliseconds. Negative times are
// long past, not errors.
func deadline(c *Ctx, n int64, u TimeUnit, base int64) (ms int64, err error) {
	if n > math.MaxInt64/int64(u) || n < math.MinInt64/int64(u) {
		return 0, ErrInvalidExpire(c.Command)
	}
	ms = n * int64(u)
	if ms > math.MaxInt64-base {
		return 0, ErrInvalidExpire(c.Command)
	}
	return ms + base, nil
}

func expire(c *Ctx, u TimeUnit, base int64) error {
	key, number := c.Args.Key(), c.Args.Bytes()
	f, err := readConditions(c)
	if err != nil {
		return err
	}
	n, ok := ParseInt(number)
	if !ok {
		return ErrNotInteger
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
	case ms <= c.Now:
		c.Tx.Delete(key)
		c.Notify(EventGeneric, "del", key)
	default:
		c.Tx.SetExpire(key, ms)
		c.Notify(EventGeneric, "expire", key)
	}
	c.Reply.Int(1)
	return nil
}

// timeToLive answers -2 for a key that does not exist, -1 for one that stays,
// and else its time to live from base on, rounded to the nearest unit.
func timeToLive(c *Ctx, u TimeUnit, base int64) error {
	key := c.Args.Key()
	ms, ok := c.Tx.ExpireAt(key)
	switch {
	case !ok:
		c.NotifyMissed(key)
		c.Reply.Int(-2)
	case ms == 0:
		c.Reply.Int(-1)
	default:
		left := max(ms-base, 0)
		if u == Seconds {
			left = left/1000 + (left%1000+500)/1000
		}
		c.Reply.Int(left)
	}
	return nil
}

func persist(c *Ctx) error {
	key := c.Args.Key()
	if !c.Tx.Persist(key) {
		c.Reply.Int(0)
		return nil
	}
	c.Notify(EventGeneric, "persist", key)
	c.Reply.Int(1)
	return nil
}
