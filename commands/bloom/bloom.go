package bloom

import (
	"errors"
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
)

// The commands of RedisBloom. Some of its errors begin with ERR and some do
// not; clients recognize them by their text.

func Group() commands.Group {
	write, read := []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)}, []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return commands.Group{Name: "bf", Commands: []commands.Command{
		{Name: "BF.RESERVE", Arity: -4, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: write,
			Syntax: "key error_rate capacity [EXPANSION expansion] [NONSCALING]", Since: "1.0.0", Cost: "O(1)",
			Summary: "Creates an empty Bloom filter.", Run: reserve},
		{Name: "BF.ADD", Arity: 3, Flags: commands.Write | commands.DenyOOM, Keys: write, Syntax: "key item", Since: "1.0.0",
			Cost: "O(k) for k hashes", Summary: "Adds an item to a Bloom filter, creating the filter if needed.", Run: add},
		{Name: "BF.MADD", Arity: -3, Flags: commands.Write | commands.DenyOOM, Keys: write, Syntax: "key item [item ...]", Since: "1.0.0",
			Cost: "O(k*n) for k hashes and n items", Summary: "Adds items to a Bloom filter, creating the filter if needed.", Run: madd},
		{Name: "BF.INSERT", Arity: -4, Flags: commands.Write | commands.DenyOOM, Keys: write,
			Syntax: "key [CAPACITY capacity] [ERROR error] [EXPANSION expansion] [NOCREATE] [NONSCALING] ITEMS item [item ...]",
			Since:  "1.0.0", Cost: "O(k*n) for k hashes and n items",
			Summary: "Adds items to a Bloom filter, creating it with the given parameters if needed.", Run: insert},
		{Name: "BF.EXISTS", Arity: 3, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key item", Since: "1.0.0",
			Cost: "O(k) for k hashes", Summary: "Reports whether an item may be in a Bloom filter.", Run: exists},
		{Name: "BF.MEXISTS", Arity: -3, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key item [item ...]", Since: "1.0.0",
			Cost: "O(k*n) for k hashes and n items", Summary: "Reports for each of several items whether it may be in a Bloom filter.", Run: mexists},
		{Name: "BF.INFO", Arity: -2, Flags: commands.ReadOnly | commands.Fast, Keys: read,
			Syntax: "key [CAPACITY|SIZE|FILTERS|ITEMS|EXPANSION]", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns the parameters and the size of a Bloom filter.", Run: info},
		{Name: "BF.CARD", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key", Since: "2.4.4", Cost: "O(1)",
			Summary: "Returns the number of items added to a Bloom filter.", Run: card},
		{Name: "BF.DEBUG", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key", Since: "1.0.0", Cost: "O(n) for n layers",
			Summary: "Returns the layers of a Bloom filter as texts.", Run: debug},
		{Name: "BF.SCANDUMP", Arity: 3, Flags: commands.ReadOnly, Keys: read, Syntax: "key iterator", Since: "1.0.0",
			Cost: "O(n) for n bytes", Summary: "Returns the next part of a serialized Bloom filter.", Run: scanDump},
		{Name: "BF.LOADCHUNK", Arity: 4, Flags: commands.Write | commands.DenyOOM, Keys: write, Syntax: "key iterator data", Since: "1.0.0",
			Cost: "O(n) for n bytes", Summary: "Restores a part of a serialized Bloom filter.", Run: loadChunk},
		{Name: "BF.MERGE", Arity: -4, Flags: commands.Write | commands.DenyOOM | commands.MovableKeys,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert|commands.Access), commands.KeyCount(2, commands.RO|commands.Access)},
			Syntax: "destination numkeys source [source ...]", Since: "0.2.0", Types: commands.Types{"destination": commands.ArgKey, "source": commands.ArgKey},
			Cost: "O(n) for n bytes of all filters", Summary: "Adds the items of Bloom filters of the same layers to another one, creating it if needed.", Run: merge},
	}}
}

// view finds a filter to read; ok is false if the key does not exist.
func view(c *commands.Ctx, key []byte) (f *bloom.Filter, ok bool, err error) {
	return commands.View[*bloom.Filter](c, key)
}

// viewExisting is view for commands to which a missing key is an error.
func viewExisting(c *commands.Ctx, key []byte) (*bloom.Filter, error) {
	return commands.ViewExisting[*bloom.Filter](c, key, errNotFound)
}

// defaultShape is the shape of a filter that BF.ADD makes.
func defaultShape(c *commands.Ctx) bloom.Shape {
	d := &c.Host.Limits().Filters
	return bloom.Shape{Error: d.BloomError, Capacity: uint64(d.BloomCapacity), Expansion: uint32(d.BloomExpansion)}
}

// create stores a new filter under a key that does not exist.
func create(c *commands.Ctx, key []byte, s bloom.Shape) error {
	f := bloom.New()
	if err := f.Reserve(nil, s, c.Host.Limits().ModuleMemory()); err != nil {
		if errors.Is(err, bloom.ErrMemory) {
			return errMemory
		}
		return errCreate
	}
	return commands.Store(c, key, f)
}

func reserve(c *commands.Ctx) error {
	key := c.Args.Key()
	s, err := reserveShape(c)
	if err != nil {
		return err
	}
	if err := commands.CheckAbsent[*bloom.Filter](c, key, errExists); err != nil {
		return err
	}
	if err := create(c, key, s); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

// reserveShape reads the arguments of BF.RESERVE after the key. Options may come
// in any order, and other words are ignored.
func reserveShape(c *commands.Ctx) (s bloom.Shape, err error) {
	s = defaultShape(c)
	if c.Args.Left() > 5 {
		return s, commands.ErrArity(c.Command)
	}
	rate, ok := commands.ParseFloat(c.Args.Bytes())
	if !ok {
		return s, errRate
	}
	if !(rate > 0 && rate < 1) {
		return s, errRateRange
	}
	capacity, ok := commands.ParseInt(c.Args.Bytes())
	if !ok {
		return s, errCapacity
	}
	if capacity < 1 || capacity > bloom.MaxCapacity {
		return s, errCapacityRange
	}
	s.Error, s.Capacity = rate, uint64(capacity)
	err = reserveGrowth(&s, c.Args.Rest())
	return s, err
}

// reserveGrowth reads EXPANSION and NONSCALING.
func reserveGrowth(s *bloom.Shape, rest [][]byte) error {
	s.Fixed = commands.WordAt(rest, "NONSCALING") >= 0
	i := commands.WordAt(rest, "EXPANSION")
	if i < 0 {
		return nil
	}
	if i+1 == len(rest) {
		return errNoExpansion
	}
	n, ok := commands.ParseInt(rest[i+1])
	switch {
	case !ok:
		return errExpansion
	case n != 0 && s.Fixed:
		return errFixedExpands
	case n < 0 || n > bloom.MaxExpansion:
		return errExpansionRange
	}
	s.Expansion = uint32(n)
	return nil
}

func add(c *commands.Ctx) error {
	key, item := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s := defaultShape(c)
	f, ch, err := edit(c, key, &s)
	if err != nil {
		return err
	}
	if !f.Ready(item) {
		return c.Tx.Err()
	}
	return addItem(c, f, ch, item)
}

func madd(c *commands.Ctx) error {
	key, items := c.Args.Key(), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s := defaultShape(c)
	return addItems(c, key, items, &s)
}

// edit finds a filter for changing. One that is missing is made in shape
// s; if that is nil it is an error.
func edit(c *commands.Ctx, key []byte, s *bloom.Shape) (*bloom.Filter, *structures.Change, error) {
	return commands.EditCreated[*bloom.Filter](c, key, func() error {
		if s == nil {
			return errNotFound
		}
		return create(c, key, *s)
	})
}

// addItem adds an item and returns whether it was new.
func addItem(c *commands.Ctx, f *bloom.Filter, ch *structures.Change, item []byte) error {
	added, err := f.Add(ch, item, c.Host.Limits().ModuleMemory())
	switch {
	case errors.Is(err, bloom.ErrFull):
		return errFull
	case err != nil:
		return errInsert
	}
	c.Reply.Bool(added)
	return nil
}

// addItems adds items. An item that finds no room has its error in the
// array of replies; if the filter is full, the array ends with it.
func addItems(c *commands.Ctx, key []byte, items [][]byte, s *bloom.Shape) error {
	f, ch, err := edit(c, key, s)
	if err != nil {
		return err
	}
	if !f.Ready(items...) {
		return c.Tx.Err()
	}
	c.Reply.ArrayLater(func() int {
		for i, item := range items {
			switch err := addItem(c, f, ch, item); err {
			case nil:
			case errFull:
				c.Reply.Error(errFull)
				return i + 1
			default:
				c.Reply.Error(errInsert)
			}
		}
		return len(items)
	})
	return nil
}

func insert(c *commands.Ctx) error {
	key := c.Args.Key()
	s := insertShape(c)
	items := c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	if len(items) == 0 {
		return commands.ErrArity(c.Command)
	}
	return addItems(c, key, items, s)
}

// insertShape reads the options of BF.INSERT, whose first letters count, and the word ITEMS
// after them. It is nil if no filter is to be made.
func insertShape(c *commands.Ctx) *bloom.Shape {
	s, create := defaultShape(c), true
	for c.Args.More() {
		switch word := c.Args.Bytes(); {
		case commands.StartsFold(word, "I"):
			if !create {
				return nil
			}
			return &s
		case commands.StartsFold(word, "ER"):
			s.Error = readRate(c)
		case commands.StartsFold(word, "E"):
			s.Expansion = uint32(readInt(c, 0, bloom.MaxExpansion, errBadExpansion))
		case commands.StartsFold(word, "C"):
			s.Capacity = uint64(readInt(c, 1, bloom.MaxCapacity, errBadCapacity))
		case commands.StartsFold(word, "N") && len(word) > 2 && commands.EqualFold(word[2:3], "C"):
			create = false // NOCREATE
		case commands.StartsFold(word, "N"):
			s.Fixed = true // NONSCALING
		default:
			c.Args.Fail(errArgument)
		}
	}
	return nil
}

// readRate reads the error rate of BF.INSERT.
func readRate(c *commands.Ctx) float64 {
	if !c.Args.More() {
		c.Args.Fail(commands.ErrArity(c.Command))
		return 0
	}
	v, ok := commands.ParseFloat(c.Args.Bytes())
	if !ok || !(v > 0 && v < 1) {
		c.Args.Fail(errBadRate)
		return math.NaN()
	}
	return v
}

// readInt reads a number of BF.INSERT.
func readInt(c *commands.Ctx, lo, hi int64, bad error) int64 {
	if !c.Args.More() {
		c.Args.Fail(commands.ErrArity(c.Command))
	}
	return c.Args.IntIn(lo, hi, bad)
}
