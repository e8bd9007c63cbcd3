package sets

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/set"
)

func expiryRows() []commands.Command {
	rows := commands.PartRows{Letter: "S", Part: "member", Of: "set", Since: "8.12.0", Expire: sexpire, TTL: sttl, Persist: spersist}
	return rows.Commands()
}

// memberWords are what the commands call members.
var memberWords = commands.PartWords{Keyword: "MEMBERS", Missing: errMembersMissing, Match: errNumMembersMatch}

// placed reads members that stand anywhere among the options of a call. At least so many arguments follow MEMBERS, else
// the error is none; bad is that for what is no number of members.
func placed(least int, bad, none error) commands.PartReader {
	return commands.PartReader{Words: &memberWords, Width: 1, Least: least, Bad: bad, None: none, Few: errNumMembersFew,
		Missing: errMembersNowhere, Many: errMemberConditions,
		Unknown: func(word []byte, _ bool) error { return commands.ErrUnknownArgument(word) }}
}

// sexpire looks at the type of the key before it reads its arguments, as HEXPIRE does.
func sexpire(c *commands.Ctx, u commands.TimeUnit, base int64) error {
	key := c.Args.Key()
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	x := commands.PartExpirer{Value: s, Change: ch, Delete: func(member []byte) { s.Remove(ch, member) }, Now: c.Now,
		Millis: c.PartDeadline(u, base)}
	read := placed(2, errNumMembersZero, errMembersNone)
	when, members := read.ToExpire(&c.Args)
	x.When = when
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
	c.ReplyParts(members, ok, x.Expire)
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
	c.ReplyParts(members, ok, func(member []byte) int64 { return commands.PartTTL(s, member, u, base) })
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
	c.ReplyParts(members, ok, func(member []byte) int64 {
		n := commands.PersistPart(s, ch, member)
		changed = changed || n == commands.PartChanged
		return n
	})
	if changed {
		c.Notify(commands.EventSet, "spersist", key)
	}
	return nil
}
