package hashes

import (
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

// fieldWords are what the commands call fields.
var fieldWords = commands.PartWords{Keyword: "FIELDS", Missing: errFieldsMissing, Match: errNumFieldsMatch}

// readFields reads FIELDS, the number of fields and the fields.
func readFields(a *commands.Args, bad error) [][]byte { return a.Parts(&fieldWords, bad) }

// hexpire looks at the type of the key before it reads its arguments, as Redis
// does.
func hexpire(c *commands.Ctx, u commands.TimeUnit, base int64) error {
	key := c.Args.Key()
	h, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	x := expirer(c, h, ch, c.PartDeadline(u, base))
	x.When = c.Args.Condition()
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
			c.Reply.Int(commands.PartMissing)
			continue
		}
		c.Reply.Int(x.Expire(name))
	}
	notifyExpirer(c, &x, h, key)
	return nil
}

// expirer gives fields of a hash the same expiry.
func expirer(c *commands.Ctx, h *hash.Hash, ch *structures.Change, ms int64) commands.PartExpirer {
	return commands.PartExpirer{Value: h, Change: ch, Delete: func(field []byte) { h.Delete(ch, field) }, Now: c.Now, Millis: ms}
}

func notifyExpirer(c *commands.Ctx, x *commands.PartExpirer, h *hash.Hash, key []byte) {
	if x.Deleted > 0 {
		c.Notify(commands.EventHash, "hdel", key)
	} else if x.Updated > 0 {
		c.Notify(commands.EventHash, "hexpire", key)
	}
	if x.Deleted > 0 {
		notifyEmptied(c, h, key)
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
		if !ok {
			c.Reply.Int(commands.PartMissing)
			continue
		}
		c.Reply.Int(commands.PartTTL(h, name, u, base))
	}
	return nil
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
		n := int64(commands.PartMissing)
		if ok {
			n = commands.PersistPart(h, ch, name)
		}
		changed = changed || n == commands.PartChanged
		c.Reply.Int(n)
	}
	if changed {
		c.Notify(commands.EventHash, "hpersist", key)
	}
	return nil
}
