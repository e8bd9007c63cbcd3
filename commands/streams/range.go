package streams

import (
	"math"
	"slices"

	"github.com/vigildb/vigil/commands"
)

func rangeRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return []commands.Command{
		{Name: "XRANGE", Arity: -4, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key start end [COUNT count]", Types: rangeTypes, Since: "5.0.0",
			Cost:    "O(log n) for the first entry of a stream of n, and O(m) for m entries returned",
			Summary: "Returns the entries of a stream between two IDs.",
			Run:     func(c *commands.Ctx) error { return xrange(c, false) }},
		{Name: "XREVRANGE", Arity: -4, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key end start [COUNT count]", Types: rangeTypes, Since: "5.0.0",
			Cost:    "O(log n) for the first entry of a stream of n, and O(m) for m entries returned",
			Summary: "Returns the entries of a stream between two IDs in reverse order.",
			Run:     func(c *commands.Ctx) error { return xrange(c, true) }},
		{Name: "XLEN", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RO)},
			Syntax: "key", Since: "5.0.0", Cost: "O(1)",
			Summary: "Returns the number of entries of a stream.", Run: xlen},
	}
}

// rangeTypes are of arguments that are numbers elsewhere.
var rangeTypes = commands.Types{"start": commands.ArgString, "end": commands.ArgString}

func xrange(c *commands.Ctx, back bool) error {
	key := c.Args.Key()
	ends := c.Args.Take(2)
	if err := c.Args.Err(); err != nil {
		return err
	}
	e := entries{key: key, count: math.MaxInt, back: back}
	start, end := ends[0], ends[1]
	if back {
		start, end = end, start
	}
	var err error
	if e.from, err = lower.parse(start); err != nil {
		return err
	}
	if e.to, err = upper.parse(end); err != nil {
		return err
	}
	for c.Args.More() {
		if c.Args.Left() < 2 || !c.Args.Is("COUNT") {
			c.Args.Syntax()
			break
		}
		e.count = readCount(&c.Args)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ok, err := view(c, key)
	switch {
	case err != nil:
		return err
	case !ok:
		c.Reply.Array(0)
		return nil
	case e.count == 0:
		c.Reply.NullArray()
		return nil
	}
	e.s = s
	replyEntries(c, []entries{e}, func(list []entries) { list[0].write(&c.Reply) })
	return nil
}

// replyEntries calls write to write entries: behind the locks, if some of them are many.
func replyEntries(c *commands.Ctx, list []entries, write func(list []entries)) {
	if !slices.ContainsFunc(list, func(e entries) bool { return e.many() }) {
		write(list)
		return
	}
	for i := range list {
		list[i].lend()
	}
	c.Later(func() { write(list) })
}

func xlen(c *commands.Ctx) error {
	s, ok, err := view(c, c.Args.Key())
	return c.ReplyLen(s, ok, err)
}
