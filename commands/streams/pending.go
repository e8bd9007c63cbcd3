package streams

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/stream"
)

func pendingRows() []commands.Command {
	return []commands.Command{
		{Name: "XACK", Arity: -4, Flags: commands.Write | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)},
			Syntax: "key group id [id ...]", Since: "5.0.0", Cost: "O(log n) for each ID and n pending entries",
			Summary: "Acknowledges entries: they are no longer pending.", Run: xack},
		{Name: "XPENDING", Arity: -3, Tips: "nondeterministic_output", Flags: commands.ReadOnly,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)},
			Syntax: "key group [[IDLE min-idle-time] start end count [consumer]]",
			Types:  commands.Types{"start": commands.ArgString, "end": commands.ArgString, "min-idle-time": commands.ArgInteger}, Since: "5.0.0",
			Cost:    "O(n) for n consumers, or for n entries returned or passed over as they are not idle",
			Summary: "Returns the entries that were delivered to consumers of a group and not acknowledged.", Run: xpending},
	}
}

// xack reads the IDs only if there is a group, as Redis does.
func xack(c *commands.Ctx) error {
	key, name := c.Args.Key(), c.Args.Bytes()
	s, ch, ok, err := editRead(c, key)
	if err != nil {
		return err
	}
	var g *stream.Group
	if ok {
		g = s.Group(name)
	}
	if g == nil {
		c.Reply.Int(0)
		return nil
	}
	var room [fewIDs]stream.ID
	ids := readIDs(&c.Args, room[:0])
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.Reply.Int(int64(g.Ack(ch, ids)))
	return nil
}

// pendingRange is the arguments of XPENDING behind the group, if there are any.
type pendingRange struct {
	given    bool
	idle     int64
	from, to stream.ID
	count    int
	consumer []byte
}

func readPendingRange(a *commands.Args) (p pendingRange) {
	n := a.Left()
	if n == 0 {
		return p
	}
	p.given = true
	if n < 3 || n > 6 {
		a.Syntax()
		return p
	}
	if a.Is("IDLE") {
		p.idle = a.Int()
	}
	if a.Left() < 3 {
		a.Syntax()
		return p
	}
	ends := a.Take(2)
	p.count = readCount(a)
	if a.Err() != nil {
		return p
	}
	var err error
	if p.from, err = lower.parse(ends[0]); err != nil {
		a.Fail(err)
	} else if p.to, err = upper.parse(ends[1]); err != nil {
		a.Fail(err)
	}
	if a.More() {
		p.consumer = a.Bytes()
	}
	return p
}

func xpending(c *commands.Ctx) error {
	key, name := c.Args.Key(), c.Args.Bytes()
	p := readPendingRange(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ok, err := view(c, key)
	if err != nil {
		return err
	}
	var g *stream.Group
	if ok {
		g = s.Group(name)
	}
	if g == nil {
		return errNoGroup(key, name)
	}
	if !p.given {
		replyPendingSummary(c, g)
		return nil
	}
	var consumer *stream.Consumer
	if p.consumer != nil {
		if consumer = g.Consumer(p.consumer); consumer == nil {
			c.Reply.Array(0)
			return nil
		}
	}
	c.Reply.ArrayLater(func() int { return replyPending(c, g, consumer, &p) })
	return nil
}

func replyPendingSummary(c *commands.Ctx, g *stream.Group) {
	r := &c.Reply
	r.Array(4)
	r.Int(int64(g.Pending()))
	if g.Pending() == 0 {
		r.Null()
		r.Null()
		r.NullArray()
		return
	}
	first, last := g.PendingSpan()
	replyID(r, first)
	replyID(r, last)
	r.ArrayLater(func() (n int) {
		for _, consumer := range g.Consumers() {
			if consumer.Pending() > 0 {
				r.Array(2)
				r.BulkString(consumer.Name())
				r.BulkInt(int64(consumer.Pending()))
				n++
			}
		}
		return n
	})
}

// replyPending writes pending entries, of all consumers if consumer is nil.
func replyPending(c *commands.Ctx, g *stream.Group, consumer *stream.Consumer, p *pendingRange) (n int) {
	if p.count == 0 {
		return 0
	}
	visit := func(e stream.Pending) bool {
		idle := c.Now - e.Time
		if p.idle != 0 && idle < p.idle {
			return true
		}
		c.Reply.Array(4)
		replyID(&c.Reply, e.ID)
		if e.Consumer == nil { // released
			c.Reply.BulkString("")
			c.Reply.Int(-1)
		} else {
			c.Reply.BulkString(e.Consumer.Name())
			c.Reply.Int(max(idle, 0))
		}
		c.Reply.Int(e.Deliveries)
		n++
		return n < p.count
	}
	if consumer != nil {
		g.EachPendingOf(consumer, p.from, p.to, visit)
	} else {
		g.EachPending(p.from, p.to, visit)
	}
	return n
}
