package cms

import (
	"errors"
	"math"
	"math/bits"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/countmin"
)

// Group is the commands about count-min sketches.
func Group() commands.Group {
	write, read := []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)}, []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return commands.Group{Name: "cms", Commands: []commands.Command{
		{Name: "CMS.INITBYDIM", Arity: 4, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: write, Syntax: "key width depth", Since: "2.0.0",
			Cost: "O(1)", Summary: "Creates a count-min sketch of the given dimensions.", Run: initByDim},
		{Name: "CMS.INITBYPROB", Arity: 4, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: write, Syntax: "key error probability", Since: "2.0.0",
			Types: commands.Types{"error": commands.ArgDouble, "probability": commands.ArgDouble},
			Cost:  "O(1)", Summary: "Creates a count-min sketch that overestimates by more than a rate with a probability.", Run: initByProb},
		{Name: "CMS.INCRBY", Arity: -4, Flags: commands.Write | commands.DenyOOM, Keys: write, Syntax: "key item increment [item increment ...]", Since: "2.0.0",
			Cost: "O(n) for n items", Summary: "Increases the counts of items, and returns their estimates.", Run: incrBy},
		{Name: "CMS.QUERY", Arity: -3, Flags: commands.ReadOnly, Keys: read, Syntax: "key item [item ...]", Since: "2.0.0",
			Cost: "O(n) for n items", Summary: "Returns estimates of the counts of items.", Run: query},
		{Name: "CMS.MERGE", Arity: -4, Flags: commands.Write | commands.DenyOOM | commands.MovableKeys,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Update), commands.KeyCount(2, commands.RO|commands.Access)},
			Syntax: "destination numkeys source [source ...] [WEIGHTS weight [weight ...]]", Since: "2.0.0",
			Types: commands.Types{"destination": commands.ArgKey, "source": commands.ArgKey},
			Cost:  "O(n * w * d) for n sketches of width w and depth d", Summary: "Replaces a count-min sketch by the weighted sum of others.", Run: merge},
		{Name: "CMS.INFO", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key", Since: "2.0.0",
			Cost: "O(1)", Summary: "Returns width, depth and count of a count-min sketch.", Run: info},
	}}
}

// create stores a new sketch.
func create(c *commands.Ctx, key []byte, width, depth uint64) error {
	s := countmin.New()
	if s.Init(nil, width, depth, c.Host.Limits().ModuleMemory()) != nil {
		return errMemory
	}
	if err := commands.Store(c, key, s); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

func initByDim(c *commands.Ctx) error {
	key := c.Args.Key()
	if c.Tx.Kind(key) != structures.KindNone {
		return errExists
	}
	width, ok := commands.ParseInt(c.Args.Bytes())
	if !ok || width < 1 {
		return errWidth
	}
	depth, ok := commands.ParseInt(c.Args.Bytes())
	if !ok || depth < 1 {
		return errDepth
	}
	if high, low := bits.Mul64(uint64(width), uint64(depth)); high != 0 || low > math.MaxInt64 {
		return errInit
	}
	return create(c, key, uint64(width), uint64(depth))
}

func initByProb(c *commands.Ctx) error {
	key := c.Args.Key()
	if c.Tx.Kind(key) != structures.KindNone {
		return errExists
	}
	rate, ok := commands.ParseFloat(c.Args.Bytes())
	if !ok || !(rate > 0 && rate < 1) {
		return errRate
	}
	probability, ok := commands.ParseFloat(c.Args.Bytes())
	if !ok || !(probability > 0 && probability < 1) {
		return errProbability
	}
	width, depth := countmin.ShapeFor(rate, probability)
	if !(width*depth < 1<<63) {
		return errInit
	}
	return create(c, key, uint64(width), uint64(max(depth, 1)))
}

// edit finds a sketch to change.
func edit(c *commands.Ctx, key []byte) (*countmin.Sketch, *structures.Change, error) {
	return commands.EditExisting[*countmin.Sketch](c, key, errNoKey)
}

// view finds a sketch to read.
func view(c *commands.Ctx, key []byte) (*countmin.Sketch, error) {
	return commands.ViewExisting[*countmin.Sketch](c, key, errNoKey)
}

// maxCells is how many cells one call may look at: some 50 ms.
const maxCells = 1 << 22

// bound returns the error of a call whose items are in too many cells.
func bound(s *countmin.Sketch, items int) error {
	if _, depth := s.Shape(); uint64(items) > maxCells/depth {
		return errItems
	}
	return nil
}

func incrBy(c *commands.Ctx) error {
	key, pairs := c.Args.Key(), c.Args.Rest()
	if len(pairs)%2 != 0 {
		return commands.ErrArity(c.Command)
	}
	s, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	if err := bound(s, len(pairs)/2); err != nil {
		return err
	}
	for i := 0; i < len(pairs); i += 2 {
		switch n, ok := commands.ParseInt(pairs[i+1]); {
		case !ok:
			return errNumber
		case n < 0:
			return errNegative
		case !s.Ready(pairs[i]):
			return c.Tx.Err()
		}
	}
	c.Reply.Array(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		n, _ := commands.ParseInt(pairs[i+1])
		if estimate := s.Add(ch, pairs[i], uint64(n)); estimate == math.MaxUint32 {
			c.Reply.Error(errOverflow)
		} else {
			c.Reply.Int(int64(estimate))
		}
	}
	return nil
}

func query(c *commands.Ctx) error {
	key, items := c.Args.Key(), c.Args.Rest()
	s, err := view(c, key)
	if err != nil {
		return err
	}
	if err := bound(s, len(items)); err != nil {
		return err
	}
	c.Reply.Array(len(items))
	for _, item := range items {
		c.Reply.Int(int64(s.Estimate(item)))
	}
	return nil
}

func info(c *commands.Ctx) error {
	s, err := view(c, c.Args.Key())
	if err != nil {
		return err
	}
	width, depth := s.Shape()
	c.Reply.Map(3)
	c.Reply.Status("width")
	c.Reply.Int(int64(width))
	c.Reply.Status("depth")
	c.Reply.Int(int64(depth))
	c.Reply.Status("count")
	c.Reply.Int(int64(s.Count()))
	return nil
}

func merge(c *commands.Ctx) error { return c.Apart(beginMerge) }

func beginMerge(c *commands.Ctx) (*commands.Job, error) {
	key := c.Args.Key()
	dest, ok, err := persistence.View[*countmin.Sketch](c.Tx, key)
	if err == nil && !ok {
		err = errNoKey
	}
	if err != nil {
		return nil, err
	}
	sources, weights, err := mergeSources(c)
	if err != nil {
		return nil, err
	}
	sketches, factors, err := readSources(c, dest, sources, weights)
	if err != nil {
		return nil, err
	}
	sketches, bytes := commands.Fork(c, sketches...)
	keys := commands.CopyArgs(append([][]byte{key}, sources...))
	return commands.MergeJob(keys, true, bytes, func() (structures.Value, error) {
		sum, err := countmin.Merge(sketches, factors)
		switch {
		case errors.Is(err, countmin.ErrUnread):
			return nil, c.Tx.Err()
		case err != nil:
			return nil, errMergeOverflow
		}
		return sum, nil
	}), nil
}

// mergeSources reads the arguments of CMS.MERGE behind the destination. weights are as many as keys, or none.
func mergeSources(c *commands.Ctx) (keys, weights [][]byte, err error) {
	n, ok := commands.ParseInt(c.Args.Bytes())
	rest := c.Args.Rest()
	switch {
	case !ok:
		return nil, nil, errNumkeys
	case n < 1:
		return nil, nil, errNumkeysRange
	}
	if commands.WordAt(c.Args.All(), "WEIGHTS") < 0 {
		if n != int64(len(rest)) {
			return nil, nil, errKeys
		}
		return rest, nil, nil
	}
	if n > int64(len(rest)) || int64(len(rest)) != 2*n+1 || !commands.EqualFold(rest[n], "WEIGHTS") {
		return nil, nil, errKeysWeights
	}
	return rest[:n], rest[n+1:], nil
}

// readSources finds the sketches of CMS.MERGE, and reads their weights.
func readSources(c *commands.Ctx, dest *countmin.Sketch, keys, weights [][]byte) (sketches []*countmin.Sketch, factors []int64, err error) {
	width, depth := dest.Shape()
	for i, key := range keys {
		factor := int64(1)
		if weights != nil {
			var ok bool
			if factor, ok = commands.ParseInt(weights[i]); !ok {
				return nil, nil, errWeight
			}
		}
		s, err := view(c, key)
		if err != nil {
			return nil, nil, err
		}
		if w, d := s.Shape(); w != width || d != depth {
			return nil, nil, errShape
		}
		sketches, factors = append(sketches, s), append(factors, factor)
	}
	return sketches, factors, nil
}
