package topk

import (
	"bytes"
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/topk"
)

// Group is the commands about top lists.
func Group() commands.Group {
	write, read := []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)}, []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return commands.Group{Name: "topk", Commands: []commands.Command{
		{Name: "TOPK.RESERVE", Arity: -3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: write, Syntax: "key topk [width depth decay]", Since: "2.0.0",
			Types: commands.Types{"topk": commands.ArgInteger, "decay": commands.ArgDouble},
			Cost:  "O(1)", Summary: "Creates a list of the most frequent items.", Run: reserve},
		{Name: "TOPK.ADD", Arity: -3, Flags: commands.Write | commands.DenyOOM, Keys: write, Syntax: "key item [item ...]", Since: "2.0.0",
			Cost: "O(n * (d + log k)) for n items, depth d and a list of k", Summary: "Counts items, and returns those that fell out of the list.", Run: add},
		{Name: "TOPK.INCRBY", Arity: -4, Flags: commands.Write | commands.DenyOOM, Keys: write, Syntax: "key item increment [item increment ...]", Since: "2.0.0",
			Cost: "O(n * (d * i + log k)) for n items, depth d, increments up to i and a list of k", Summary: "Increases the counts of items, and returns those that fell out of the list.", Run: incrBy},
		{Name: "TOPK.QUERY", Arity: -3, Flags: commands.ReadOnly, Keys: read, Syntax: "key item [item ...]", Since: "2.0.0",
			Cost: "O(n) for n items", Summary: "Reports for each of several items whether it is in the list.", Run: query},
		{Name: "TOPK.COUNT", Arity: -3, Flags: commands.ReadOnly, Keys: read, Syntax: "key item [item ...]", Since: "2.0.0",
			Cost: "O(n * d) for n items and depth d", Summary: "Returns estimates of the counts of items, which are often too low.", Run: count},
		{Name: "TOPK.LIST", Arity: -2, Flags: commands.ReadOnly, Keys: read, Syntax: "key [WITHCOUNT]", Since: "2.0.0",
			Cost: "O(k log k) for a list of k", Summary: "Returns the list, the most frequent item first.", Run: list},
		{Name: "TOPK.INFO", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key", Since: "2.0.0", Cost: "O(1)",
			Summary: "Returns the shape of a list of the most frequent items.", Run: info},
	}}
}

func reserve(c *commands.Ctx) error {
	if n := len(c.Args.All()); n != 3 && n != 6 {
		return commands.ErrArity(c.Command)
	}
	key := c.Args.Key()
	if c.Tx.Kind(key) != structures.KindNone {
		return errExists
	}
	s, err := readShape(c)
	if err != nil {
		return err
	}
	l := topk.New()
	limit := c.Host.Limits().ModuleMemory()
	if l.Init(nil, s, limit) != nil {
		return errMemory
	}
	if err := commands.Store(c, key, l); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

// readShape reads the arguments of TOPK.RESERVE behind the key.
func readShape(c *commands.Ctx) (s topk.Shape, err error) {
	s = topk.DefaultShape(0)
	for _, part := range []struct {
		value *uint64
		bad   error
	}{{&s.K, errK}, {&s.Width, errWidth}, {&s.Depth, errDepth}} {
		if !c.Args.More() {
			return s, nil
		}
		n, ok := commands.ParseInt(c.Args.Bytes())
		if !ok || n < 1 || n > math.MaxUint32 {
			return s, part.bad
		}
		*part.value = uint64(n)
	}
	decay, ok := commands.ParseFloat(c.Args.Bytes())
	if !ok || !(decay > 0 && decay <= 1) {
		return s, errDecay
	}
	s.Decay = decay
	return s, nil
}

// edit finds a list to change.
func edit(c *commands.Ctx, key []byte) (*topk.List, *structures.Change, error) {
	return commands.EditExisting[*topk.List](c, key, errNoKey)
}

// view finds a list to read.
func view(c *commands.Ctx, key []byte) (*topk.List, error) {
	return commands.ViewExisting[*topk.List](c, key, errNoKey)
}

func add(c *commands.Ctx) error {
	key, items := c.Args.Key(), c.Args.Rest()
	l, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	if uint64(len(items)) > longWork/l.Shape().Depth {
		c.Args.Reset(c.Args.All(), 1)
		return c.Apart(beginAdd)
	}
	var room [4]topk.Pair
	pairs := room[:0]
	for _, item := range items {
		pairs = append(pairs, topk.Pair{Item: item, N: 1})
	}
	c.Reply.Array(len(pairs))
	return addPairs(c, l, ch, pairs)
}

// addPairs counts items, and writes for each the item that fell out of the list.
func addPairs(c *commands.Ctx, l *topk.List, ch *structures.Change, pairs []topk.Pair) error {
	if !addTo(&c.Reply, l, ch, c.RandomSeed(), pairs) {
		return c.Tx.Err()
	}
	return nil
}

func addTo(r *commands.Reply, l *topk.List, ch *structures.Change, seed uint64, pairs []topk.Pair) bool {
	return l.Add(ch, seed, pairs, func(dropped []byte, ok bool) {
		if ok {
			r.Bulk(dropped)
		} else {
			r.Null()
		}
	})
}

// beginAdd begins to count items that are many for the depth.
func beginAdd(c *commands.Ctx) (*commands.Job, error) {
	key, items := c.Args.Key(), c.Args.Rest()
	pairs := make([]topk.Pair, len(items))
	for i, item := range items {
		pairs[i] = topk.Pair{Item: item, N: 1}
	}
	return begin(c, key, pairs, len(items), uint64(len(items)))
}

const (
	// maxWork bounds the draws of one call, and longWork those of one that keeps its locks: some ms. In a
	// transaction or a script, which keeps them, there may be lockedWork.
	maxWork, longWork, lockedWork = 1 << 30, 1 << 21, 1 << 23
)

func incrBy(c *commands.Ctx) error { return c.Apart(beginIncrBy) }

// beginIncrBy begins to count the pairs up to the first with a bad increment, for which the array ends with an error.
func beginIncrBy(c *commands.Ctx) (*commands.Job, error) {
	key, args := c.Args.Key(), c.Args.Rest()
	if len(args)%2 != 0 {
		return nil, commands.ErrArity(c.Command)
	}
	pairs, work := make([]topk.Pair, 0, len(args)/2), uint64(0)
	for i := 0; i < len(args); i += 2 {
		n, ok := commands.ParseInt(args[i+1])
		if !ok || n < 0 || n > topk.MaxIncrement {
			break
		}
		work += uint64(n)
		pairs = append(pairs, topk.Pair{Item: args[i], N: uint32(n)})
	}
	return begin(c, key, pairs, min(len(pairs)+1, len(args)/2), work)
}

// begin begins to count pairs with so many increments, for which the array has so many elements.
func begin(c *commands.Ctx, key []byte, pairs []topk.Pair, length int, work uint64) (*commands.Job, error) {
	l, ch, err := edit(c, key)
	if err != nil {
		return nil, err
	}
	depth := l.Shape().Depth
	if work > maxWork/depth || c.InMulti && work > lockedWork/depth {
		return nil, errWork
	}
	if !c.InMulti && work > longWork/depth {
		if fork, ok := l.Fork(); ok {
			return longIncrBy(c, key, fork.(*topk.List), pairs, length), nil
		}
	}
	return &commands.Job{
		Work: func() error { return nil },
		End: func(c *commands.Ctx) error {
			c.Reply.Array(length)
			if err := addPairs(c, l, ch, pairs); err != nil {
				return err
			}
			endPairs(&c.Reply, len(pairs), length)
			return nil
		},
	}, nil
}

// endPairs writes the error for a bad increment if the array is longer than the pairs.
func endPairs(r *commands.Reply, pairs, length int) {
	if pairs < length {
		r.Error(errIncrement)
	}
}

// longIncrBy counts pairs in a fork of the list.
func longIncrBy(c *commands.Ctx, key []byte, fork *topk.List, pairs []topk.Pair, length int) *commands.Job {
	key, seed, r := bytes.Clone(key), c.RandomSeed(), commands.NewReply(nil, c.Reply.Proto())
	for i := range pairs {
		pairs[i].Item = bytes.Clone(pairs[i].Item)
	}
	var recorded structures.Change
	return &commands.Job{
		Bytes: fork.Size(),
		Keys:  [][]byte{key},
		Work: func() error {
			r.Array(length)
			addTo(&r, fork, &recorded, seed, pairs)
			endPairs(&r, len(pairs), length)
			return nil
		},
		End: func(c *commands.Ctx) error {
			l, ch, err := edit(c, key)
			if err == nil {
				l.Become(ch, fork, &recorded)
				c.Reply.Raw(r.Encoded())
			}
			return err
		},
	}
}

func query(c *commands.Ctx) error {
	key, items := c.Args.Key(), c.Args.Rest()
	l, err := view(c, key)
	if err != nil {
		return err
	}
	c.Reply.Array(len(items))
	for _, item := range items {
		c.Reply.Bool(l.Has(item))
	}
	return nil
}

func count(c *commands.Ctx) error {
	key, items := c.Args.Key(), c.Args.Rest()
	l, err := view(c, key)
	if err != nil {
		return err
	}
	if uint64(len(items)) > lockedWork/l.Shape().Depth {
		return errItems
	}
	c.Reply.Array(len(items))
	for _, item := range items {
		c.Reply.Int(int64(l.Count(item)))
	}
	return nil
}

func list(c *commands.Ctx) error {
	key, counts := c.Args.Key(), c.Args.More()
	if c.Args.Left() > 1 {
		return commands.ErrArity(c.Command)
	}
	if counts {
		const word = "WITHCOUNT"
		if w := c.Args.Bytes(); len(w) > len(word) || !commands.EqualFold(w, word[:len(w)]) {
			return errWithCount
		}
	}
	l, err := view(c, key)
	if err != nil {
		return err
	}
	entries := l.Entries()
	if counts {
		c.Reply.Array(2 * len(entries))
	} else {
		c.Reply.Array(len(entries))
	}
	for _, e := range entries {
		c.Reply.Bulk(e.Item)
		if counts {
			c.Reply.Int(int64(e.Count))
		}
	}
	return nil
}

func info(c *commands.Ctx) error {
	l, err := view(c, c.Args.Key())
	if err != nil {
		return err
	}
	s := l.Shape()
	c.Reply.Map(4)
	c.Reply.Status("k")
	c.Reply.Int(int64(s.K))
	c.Reply.Status("width")
	c.Reply.Int(int64(s.Width))
	c.Reply.Status("depth")
	c.Reply.Int(int64(s.Depth))
	c.Reply.Status("decay")
	c.Reply.Double(s.Decay)
	return nil
}
