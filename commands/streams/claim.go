package streams

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

func claimRows() []commands.Command {
	return []commands.Command{
		{Name: "XCLAIM", Arity: -6, Tips: "nondeterministic_output", Flags: commands.Write | commands.Fast,
			Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)},
			Syntax: "key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds] [RETRYCOUNT count] " +
				"[FORCE] [JUSTID] [LASTID lastid]",
			Types: commands.Types{"min-idle-time": commands.ArgString, "unix-time-milliseconds": commands.ArgUnixTime}, Since: "5.0.0",
			Cost:    "O(log n) for each ID and n pending entries",
			Summary: "Assigns pending entries to another consumer.", Run: xclaim},
		{Name: "XAUTOCLAIM", Arity: -6, Tips: "nondeterministic_output", Flags: commands.Write | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)},
			Syntax: "key group consumer min-idle-time start [COUNT count] [JUSTID]",
			Types:  commands.Types{"min-idle-time": commands.ArgString, "start": commands.ArgString}, Since: "6.2.0",
			Cost:    "O(1) if COUNT is small",
			Summary: "Assigns pending entries that have been idle for some time to another consumer.", Run: xautoclaim},
	}
}

// claim is XCLAIM or XAUTOCLAIM at work.
type claim struct {
	c        *commands.Ctx
	s        *stream.Stream
	g        *stream.Group
	ch       *structures.Change
	consumer *stream.Consumer

	minIdle int64
	time    int64 // of the delivery that is noted
	retry   int64 // deliveries to be noted; negative: one more
	force   bool
	justID  bool

	taken   []stream.Pending
	removed []stream.ID // pending entries that the stream does not have any more
}

// find looks up the group.
func (x *claim) find(key, group []byte) error {
	s, ch, ok, err := editRead(x.c, key)
	if err != nil {
		return err
	}
	if ok {
		x.g = s.Group(group)
	}
	if x.g == nil {
		return errNoGroup(key, group)
	}
	x.s, x.ch = s, ch
	return nil
}

// see looks up the consumer, which is created if it is missing.
func (x *claim) see(key, consumer []byte) {
	if x.consumer = x.g.Consumer(consumer); x.consumer == nil {
		x.consumer = createConsumer(x.c, key, x.g, x.ch, consumer)
	}
	x.consumer.See(x.c.Now)
}

// take claims an entry if it may be, and writes it. pending is false if the entry is
// not pending. It reports whether the entry is to be taken.
func (x *claim) take(e *stream.Entry, p stream.Pending, pending bool) bool {
	there := x.s.Get(e, p.ID)
	switch {
	case !there && pending:
		x.removed = append(x.removed, p.ID)
		return false
	case !there, !pending && !x.force:
		return false
	case pending && p.Consumer != nil && x.minIdle > 0 && x.c.Now-p.Time < x.minIdle:
		return false
	case !pending:
		p.Deliveries = 1
	}
	switch {
	case x.retry >= 0:
		p.Deliveries = x.retry
	case !x.justID && p.Deliveries != stream.Endless:
		p.Deliveries++
	}
	p.Time = x.time
	x.taken = append(x.taken, p)
	if x.justID {
		replyID(&x.c.Reply, p.ID)
	} else {
		replyEntry(&x.c.Reply, e)
	}
	return true
}

// commit changes the group.
func (x *claim) commit() {
	x.g.Claim(x.ch, x.consumer, x.c.Now, x.taken)
	x.g.Ack(x.ch, x.removed)
	x.taken, x.removed = x.taken[:0], x.removed[:0]
}

// readMinIdle reads the time for which an entry must have been idle.
func readMinIdle(a *commands.Args, bad error) int64 { return max(a.IntOr(bad), 0) }

// xclaim looks at the group before its arguments, as Redis does.
func xclaim(c *commands.Ctx) error {
	a := &c.Args
	x := claim{c: c, retry: -1, time: -1}
	key, group, consumer := a.Key(), a.Bytes(), a.Bytes()
	if err := x.find(key, group); err != nil {
		return err
	}
	x.minIdle = readMinIdle(a, errClaimIdle)
	var ids []stream.ID
	for a.More() {
		id, ok := parseID(a.Peek(), 0)
		if !ok {
			break
		}
		a.Skip(1)
		ids = append(ids, id)
	}
	last := x.readOptions(a)
	if err := a.Done(); err != nil {
		return err
	}
	if x.time < 0 || x.time > c.Now {
		x.time = c.Now
	}
	if !x.s.Ready(ids...) {
		return c.Tx.Err()
	}
	if x.g.Last().Less(last) {
		x.g.SetID(x.ch, last, x.g.Read())
	}
	x.see(key, consumer)
	c.Reply.ArrayLater(func() int {
		var e stream.Entry
		n := 0
		for _, id := range ids {
			p, pending := x.g.Find(id)
			p.ID = id
			if x.take(&e, p, pending) {
				n++
			}
			// An ID may be given twice.
			x.commit()
		}
		return n
	})
	return nil
}

// readOptions reads the options of XCLAIM and returns what LASTID gives.
func (x *claim) readOptions(a *commands.Args) (last stream.ID) {
	for a.More() {
		valued := a.Left() >= 2
		switch {
		case a.Is("FORCE"):
			x.force = true
		case a.Is("JUSTID"):
			x.justID = true
		case valued && a.Is("IDLE"):
			x.time = x.c.Now - a.IntOr(errClaimIdleOpt)
		case valued && a.Is("TIME"):
			x.time = a.IntOr(errClaimTime)
		case valued && a.Is("RETRYCOUNT"):
			x.retry = a.IntOr(errClaimRetry)
		case valued && a.Is("LASTID"):
			last = readID(a)
		default:
			a.Fail(errClaimOption(a.Peek()))
		}
	}
	return last
}

// attempts is how many pending entries XAUTOCLAIM looks at for each one that it is
// to claim.
const attempts = 10

func xautoclaim(c *commands.Ctx) error {
	a := &c.Args
	x := claim{c: c, retry: -1, time: c.Now}
	key, group, consumer := a.Key(), a.Bytes(), a.Bytes()
	x.minIdle = readMinIdle(a, errAutoClaimIdle)
	from, count := lower.read(a), 100
	for a.More() {
		switch {
		case a.Left() >= 2 && a.Is("COUNT"):
			count = int(a.IntIn(1, math.MaxInt64/16, errAutoClaimCount))
		case a.Is("JUSTID"):
			x.justID = true
		default:
			a.Syntax()
		}
	}
	if err := a.Done(); err != nil {
		return err
	}
	if err := x.find(key, group); err != nil {
		return err
	}
	c.Reply.Array(3)
	start := c.Reply.Len()
	var next stream.ID
	c.Reply.ArrayLater(func() int {
		next = x.sweep(from, count)
		return len(x.taken)
	})
	var room [64]byte
	head := commands.NewReply(room[:0], c.Reply.Proto())
	replyID(&head, next)
	c.Reply.Insert(start, head.Encoded())
	c.Reply.Array(len(x.removed))
	for _, id := range x.removed {
		replyID(&c.Reply, id)
	}
	if x.s.Unread() {
		return c.Tx.Err()
	}
	x.see(key, consumer)
	x.commit()
	return nil
}

// sweep claims up to count of the pending entries from an ID on, and returns the ID
// at which the next sweep is to begin; 0-0 if it came to the end.
func (x *claim) sweep(from stream.ID, count int) (next stream.ID) {
	left := attempts * min(count, math.MaxInt/attempts)
	var e stream.Entry
	x.g.EachPending(from, stream.MaxID, func(p stream.Pending) bool {
		if left == 0 || count == 0 {
			next = p.ID
			return false
		}
		left--
		removed := len(x.removed)
		if x.take(&e, p, true) || len(x.removed) > removed {
			count--
		}
		return true
	})
	return next
}
