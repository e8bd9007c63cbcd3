package keys

import (
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/glob"
	"github.com/vigildb/vigil/structures/types"
)

func scanRows() []commands.Command {
	return []commands.Command{
		{Name: "KEYS", Arity: 2, Tips: "request_policy:all_shards nondeterministic_output_order", Flags: commands.ReadOnly | commands.Keyspace | commands.Dangerous,
			Syntax: "pattern", Since: "1.0.0", Cost: "O(n) for n keys in the database",
			Summary: "Lists the keys that match a pattern.", Run: keys},
		{Name: "SCAN", Arity: -2, Tips: "nondeterministic_output request_policy:special response_policy:special", Flags: commands.ReadOnly | commands.Keyspace,
			Syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]", Since: "2.8.0",
			Cost:    "O(1) for each call, O(n) for all keys",
			Summary: "Iterates over the keys of the database.", Run: scan},
		{Name: "RANDOMKEY", Arity: 1, Tips: "request_policy:all_shards response_policy:special nondeterministic_output", Flags: commands.ReadOnly | commands.Keyspace,
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns a random key of the database.", Run: randomKey},
	}
}

func keys(c *commands.Ctx) error {
	pattern := c.Args.Bytes()
	c.Reply.ArrayLater(func() int {
		n := 0
		if glob.Literal(pattern) {
			// Only one key can match: no need to look at the others.
			if c.Tx.Kind(pattern) != structures.KindNone {
				c.Reply.Bulk(pattern)
				n++
			}
			return n
		}
		c.Tx.Databases().Keys(func(key []byte) bool {
			if string(pattern) == "*" || glob.Match(pattern, key) { // the star fits the empty key too
				c.Reply.Bulk(key)
				n++
			}
			return true
		})
		return n
	})
	return nil
}

func scan(c *commands.Ctx) error {
	cursor := c.Args.Cursor()
	var kind []byte // nil: of any type
	o := c.Args.ScanOptions(func() bool {
		if c.Args.Left() < 2 || !c.Args.Is("TYPE") {
			return false
		}
		kind = c.Args.Bytes()
		return true
	})
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.Reply.Scan(func() (next uint64, n int) {
		next = c.Tx.Databases().Scan(cursor, o.Count, func(key []byte, k structures.Kind) {
			if !o.Matches(key) {
				return
			}
			if kind != nil {
				c.Lookups.Add(true) // Redis looks at the value
				if !strings.EqualFold(string(kind), types.Name(k)) {
					return
				}
			}
			c.Reply.Bulk(key)
			n++
		})
		return next, n
	})
	return nil
}

func randomKey(c *commands.Ctx) error {
	key, ok := c.Tx.Databases().RandomKey(c.Host.Random)
	if !ok {
		c.Reply.Null()
		return nil
	}
	c.Reply.Bulk(key)
	return nil
}
