package hashes

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

func fieldExpiryRows() []commands.Command {
	set := []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)}
	get := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	const (
		when   = " [NX | XX | GT | LT] FIELDS numfields field [field ...]"
		fields = "key FIELDS numfields field [field ...]"
		cost   = "O(n) for n fields"
		since  = "7.4.0"
	)
	return []commands.Command{
		{Name: "HEXPIRE", Arity: -6, Flags: commands.Write | commands.Fast, Keys: set,
			Syntax: "key seconds" + when, Since: since, Cost: cost,
			Summary: "Sets fields of a hash to expire after a number of seconds.",
			Run:     func(c *commands.Ctx) error { return hexpire(c, commands.Seconds, c.Now) }},
		{Name: "HPEXPIRE", Arity: -6, Flags: commands.Write | commands.Fast, Keys: set,
			Syntax: "key milliseconds" + when, Since: since, Cost: cost,
			Summary: "Sets fields of a hash to expire after a number of milliseconds.",
			Run:     func(c *commands.Ctx) error { return hexpire(c, commands.Milliseconds, c.Now) }},
		{Name: "HEXPIREAT", Arity: -6, Flags: commands.Write | commands.Fast, Keys: set,
			Syntax: "key unix-time-seconds" + when, Since: since, Cost: cost,
			Summary: "Sets fields of a hash to expire at a Unix time in seconds.",
			Run:     func(c *commands.Ctx) error { return hexpire(c, commands.Seconds, 0) }},
		{Name: "HPEXPIREAT", Arity: -6, Flags: commands.Write | commands.Fast, Keys: set,
			Syntax: "key unix-time-milliseconds" + when, Since: since, Cost: cost,
			Summary: "Sets fields of a hash to expire at a Unix time in milliseconds.",
			Run:     func(c *commands.Ctx) error { return hexpire(c, commands.Milliseconds, 0) }},
		{Name: "HTTL", Arity: -5, Tips: "nondeterministic_output", Flags: commands.ReadOnly | commands.Fast, Keys: get,
			Syntax: fields, Since: since, Cost: cost,
			Summary: "Returns in how many seconds fields of a hash expire.",
			Run:     func(c *commands.Ctx) error { return fieldTTL(c, commands.Seconds, c.Now) }},
		{Name: "HPTTL", Arity: -5, Tips: "nondeterministic_output", Flags: commands.ReadOnly | commands.Fast, Keys: get,
			Syntax: fields, Since: since, Cost: cost,
			Summary: "Returns in how many milliseconds fields of a hash expire.",
			Run:     func(c *commands.Ctx) error { return fieldTTL(c, commands.Milliseconds, c.Now) }},
		{Name: "HEXPIRETIME", Arity: -5, Flags: commands.ReadOnly | commands.Fast, Keys: get,
			Syntax: fields, Since: since, Cost: cost,
			Summary: "Returns the Unix time in seconds at which fields of a hash expire.",
			Run:     func(c *commands.Ctx) error { return fieldTTL(c, commands.Seconds, 0) }},
		{Name: "HPEXPIRETIME", Arity: -5, Flags: commands.ReadOnly | commands.Fast, Keys: get,
			Syntax: fields, Since: since, Cost: cost,
			Summary: "Returns the Unix time in milliseconds at which fields of a hash expire.",
			Run:     func(c *commands.Ctx) error { return fieldTTL(c, commands.Milliseconds, 0) }},
		{Name: "HPERSIST", Arity: -5, Flags: commands.Write | commands.Fast, Keys: set,
			Syntax: fields, Since: since, Cost: cost,
			Summary: "Removes the expiry of fields of a hash.", Run: hpersist},
	}
}

// The replies for one field. These are Redis's numbers.
const (
	fieldMissing  = -2
	fieldStays    = -1 // it has no expiry
	fieldRefused  = 0  // the condition does not hold
	fieldChanged  = 1
	fieldsDeleted = 2 // the time to go had come already
)

// maxFieldExpiry is the last time at which Redis lets a field expire: it keeps
// 48 bits, and two of these in reserve.
const maxFieldExpiry = 1<<46 - 1

// readDeadline reads a number of units after base and returns the time in unix
// milliseconds.
func readDeadline(c *commands.Ctx, u commands.TimeUnit, base int64) int64 {
	n := c.Args.Int()
	switch {
	case c.Args.Err() != nil:
		return 0
	case n < 0:
		c.Args.Fail(errFieldExpiry)
	case n > maxFieldExpiry/int64(u), n*int64(u) > maxFieldExpiry-base:
		c.Args.Fail(commands.ErrInvalidExpire(c.Command))
	}
	return n*int64(u) + base
}

// readFields reads FIELDS, the number of fields and the fields, which end the
// call. bad is the error for what is no number of fields.
func readFields(a *commands.Args, bad error) [][]byte {
	if a.Err() == nil && !a.Is("FIELDS") {
		a.Fail(errFieldsMissing)
	}
	n := a.IntIn(1, math.MaxInt64, bad)
	if a.Err() == nil && n != int64(a.Left()) {
		a.Fail(errNumFieldsMatch)
	}
	return a.Rest()
}

// hexpire looks at the type of the key before it reads its arguments, as Redis
// does.
func hexpire(c *commands.Ctx, u commands.TimeUnit, base int64) error {
	key := c.Args.Key()
	h, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	x := fieldExpirer{c: c, h: h, ch: ch, ms: readDeadline(c, u, base), when: readCondition(&c.Args)}
	fields := readFields(&c.Args, errNumFieldsZero)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := ready(c, h, 1, fields...); err != nil {
		return err
	}
	c.Reply.Array(len(fields))
	for _, name := range fields {
		if !ok {
			c.Reply.Int(fieldMissing)
			continue
		}
		c.Reply.Int(x.expire(name))
	}
	x.notify(key)
	return nil
}

// readCondition reads NX, XX, GT or LT if the next argument is one of them.
func readCondition(a *commands.Args) commands.ExpiryCondition {
	ahead := *a
	f := commands.ParseExpiryCondition(ahead.Word())
	if f != 0 {
		a.Skip(1)
	}
	return f
}

// fieldExpirer gives fields of one hash the same expiry.
type fieldExpirer struct {
	c                *commands.Ctx
	h                *hash.Hash
	ch               *structures.Change
	ms               int64
	when             commands.ExpiryCondition
	updated, deleted int
}

// expire gives a field the expiry, or deletes it if that is past.
func (x *fieldExpirer) expire(name []byte) int64 {
	old, _, found := x.h.ExpiryOf(name)
	switch {
	case !found:
		return fieldMissing
	case !x.when.Allows(old, x.ms):
		return fieldRefused
	case x.ms <= x.c.Now:
		x.h.Delete(x.ch, name)
		x.deleted++
		return fieldsDeleted
	}
	x.h.ExpireAt(x.ch, name, x.ms)
	x.updated++
	return fieldChanged
}

func (x *fieldExpirer) notify(key []byte) {
	if x.deleted > 0 {
		x.c.Notify(commands.EventHash, "hdel", key)
	} else if x.updated > 0 {
		x.c.Notify(commands.EventHash, "hexpire", key)
	}
	if x.deleted > 0 {
		notifyEmptied(x.c, x.h, key)
	}
}

func fieldTTL(c *commands.Ctx, u commands.TimeUnit, base int64) error {
	h, ok, err := view(c, c.Args.Key())
	if err != nil {
		return err
	}
	fields := readFields(&c.Args, errNumFields)
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.Reply.Array(len(fields))
	for _, name := range fields {
		c.Reply.Int(timeLeft(h, ok, name, u, base))
	}
	return nil
}

// timeLeft is the time from base until a field goes. Seconds are rounded up.
func timeLeft(h *hash.Hash, ok bool, name []byte, u commands.TimeUnit, base int64) int64 {
	if !ok {
		return fieldMissing
	}
	ms, has, found := h.ExpiryOf(name)
	switch {
	case !found:
		return fieldMissing
	case !has:
		return fieldStays
	}
	return (ms - base + int64(u) - 1) / int64(u)
}

func hpersist(c *commands.Ctx) error {
	key := c.Args.Key()
	h, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	fields := readFields(&c.Args, errNumFields)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := ready(c, h, 1, fields...); err != nil {
		return err
	}
	changed := false
	c.Reply.Array(len(fields))
	for _, name := range fields {
		switch {
		case !ok || timeLeft(h, ok, name, commands.Milliseconds, 0) == fieldMissing:
			c.Reply.Int(fieldMissing)
		case !h.Persist(ch, name):
			c.Reply.Int(fieldStays)
		default:
			changed = true
			c.Reply.Int(fieldChanged)
		}
	}
	if changed {
		c.Notify(commands.EventHash, "hpersist", key)
	}
	return nil
}
