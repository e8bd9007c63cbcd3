package zsets

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/zset"
)

func combineRows() []commands.Command {
	read := []commands.KeySpec{commands.KeyCount(1, commands.RO|commands.Access)}
	write := []commands.KeySpec{commands.Key(1, commands.OW|commands.Update), commands.KeyCount(2, commands.RO|commands.Access)}
	const (
		readFlags  = commands.ReadOnly | commands.MovableKeys
		writeFlags = commands.Write | commands.DenyOOM | commands.MovableKeys
		unionCost  = "O(n)+O(m*log(m)) for n members of all sets, and m of the result"
		interCost  = "O(n*k)+O(m*log(m)) for n members of the smallest of k sets, and m of the result"
		diffCost   = "O(n*k)+O(m*log(m)) for n members of the first of k sets, and m of the result"
		options    = "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM|MIN|MAX|COUNT]"
	)
	weights := commands.Types{"weight": commands.ArgDouble}
	row := func(name, syntax, since, cost, summary string, op operation) commands.Command {
		r := commands.Command{Name: name, Arity: -3, Flags: readFlags, Keys: read, Syntax: syntax, Since: since, Cost: cost,
			Summary: summary, Run: func(c *commands.Ctx) error { return combine(c, op) }}
		if op.event != "" {
			r.Arity, r.Flags, r.Keys = -4, writeFlags, write
		}
		if op.kind != difference {
			r.Types = weights
		}
		return r
	}
	return []commands.Command{
		row("ZUNION", options+" [WITHSCORES]", "6.2.0", unionCost,
			"Returns the union of sorted sets.", operation{kind: union}),
		row("ZUNIONSTORE", "destination "+options, "2.0.0", unionCost,
			"Stores the union of sorted sets in a sorted set.", operation{kind: union, event: "zunionstore"}),
		row("ZINTER", options+" [WITHSCORES]", "6.2.0", interCost,
			"Returns the intersection of sorted sets.", operation{kind: intersection}),
		row("ZINTERSTORE", "destination "+options, "2.0.0", interCost,
			"Stores the intersection of sorted sets in a sorted set.", operation{kind: intersection, event: "zinterstore"}),
		row("ZDIFF", "numkeys key [key ...] [WITHSCORES]", "6.2.0", diffCost,
			"Returns the members of a sorted set that others do not have.", operation{kind: difference}),
		row("ZDIFFSTORE", "destination numkeys key [key ...]", "6.2.0", diffCost,
			"Stores the members of a sorted set that others do not have in a sorted set.", operation{kind: difference, event: "zdiffstore"}),
		{Name: "ZINTERCARD", Arity: -3, Flags: readFlags, Keys: read,
			Syntax: "numkeys key [key ...] [LIMIT limit]", Since: "7.0.0", Cost: "O(n*k) for n members of the smallest of k sets",
			Summary: "Returns the number of members of the intersection of sorted sets.", Run: zintercard},
	}
}

// operation is what a combination makes of its sources.
type operation struct {
	kind  kind
	event string // of those that store their result, else ""
}

type kind byte

const (
	union kind = iota
	intersection
	difference
)

// readKeys reads the keys of a combination behind their number.
func readKeys(c *commands.Ctx) [][]byte {
	n := c.Args.Int()
	if n < 1 {
		c.Args.Fail(errNoInput(c.Command))
	}
	return c.Args.Take(int(min(n, math.MaxInt32)))
}

// readOptions reads the options behind the keys: weights go to their sources.
func readOptions(a *commands.Args, op operation, sources []source) (agg aggregate, scores bool) {
	agg = sum
	for a.More() {
		switch {
		case op.kind != difference && a.Left() > len(sources) && a.Is("WEIGHTS"):
			for i := range sources {
				var ok bool
				if sources[i].weight, ok = commands.ParseFloat(a.Bytes()); !ok {
					a.Fail(errWeight)
				}
			}
		case op.kind != difference && a.Left() >= 2 && a.Is("AGGREGATE"):
			counts := false
			agg, counts = readAggregate(a)
			for i := range sources {
				sources[i].counts = counts
			}
		case op.event == "" && a.Is("WITHSCORES"):
			scores = true
		default:
			a.Syntax()
		}
	}
	return agg, scores
}

// readAggregate reads the name of an aggregate. COUNT is the sum of scores that count as 1.
func readAggregate(a *commands.Args) (agg aggregate, counts bool) {
	switch a.Word() {
	case "SUM":
		return sum, false
	case "MIN":
		return least, false
	case "MAX":
		return greatest, false
	case "COUNT":
		return sum, true
	}
	a.Syntax()
	return nil, false
}

// combine looks at the types of the keys before it reads the options, as Redis does.
func combine(c *commands.Ctx, op operation) error {
	var to []byte
	if op.event != "" {
		to = c.Args.Key()
	}
	keys := readKeys(c)
	if err := c.Args.Err(); err != nil {
		return err
	}
	sources, err := openSources(c, keys)
	if err != nil {
		return err
	}
	agg, scores := readOptions(&c.Args, op, sources)
	if err := c.Args.Done(); err != nil {
		return err
	}
	var entries []zset.Entry
	switch op.kind {
	case union:
		entries = unite(sources, agg)
	case intersection:
		intersect(sources, agg, func(member []byte, score float64) bool {
			entries = append(entries, zset.Entry{Member: member, Score: score})
			return true
		})
	case difference:
		entries = subtract(sources)
	}
	if op.event == "" {
		replyEntries(c, entries, scores)
		return nil
	}
	s, err := zset.Build(c.Tx.HashKeys(), entries)
	if err != nil {
		return err
	}
	return store(c, to, s, op.event)
}

// replyEntries replies with entries in their order.
func replyEntries(c *commands.Ctx, entries []zset.Entry, scores bool) {
	zset.Sort(entries)
	beginMembers(c, len(entries), scores)
	for _, e := range entries {
		replyMember(c, e.Member, e.Score, scores)
	}
}

func zintercard(c *commands.Ctx) error {
	keys := readKeys(c)
	if err := c.Args.Err(); err != nil {
		return err
	}
	sources, err := openSources(c, keys)
	if err != nil {
		return err
	}
	limit := int64(0)
	for c.Args.More() {
		if c.Args.Left() < 2 || !c.Args.Is("LIMIT") {
			c.Args.Syntax()
			break
		}
		limit = c.Args.IntIn(0, math.MaxInt64, commands.ErrLimitNegative)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	n := int64(0)
	intersect(sources, sum, func([]byte, float64) bool {
		n++
		return n != limit
	})
	c.Reply.Int(n)
	return nil
}
