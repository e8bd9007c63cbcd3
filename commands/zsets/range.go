package zsets

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/zset"
)

func rangeRows() []commands.Command {
	read := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	const cost = "O(log(n)+m) for n members of the sorted set and m returned"
	bounds := commands.Types{"min": commands.ArgDouble, "max": commands.ArgDouble}
	return []commands.Command{
		{Name: "ZRANGE", Arity: -4, Flags: commands.ReadOnly, Keys: read,
			Syntax: "key start stop [BYSCORE|BYLEX] [REV] [LIMIT offset count] [WITHSCORES]", Since: "1.2.0", Cost: cost,
			Summary: "Returns the members in a range of ranks, scores or members.",
			Run:     func(c *commands.Ctx) error { return replyRange(c, shape{free: true}) }},
		{Name: "ZRANGESTORE", Arity: -5, Flags: commands.Write | commands.DenyOOM,
			Keys:   []commands.KeySpec{commands.Key(1, commands.OW|commands.Update), commands.Key(2, commands.RO|commands.Access)},
			Syntax: "dst src min max [BYSCORE|BYLEX] [REV] [LIMIT offset count]", Since: "6.2.0",
			Cost:    "O(log(n)+m) for n members of the sorted set and m stored",
			Summary: "Stores the members in a range of ranks, scores or members in a sorted set.", Run: zrangestore},
		{Name: "ZREVRANGE", Arity: -4, Flags: commands.ReadOnly, Keys: read,
			Syntax: "key start stop [WITHSCORES]", Since: "1.2.0", Cost: cost,
			Summary: "Returns the members in a range of ranks, counted from the highest score.",
			Run:     func(c *commands.Ctx) error { return replyRange(c, shape{order: byRank, reverse: true}) }},
		{Name: "ZRANGEBYSCORE", Arity: -4, Flags: commands.ReadOnly, Keys: read,
			Syntax: "key min max [WITHSCORES] [LIMIT offset count]", Types: bounds, Since: "1.0.5", Cost: cost,
			Summary: "Returns the members in a range of scores.",
			Run:     func(c *commands.Ctx) error { return replyRange(c, shape{order: byScore}) }},
		{Name: "ZREVRANGEBYSCORE", Arity: -4, Flags: commands.ReadOnly, Keys: read,
			Syntax: "key max min [WITHSCORES] [LIMIT offset count]", Types: bounds, Since: "2.2.0", Cost: cost,
			Summary: "Returns the members in a range of scores, the highest score first.",
			Run:     func(c *commands.Ctx) error { return replyRange(c, shape{order: byScore, reverse: true}) }},
		{Name: "ZRANGEBYLEX", Arity: -4, Flags: commands.ReadOnly, Keys: read,
			Syntax: "key min max [LIMIT offset count]", Since: "2.8.9", Cost: cost,
			Summary: "Returns the members in a range of members, in a sorted set of equal scores.",
			Run:     func(c *commands.Ctx) error { return replyRange(c, shape{order: byMember}) }},
		{Name: "ZREVRANGEBYLEX", Arity: -4, Flags: commands.ReadOnly, Keys: read,
			Syntax: "key max min [LIMIT offset count]", Since: "2.8.9", Cost: cost,
			Summary: "Returns the members in a range of members, the last one first, in a sorted set of equal scores.",
			Run:     func(c *commands.Ctx) error { return replyRange(c, shape{order: byMember, reverse: true}) }},
	}
}

// shape is what a command says of its ranges: the order and direction, or that
// options do.
type shape struct {
	free    bool
	stores  bool // without WITHSCORES
	order   order
	reverse bool
}

// query is a range as a call asks for it.
type query struct {
	span
	reverse       bool
	scores        bool
	offset, count int64 // LIMIT; a negative count is none
}

// readQuery reads the bounds of a range and its options.
func readQuery(a *commands.Args, sh shape) query {
	q := query{reverse: sh.reverse, count: -1}
	q.order = sh.order
	low, high := a.Bytes(), a.Bytes()
	turned, ordered := !sh.free, !sh.free
	for a.More() {
		switch {
		case !sh.stores && a.Is("WITHSCORES"):
			q.scores = true
		case a.Left() >= 3 && a.Is("LIMIT"):
			q.offset, q.count = a.Int(), a.Int()
		case !turned && a.Is("REV"):
			q.reverse, turned = true, true
		case !ordered && a.Is("BYLEX"):
			q.order, ordered = byMember, true
		case !ordered && a.Is("BYSCORE"):
			q.order, ordered = byScore, true
		default:
			a.Syntax()
		}
	}
	switch {
	case q.count != -1 && q.order == byRank:
		a.Fail(errLimitOfRanks)
	case q.scores && q.order == byMember:
		a.Fail(errScoresOfMembers)
	}
	if q.reverse && q.order != byRank {
		low, high = high, low
	}
	q.span = readSpan(a, q.order, low, high)
	return q
}

// of returns the rank of the first member that is asked for, which is the greatest one
// if the direction is reverse, and how many there are.
func (q *query) of(s *zset.Set) (rank, count int) {
	rank, count = q.span.of(s, q.reverse)
	if q.offset < 0 || q.offset >= int64(count) {
		return 0, 0
	}
	if q.reverse {
		rank += count - 1 - int(q.offset)
	} else {
		rank += int(q.offset)
	}
	count -= int(q.offset)
	if q.count >= 0 {
		count = int(min(int64(count), q.count))
	}
	return rank, count
}

// walk visits count members from a rank on, in the direction that is asked for.
func (q *query) walk(s *zset.Set, rank, count int, visit func(member []byte, score float64) bool) {
	if q.reverse {
		s.Reverse(rank, count, visit)
	} else {
		s.Range(rank, count, visit)
	}
}

func replyRange(c *commands.Ctx, sh shape) error {
	key := c.Args.Key()
	q := readQuery(&c.Args, sh)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ok, err := view(c, key)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Array(0)
		return nil
	}
	rank, n := q.of(s)
	beginMembers(c, n, q.scores)
	q.walk(s, rank, n, func(member []byte, score float64) bool {
		replyMember(c, member, score, q.scores)
		return true
	})
	return nil
}

func zrangestore(c *commands.Ctx) error {
	to, key := c.Args.Key(), c.Args.Key()
	q := readQuery(&c.Args, shape{free: true, stores: true})
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ok, err := view(c, key)
	if err != nil {
		return err
	}
	var entries []zset.Entry
	if ok {
		rank, n := q.of(s)
		entries = make([]zset.Entry, 0, n)
		q.walk(s, rank, n, func(member []byte, score float64) bool {
			entries = append(entries, zset.Entry{Member: member, Score: score})
			return true
		})
	}
	result, err := zset.Build(c.Tx.HashKeys(), entries)
	if err != nil {
		return err
	}
	return store(c, to, result, "zrangestore")
}

// edges returns the rank of the first member of a range, and how many there are, of a
// set that is nil if there is none.
func edges(s *zset.Set, sp *span) (rank, count int) {
	if s == nil {
		return 0, 0
	}
	return sp.of(s, false)
}

// removeRange removes the members of a range.
func removeRange(c *commands.Ctx, o order, event string) error {
	key := c.Args.Key()
	sp := readSpan(&c.Args, o, c.Args.Bytes(), c.Args.Bytes())
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	n := 0
	if ok {
		rank, count := edges(s, &sp)
		n = s.RemoveRange(ch, rank, count)
	}
	if n > 0 {
		notifyTaken(c, s, event, key)
	}
	c.Reply.Int(int64(n))
	return nil
}
