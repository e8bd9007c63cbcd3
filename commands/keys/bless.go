package keys

import (
	"math"

	"github.com/vigildb/vigil/commands"
)

// noEvict is the one thing that a key can be blessed with.
const noEvict = "NO-EVICT"

func blessRows() []commands.Command {
	set := []commands.KeySpec{commands.Key(2, commands.RW|commands.Update)}
	get := []commands.KeySpec{commands.Key(2, commands.RO|commands.Access)}
	const changes = commands.Write | commands.Fast | commands.Dangerous
	return []commands.Command{
		{Name: "BLESS", Arity: -2, Since: "8.12.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about keys that stay when others are deleted to make room."},
		{Name: "BLESS SET", Arity: 4, Flags: changes | commands.DenyOOM, Keys: set, Syntax: "key NO-EVICT", Since: "8.12.0", Cost: "O(1)",
			Summary: "Keeps a key from being deleted to make room, as long as it exists.", Run: func(c *commands.Ctx) error { return bless(c, true) }},
		{Name: "BLESS CLEAR", Arity: 4, Flags: changes, Keys: set, Syntax: "key NO-EVICT", Since: "8.12.0", Cost: "O(1)",
			Summary: "Ends BLESS SET.", Run: func(c *commands.Ctx) error { return bless(c, false) }},
		{Name: "BLESS GET", Arity: 3, Flags: commands.ReadOnly | commands.Fast | commands.Dangerous, Keys: get, Syntax: "key", Since: "8.12.0", Cost: "O(1)",
			Summary: "Returns what a key is blessed with.", Run: blessGet},
		{Name: "BLESS SCAN", Arity: -4, Tips: "nondeterministic_output request_policy:special response_policy:special",
			Flags: commands.ReadOnly | commands.Keyspace | commands.Dangerous, Syntax: "cursor NO-EVICT [COUNT count]", Since: "8.12.0",
			Cost:    "O(1) for each call, O(n) for all keys",
			Summary: "Iterates over the keys of the database that are blessed.", Run: blessScan},
		commands.Help("BLESS", "8.12.0", commands.Loading|commands.Stale),
	}
}

// readBlessing reads what a key is blessed with.
func readBlessing(a *commands.Args) {
	if !a.Is(noEvict) {
		a.Syntax()
	}
}

func bless(c *commands.Ctx, on bool) error {
	key := c.Args.Key()
	readBlessing(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	changed, ok, err := c.Tx.Bless(key, on)
	switch {
	case err != nil:
		return err
	case !ok:
		return commands.ErrNoKey
	}
	if changed {
		event := "bless"
		if !on {
			event = "unbless"
		}
		c.Notify(commands.EventGeneric, event, key)
	}
	c.Reply.IntBool(changed)
	return nil
}

func blessGet(c *commands.Ctx) error {
	blessed, ok := c.Tx.Blessed(c.Args.Key())
	if !ok {
		return commands.ErrNoKey
	}
	var list []string
	if blessed {
		list = append(list, noEvict)
	}
	c.Reply.Strings(list)
	return nil
}

func blessScan(c *commands.Ctx) error {
	cursor := c.Args.Cursor()
	readBlessing(&c.Args)
	count := int64(10)
	if c.Args.More() {
		if !c.Args.Is("COUNT") {
			c.Args.Syntax()
		}
		count = c.Args.IntIn(1, math.MaxInt32, commands.ErrSyntax)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.Reply.Scan(func() (next uint64, n int) {
		next = c.Tx.Databases().ScanBlessed(cursor, int(count), func(key []byte) {
			c.Reply.Bulk(key)
			n++
		})
		return next, n
	})
	return nil
}
