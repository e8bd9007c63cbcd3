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
			Run:     func(c *Ctx) error { return expire(c, seconds, c.Now) }},
		{Name: "PEXPIRE", Arity: -3, Flags: Write | Fast, Keys: set,
			Syntax: "key milliseconds" + when, Since: "2.6.0", Cost: "O(1)",
			Summary: "Lets a key go after a number of milliseconds.",
			Run:     func(c *Ctx) error { return expire(c, milliseconds, c.Now) }},
		{Name: "EXPIREAT", Arity: -3, Flags: Write | Fast, Keys: set,
			Syntax: "key unix-time-seconds" + when, Since: "1.2.0", Cost: "O(1)",
			Summary: "Lets a key go at a time in unix seconds.",
			Run:     func(c *Ctx) error { return expire(c, seconds, 0) }},
		{Name: "PEXPIREAT", Arity: -3, Flags: Write | Fast, Keys: set,
			Syntax: "key unix-time-milliseconds" + when, Since: "2.6.0", Cost: "O(1)",
			Summary: "Lets a key go at a time in unix milliseconds.",
			Run:     func(c *Ctx) error { return expire(c, milliseconds, 0) }},
		{Name: "EXPIRETIME", Arity: 2, Flags: ReadOnly | Fast, Keys: get,
			Syntax: "key", Since: "7.0.0", Cost: "O(1)",
			Summary: "Tells when a key goes, in unix seconds.",
			Run:     func(c *Ctx) error { return timeToLive(c, seconds, 0) }},
		{Name: "PEXPIRETIME", Arity: 2, Flags: ReadOnly | Fast, Keys: get,
			Syntax: "key", Since: "7.0.0", Cost: "O(1)",
			Summary: "Tells when a key goes, in unix milliseconds.",
			Run:     func(c *Ctx) error { return timeToLive(c, milliseconds, 0) }},
		{Name: "TTL", Arity: 2, Flags: ReadOnly | Fast, Keys: get,
			Syntax: "key", Since: "1.0.0", Cost: "O(1)",
			Summary: "Tells in how many seconds a key goes.",
			Run:     func(c *Ctx) error { return timeToLive(c, seconds, c.Now) }},
		{Name: "PTTL", Arity: 2, Flags: ReadOnly | Fast, Keys: get,
			Syntax: "key", Since: "2.6.0", Cost: "O(1)",
			Summary: "Tells in how many milliseconds a key goes.",
			Run:     func(c *Ctx) error { return timeToLive(c, milliseconds, c.Now) }},
		{Name: "PERSIST", Arity: 2, Flags: Write | Fast, Keys: set,
			Syntax: "key", Since: "2.2.0", Cost: "O(1)",
			Summary: "Takes the expiry of a key away.", Run: persist},
	}
}

// unit is a unit of time, in milliseconds.
type unit int64

const (
	milliseconds unit = 1
	seconds      unit = 1000
)

// expireIf is a set of the conditions under which an expiry is set.
type expireIf uint8

const (
	ifNone    expireIf = 1 << iota // NX: there is no expiry
	ifSome                         // XX: there is one
	ifGreater                      // GT: the new one is later; none is the latest
	ifLess                         // LT: the new one is earlier
)

// allows reports whether an expiry that is now old (0: none) may become ms.
func (f expireIf) allows(old, ms int64) bool {
	return (f&ifNone == 0 || old == 0) &&
		(f&ifSome == 0 || old != 0) &&
		(f&ifGreater == 0 || old != 0 && ms > old) &&
		(f&ifLess == 0 || old == 0 || ms < old)
}

// expireIfOf is the condition that a word stands for, 0 if none.
func expireIfOf(word string) expireIf {
	switch word {
	case "NX":
		return ifNone
	case "XX":
		return ifSome
	case "GT":
		return ifGreater
	case "LT":
		return ifLess
	}
	return 0
}

// readConditions reads the options of EXPIRE.
func readConditions(c *Ctx) (f expireIf, err error) {
	for c.Args.More() {
		raw := c.Args.Peek()
		one := expireIfOf(c.Args.Word())
		if one == 0 {
			return 0, ErrUnsupportedOption(raw)
		}
		f |= one
	}
	switch {
	case f&ifNone != 0 && f != ifNone:
		return 0, ErrExpireNXOthers
	case f&(ifGreater|ifLess) == ifGreater|ifLess:
		return 0, ErrExpireGTLT
	}
	return f, nil
}

// deadline turns n units after base into unix milliseconds. Negative times are
// long past, not errors.
func deadline(c *Ctx, n int64, u unit, base int64) (ms int64, err error) {
	if n > math.MaxInt64/int64(u) || n < math.MinInt64/int64(u) {
		return 0, ErrInvalidExpire(c.Command)
	}
	ms = n * int64(u)
	if ms > math.MaxInt64-base {
		return 0, ErrInvalidExpire(c.Command)
	}
	return ms + base, nil
}

func expire(c *Ctx, u unit, base int64) error {
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
	case !ok || !f.allows(old, ms):
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
func timeToLive(c *Ctx, u unit, base int64) error {
	key := c.Args.Key()
	ms, ok := c.Tx.ExpireAt(key)
	switch {
	case !ok:
		noteMissed(c, key)
		c.Reply.Int(-2)
	case ms == 0:
		c.Reply.Int(-1)
	default:
		left := max(ms-base, 0)
		if u == seconds {
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
