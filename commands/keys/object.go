package keys

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
)

func objectRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(2, commands.RO)}
	return []commands.Command{
		{Name: "OBJECT", Arity: -2, Since: "2.2.3", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands that inspect how a key is stored."},
		{Name: "OBJECT ENCODING", Arity: 3, Tips: "nondeterministic_output", Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key", Since: "2.2.3", Cost: "O(1)",
			Summary: "Returns the encoding that Redis 7.0 would use for the value of a key.", Run: objectEncoding},
		{Name: "OBJECT FREQ", Arity: 3, Tips: "nondeterministic_output", Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key", Since: "4.0.0", Cost: "O(1)",
			Summary: "Returns the logarithmic access counter of a key, under an LFU policy.", Run: objectFreq},
		commands.Help("OBJECT", "6.2.0", commands.Loading|commands.Stale),
		{Name: "OBJECT IDLETIME", Arity: 3, Tips: "nondeterministic_output", Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key", Since: "2.2.3", Cost: "O(1)",
			Summary: "Returns the number of seconds since a key was last used.", Run: objectIdleTime},
		{Name: "OBJECT REFCOUNT", Arity: 3, Tips: "nondeterministic_output", Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key", Since: "2.2.3", Cost: "O(1)",
			Summary: "Returns the number of references to the value of a key that Redis would have.", Run: objectRefCount},
	}
}

// objectKey reads the key of the call. If it does not exist, the null reply is
// written and ok is false. To look at a key in this way is not to use it. It counts as a
// lookup, but a miss is not published.
func objectKey(c *commands.Ctx) (key []byte, ok bool) {
	key = c.Args.Key()
	ok = c.Tx.Kind(key) != structures.KindNone
	if c.Tx.Err() == nil {
		c.Lookups.Add(ok)
	}
	if !ok {
		c.Reply.Null()
	}
	return key, ok
}

func objectEncoding(c *commands.Ctx) error {
	key, ok := objectKey(c)
	if !ok {
		return nil
	}
	name, err := c.Encoding(key)
	if err == nil {
		c.Reply.BulkString(name)
	}
	return err
}

// Redis keeps strings that spell integers below sharedInts once for all keys, unless its
// policy of eviction asks of each key when it was used.
const (
	sharedInts = 10000
	shared     = math.MaxInt32
)

func objectRefCount(c *commands.Ctx) error {
	key, ok := objectKey(c)
	if !ok {
		return nil
	}
	count := int64(1)
	if c.Tx.Kind(key) == structures.KindString && c.Host.Limits().SharesInts {
		b, _, err := c.Tx.String(key)
		if err != nil {
			return err
		}
		if n, ok := commands.ParseInt(b); ok && n >= 0 && n < sharedInts {
			count = shared
		}
	}
	c.Reply.Int(count)
	return nil
}

func objectIdleTime(c *commands.Ctx) error {
	key, ok := objectKey(c)
	if !ok {
		return nil
	}
	if c.Host.Limits().LFU {
		return errLFUSelected
	}
	idle, _ := c.Tx.Usage().Idle(key)
	c.Reply.Int(idle)
	return nil
}

func objectFreq(c *commands.Ctx) error {
	key, ok := objectKey(c)
	if !ok {
		return nil
	}
	if !c.Host.Limits().LFU {
		return errLFUNotSelected
	}
	n, _ := c.Tx.Usage().Frequency(key)
	c.Reply.Int(int64(n))
	return nil
}
