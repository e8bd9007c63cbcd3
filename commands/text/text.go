package text

import (
	"math"
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
)

func Group() commands.Group {
	rows := make([]commands.Command, 0, 24)
	rows = append(rows, readRows()...)
	rows = append(rows, writeRows()...)
	rows = append(rows, multiRows()...)
	rows = append(rows, compareRows()...)
	rows = append(rows, numberRows()...)
	rows = append(rows, increxRows()...)
	return commands.Group{Name: "string", Commands: rows}
}

func readRows() []commands.Command {
	read := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return []commands.Command{
		{Name: "GET", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key", Since: "1.0.0",
			Cost: "O(1)", Summary: "Returns the string at a key.", Run: get},
		{Name: "MGET", Arity: -2, Tips: "request_policy:multi_shard", Flags: commands.ReadOnly | commands.Fast, Keys: []commands.KeySpec{commands.KeyRange(1, -1, 1, commands.RO|commands.Access)},
			Syntax: "key [key ...]", Since: "1.0.0", Cost: "O(n) for n keys",
			Summary: "Returns the strings at several keys, null for a key without a string.", Run: mget},
		{Name: "STRLEN", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RO)}, Syntax: "key", Since: "2.2.0",
			Cost: "O(1)", Summary: "Returns the length of a string in bytes.", Run: strlen},
		{Name: "GETRANGE", Arity: 4, Flags: commands.ReadOnly, Keys: read, Syntax: "key start end", Since: "2.4.0",
			Cost: "O(n) for n bytes returned", Summary: "Returns a part of a string.", Run: getrange},
		{Name: "SUBSTR", Arity: 4, Flags: commands.ReadOnly, Keys: read, Syntax: "key start end", Since: "1.0.0",
			Cost: "O(n) for n bytes returned", Summary: "Returns a part of a string. Old name of GETRANGE.", Run: getrange},
		{Name: "LCS", Arity: -3, Flags: commands.ReadOnly, Keys: []commands.KeySpec{commands.KeyRange(1, 2, 1, commands.RO|commands.Access)},
			Syntax: "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]", Since: "7.0.0",
			Cost: "O(n*m) for strings of n and m bytes", Summary: "Finds the longest common subsequence of two strings.", Run: lcs},
	}
}

func get(c *commands.Ctx) error {
	key := c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	return replyString(c, key)
}

// replyString writes the string at key, or null.
func replyString(c *commands.Ctx, key []byte) error {
	b, ok, err := c.ViewString(key)
	return replyFound(c, b, ok, err)
}

// replyFound writes b, or null if it was not found; or it returns err.
func replyFound(c *commands.Ctx, b []byte, ok bool, err error) error {
	switch {
	case err != nil:
		return err
	case !ok:
		c.Reply.Null()
	default:
		c.Reply.Bulk(b)
	}
	return nil
}

func mget(c *commands.Ctx) error {
	keys := c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.Reply.Array(len(keys))
	for _, key := range keys {
		// A key that holds another type returns null like a missing one.
		if b, ok, err := c.ViewString(key); ok && err == nil {
			c.Reply.Bulk(b)
		} else {
			c.Reply.Null()
		}
	}
	return nil
}

func strlen(c *commands.Ctx) error {
	key := c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	b, _, err := c.ViewString(key)
	if err != nil {
		return err
	}
	c.Reply.Int(int64(len(b)))
	return nil
}

func getrange(c *commands.Ctx) error {
	key, start, end := c.Args.Key(), c.Args.Int(), c.Args.Int()
	if err := c.Args.Done(); err != nil {
		return err
	}
	b, _, err := c.ViewString(key)
	if err != nil {
		return err
	}
	c.Reply.Bulk(substring(b, start, end))
	return nil
}

// substring is b[start..end], both included; negative bounds count from the
// end, and bounds outside are moved to the ends.
func substring(b []byte, start, end int64) []byte {
	n := int64(len(b))
	if start < 0 && end < 0 && start > end {
		return nil // empty even where both would be moved to the first byte
	}
	if start < 0 {
		start = max(start+n, 0)
	}
	if end < 0 {
		end = max(end+n, 0)
	}
	end = min(end, n-1)
	if start > end {
		return nil
	}
	return b[start : end+1]
}

func numberRows() []commands.Command {
	change := []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Update)}
	return []commands.Command{
		{Name: "INCR", Arity: 2, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: change, Syntax: "key", Since: "1.0.0",
			Cost: "O(1)", Summary: "Adds 1 to the integer at a key. A missing key counts as 0.", Run: incr},
		{Name: "DECR", Arity: 2, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: change, Syntax: "key", Since: "1.0.0",
			Cost: "O(1)", Summary: "Subtracts 1 from the integer at a key. A missing key counts as 0.", Run: decr},
		{Name: "INCRBY", Arity: 3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: change, Syntax: "key increment", Since: "1.0.0",
			Cost: "O(1)", Summary: "Adds a number to the integer at a key. A missing key counts as 0.", Run: incrby},
		{Name: "DECRBY", Arity: 3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: change, Syntax: "key decrement", Since: "1.0.0",
			Cost: "O(1)", Summary: "Subtracts a number from the integer at a key. A missing key counts as 0.", Run: decrby},
		{Name: "INCRBYFLOAT", Arity: 3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: change, Syntax: "key increment", Types: commands.Types{"increment": commands.ArgDouble}, Since: "2.6.0",
			Cost: "O(1)", Summary: "Adds a floating-point number to the number at a key. A missing key counts as 0.", Run: incrbyfloat},
	}
}

func incr(c *commands.Ctx) error { return addInteger(c, c.Args.Key(), 1) }
func decr(c *commands.Ctx) error { return addInteger(c, c.Args.Key(), -1) }

func incrby(c *commands.Ctx) error {
	key, n := c.Args.Key(), c.Args.Int()
	return addInteger(c, key, n)
}

func decrby(c *commands.Ctx) error {
	key, n := c.Args.Key(), c.Args.Int()
	if n == math.MinInt64 {
		c.Args.Fail(errDecrOverflow)
	}
	return addInteger(c, key, -n)
}

func addInteger(c *commands.Ctx, key []byte, n int64) error {
	if err := c.Args.Done(); err != nil {
		return err
	}
	b, ok, err := c.Tx.String(key)
	if err != nil {
		return err
	}
	var v int64
	if ok {
		if v, ok = commands.ParseInt(b); !ok {
			return commands.ErrNotInteger
		}
	}
	if n > 0 && v > math.MaxInt64-n || n < 0 && v < math.MinInt64-n {
		return commands.ErrOverflow
	}
	v += n
	var digits [20]byte
	c.NotifyNew(key)
	c.Tx.SetString(key, strconv.AppendInt(digits[:0], v, 10), persistence.KeepExpiry)
	c.Notify(commands.EventString, "incrby", key)
	c.Reply.Int(v)
	return nil
}

func incrbyfloat(c *commands.Ctx) error {
	key, arg := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	b, ok, err := c.Tx.String(key)
	if err != nil {
		return err
	}
	if !ok {
		b = []byte{'0'}
	}
	sum, err := commands.AddLongDouble(b, arg)
	if err != nil {
		return err
	}
	c.NotifyNew(key)
	c.Tx.SetString(key, sum, persistence.KeepExpiry)
	c.Notify(commands.EventString, "incrbyfloat", key)
	c.Reply.Bulk(sum)
	return nil
}
