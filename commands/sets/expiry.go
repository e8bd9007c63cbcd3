package sets

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/set"
)

func expiryRows() []commands.Command {
	change := []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)}
	ask := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	const (
		members = "MEMBERS nummembers member [member ...]"
		when    = " [NX | XX | GT | LT] " + members
		cost    = "O(n) for n members"
		since   = "8.12.0"
	)
	expire := func(name, time, summary string, u commands.TimeUnit, fromNow bool) commands.Command {
		return commands.Command{Name: name, Arity: -6, Flags: commands.Write | commands.Fast, Keys: change, Syntax: "key " + time + when,
			Since: since, Cost: cost, Summary: summary, Run: func(c *commands.Ctx) error { return sexpire(c, u, baseOf(c, fromNow)) }}
	}
	ttl := func(name, summary string, u commands.TimeUnit, fromNow bool) commands.Command {
		tips := ""
		if fromNow {
			tips = "nondeterministic_output"
		}
		return commands.Command{Name: name, Arity: -5, Tips: tips, Flags: commands.ReadOnly | commands.Fast, Keys: ask, Syntax: "key " + members,
			Since: since, Cost: cost, Summary: summary, Run: func(c *commands.Ctx) error { return sttl(c, u, baseOf(c, fromNow)) }}
	}
	return []commands.Command{
		expire("SEXPIRE", "seconds", "Sets members of a set to expire after a number of seconds.", commands.Seconds, true),
		expire("SPEXPIRE", "milliseconds", "Sets members of a set to expire after a number of milliseconds.", commands.Milliseconds, true),
		expire("SEXPIREAT", "unix-time-seconds", "Sets members of a set to expire at a Unix time in seconds.", commands.Seconds, false),
		expire("SPEXPIREAT", "unix-time-milliseconds", "Sets members of a set to expire at a Unix time in milliseconds.", commands.Milliseconds, false),
		ttl("STTL", "Returns in how many seconds members of a set expire.", commands.Seconds, true),
		ttl("SPTTL", "Returns in how many milliseconds members of a set expire.", commands.Milliseconds, true),
		ttl("SEXPIRETIME", "Returns the Unix time in seconds at which members of a set expire.", commands.Seconds, false),
		ttl("SPEXPIRETIME", "Returns the Unix time in milliseconds at which members of a set expire.", commands.Milliseconds, false),
		{Name: "SPERSIST", Arity: -5, Flags: commands.Write | commands.Fast, Keys: change, Syntax: "key " + members,
			Since: since, Cost: cost, Summary: "Removes the expiry of members of a set.", Run: spersist},
	}
}

// baseOf is the time from which a command counts.
func baseOf(c *commands.Ctx, fromNow bool) int64 {
	if fromNow {
		return c.Now
	}
	return 0
}

// memberWords are what the commands call members.
var memberWords = commands.PartWords{Keyword: "MEMBERS", Missing: errMembersMissing, Match: errNumMembersMatch}

// sexpire looks at the type of the key before it reads its arguments, as HEXPIRE does.
func sexpire(c *commands.Ctx, u commands.TimeUnit, base int64) error {
	key := c.Args.Key()
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	x := commands.PartExpirer{Value: s, Change: ch, Delete: func(member []byte) { s.Remove(ch, member) }, Now: c.Now,
		Millis: c.PartDeadline(u, base), When: c.Args.Condition()}
	members := c.Args.Parts(&memberWords, errNumMembersZero)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if ok {
		if err := set.MayExpire(ch); err != nil {
			return err
		}
		if !s.ReadyExpire(members...) {
			return c.Tx.Err()
		}
	}
	c.Reply.Array(len(members))
	for _, member := range members {
		if !ok {
			c.Reply.Int(commands.PartMissing)
			continue
		}
		c.Reply.Int(x.Expire(member))
	}
	if x.Updated > 0 {
		c.Notify(commands.EventSet, "sexpire", key)
	}
	if x.Deleted > 0 {
		notifyRemoved(c, "srem", s, key)
	}
	return nil
}

func sttl(c *commands.Ctx, u commands.TimeUnit, base int64) error {
	s, ok, err := view(c, c.Args.Key())
	if err != nil {
		return err
	}
	members := c.Args.Parts(&memberWords, errNumMembers)
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.Reply.Array(len(members))
	for _, member := range members {
		if !ok {
			c.Reply.Int(commands.PartMissing)
			continue
		}
		c.Reply.Int(commands.PartTTL(s, member, u, base))
	}
	return nil
}

func spersist(c *commands.Ctx) error {
	key := c.Args.Key()
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	members := c.Args.Parts(&memberWords, errNumMembers)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if ok && !s.ReadyExpire(members...) {
		return c.Tx.Err()
	}
	changed := false
	c.Reply.Array(len(members))
	for _, member := range members {
		n := int64(commands.PartMissing)
		if ok {
			n = commands.PersistPart(s, ch, member)
		}
		changed = changed || n == commands.PartChanged
		c.Reply.Int(n)
	}
	if changed {
		c.Notify(commands.EventSet, "spersist", key)
	}
	return nil
}
