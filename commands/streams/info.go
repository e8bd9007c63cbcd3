package streams

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/stream"
)

func infoRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(2, commands.RO|commands.Access)}
	return []commands.Command{
		{Name: "XINFO", Arity: -2, Since: "5.0.0", Cost: "Depends on subcommand.",
			Summary: "Groups the commands that describe streams."},
		{Name: "XINFO STREAM", Arity: -3, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key [FULL [COUNT count]]", Since: "5.0.0", Cost: "O(1), with FULL O(n) for n entries, groups and consumers shown",
			Summary: "Returns information about a stream.", Run: xinfoStream},
		{Name: "XINFO GROUPS", Arity: 3, Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key", Since: "5.0.0", Cost: "O(n) for n groups",
			Summary: "Returns information about the consumer groups of a stream.", Run: xinfoGroups},
		{Name: "XINFO CONSUMERS", Arity: 4, Tips: "nondeterministic_output", Flags: commands.ReadOnly, Keys: keys,
			Syntax: "key group", Since: "5.0.0", Cost: "O(n) for n consumers",
			Summary: "Returns information about the consumers of a group.", Run: xinfoConsumers},
		commands.Help("XINFO", "5.0.0", commands.Loading|commands.Stale),
	}
}

// viewExisting finds a stream, which must exist.
func viewExisting(c *commands.Ctx, key []byte) (*stream.Stream, error) {
	s, ok, err := view(c, key)
	if err == nil && !ok {
		err = commands.ErrNoKey
	}
	return s, err
}

// info writes the pairs of a map.
type info struct{ r *commands.Reply }

func (i info) text(name, s string) {
	i.r.BulkString(name)
	i.r.BulkString(s)
}

func (i info) number(name string, n int64) {
	i.r.BulkString(name)
	i.r.Int(n)
}

func (i info) id(name string, id stream.ID) {
	i.r.BulkString(name)
	replyID(i.r, id)
}

// known writes a number, or null if it is not known.
func (i info) known(name string, n int64, ok bool) {
	i.r.BulkString(name)
	if ok {
		i.r.Int(n)
		return
	}
	i.r.Null()
}

func xinfoGroups(c *commands.Ctx) error {
	s, err := viewExisting(c, c.Args.Key())
	if err != nil {
		return err
	}
	groups := s.Groups()
	c.Reply.Array(len(groups))
	for _, g := range groups {
		i := info{&c.Reply}
		c.Reply.Map(6)
		i.text("name", g.Name())
		i.number("consumers", int64(g.ConsumerCount()))
		i.number("pending", int64(g.Pending()))
		i.id("last-delivered-id", g.Last())
		i.progress(g)
	}
	return nil
}

// progress writes how far a group has come.
func (i info) progress(g *stream.Group) {
	i.known("entries-read", g.Read(), g.Read() != stream.Unknown)
	lag, ok := g.Lag()
	i.known("lag", lag, ok)
}

func xinfoConsumers(c *commands.Ctx) error {
	key, name := c.Args.Key(), c.Args.Bytes()
	s, err := viewExisting(c, key)
	if err != nil {
		return err
	}
	g := s.Group(name)
	if g == nil {
		return errNoGroupOf(key, name)
	}
	consumers := g.Consumers()
	c.Reply.Array(len(consumers))
	for _, consumer := range consumers {
		i := info{&c.Reply}
		c.Reply.Map(4)
		i.text("name", consumer.Name())
		i.number("pending", int64(consumer.Pending()))
		i.number("idle", max(c.Now-consumer.Seen(), 0))
		inactive := int64(stream.Never)
		if consumer.Active() != stream.Never {
			inactive = max(c.Now-consumer.Active(), 0)
		}
		i.number("inactive", inactive)
	}
	return nil
}

// defaultShown is how many entries of each kind XINFO STREAM FULL shows.
const defaultShown = 10

// readFull reads the options of XINFO STREAM. count is of FULL, 0 without it.
func readFull(c *commands.Ctx) (count int) {
	a := &c.Args
	bad := commands.ErrSubcommandArity(c)
	if !a.More() {
		return 0
	}
	if n := a.Left(); !a.Is("FULL") || n != 1 && n != 3 {
		a.Fail(bad)
		return 0
	}
	if !a.More() {
		return defaultShown
	}
	if !a.Is("COUNT") {
		a.Fail(bad)
		return 0
	}
	switch n := a.Int(); {
	case n < 0:
		return defaultShown
	case n == 0:
		return math.MaxInt
	default:
		return int(n)
	}
}

// xinfoStream looks at the key before its options, as Redis does.
func xinfoStream(c *commands.Ctx) error {
	s, err := viewExisting(c, c.Args.Key())
	if err != nil {
		return err
	}
	count := readFull(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if count > 0 {
		c.Reply.Map(15)
		replyStream(c, s)
		replyFull(c, s, count)
		return nil
	}
	c.Reply.Map(16)
	replyStream(c, s)
	info{&c.Reply}.number("groups", int64(s.GroupCount()))
	c.Reply.BulkString("first-entry")
	replyEdge(c, s.Each)
	c.Reply.BulkString("last-entry")
	replyEdge(c, s.Backward)
	return nil
}

// replyStream writes what XINFO STREAM has in either form. Pages stand for the keys
// of Redis's radix tree.
func replyStream(c *commands.Ctx, s *stream.Stream) {
	i := info{&c.Reply}
	i.number("length", int64(s.Len()))
	i.number("radix-tree-keys", int64(s.Nodes()))
	i.number("radix-tree-nodes", int64(s.Nodes())+1)
	i.id("last-generated-id", s.Last())
	i.id("max-deleted-entry-id", s.MaxDeleted())
	i.number("entries-added", int64(s.Added()))
	i.id("recorded-first-entry-id", s.First())
	w, n := s.Window(), s.Naming(c.Now)
	i.number("idmp-duration", w.Seconds)
	i.number("idmp-maxsize", int64(w.Most))
	i.number("pids-tracked", int64(n.Producers))
	i.number("iids-tracked", int64(n.Names))
	i.number("iids-added", int64(n.Added))
	i.number("iids-duplicates", int64(n.Duplicates))
}

// replyEdge writes the first entry that walk visits, or null.
func replyEdge(c *commands.Ctx, walk func(from, to stream.ID, visit func(*stream.Entry) bool)) {
	none := true
	walk(stream.ID{}, stream.MaxID, func(e *stream.Entry) bool {
		replyEntry(&c.Reply, e)
		none = false
		return false
	})
	if none {
		c.Reply.Null()
	}
}

// replyFull writes what only XINFO STREAM FULL has.
func replyFull(c *commands.Ctx, s *stream.Stream, count int) {
	c.Reply.BulkString("entries")
	e := entries{s: s, to: stream.MaxID, count: count}
	e.write(&c.Reply)
	c.Reply.BulkString("groups")
	groups := s.Groups()
	c.Reply.Array(len(groups))
	for _, g := range groups {
		i := info{&c.Reply}
		c.Reply.Map(8)
		i.text("name", g.Name())
		i.id("last-delivered-id", g.Last())
		i.progress(g)
		i.number("pel-count", int64(g.Pending()))
		i.number("nacked-count", int64(g.Released()))
		c.Reply.BulkString("pending")
		c.Reply.ArrayLater(func() (n int) {
			g.EachPending(stream.ID{}, stream.MaxID, func(p stream.Pending) bool {
				c.Reply.Array(4)
				replyID(&c.Reply, p.ID)
				if p.Consumer == nil { // released
					c.Reply.BulkString("")
				} else {
					c.Reply.BulkString(p.Consumer.Name())
				}
				c.Reply.Int(p.Time)
				c.Reply.Int(p.Deliveries)
				n++
				return n < count
			})
			return n
		})
		c.Reply.BulkString("consumers")
		consumers := g.Consumers()
		c.Reply.Array(len(consumers))
		for _, consumer := range consumers {
			replyConsumer(c, g, consumer, count)
		}
	}
}

func replyConsumer(c *commands.Ctx, g *stream.Group, consumer *stream.Consumer, count int) {
	i := info{&c.Reply}
	c.Reply.Map(5)
	i.text("name", consumer.Name())
	i.number("seen-time", consumer.Seen())
	i.number("active-time", consumer.Active())
	i.number("pel-count", int64(consumer.Pending()))
	c.Reply.BulkString("pending")
	c.Reply.ArrayLater(func() (n int) {
		g.EachPendingOf(consumer, stream.ID{}, stream.MaxID, func(p stream.Pending) bool {
			c.Reply.Array(3)
			replyID(&c.Reply, p.ID)
			c.Reply.Int(p.Time)
			c.Reply.Int(p.Deliveries)
			n++
			return n < count
		})
		return n
	})
}
