package commands

import (
	"errors"
	"math"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// The commands of RedisBloom. Its errors are its own: some begin with ERR, some
// do not, and clients know them by their words.

func BloomGroup() Group {
	write, read := []KeySpec{Key(1, RW|Insert)}, []KeySpec{Key(1, RO|Access)}
	return Group{Name: "bf", Commands: []Command{
		{Name: "BF.RESERVE", Arity: -4, Flags: Write | DenyOOM | Fast, Keys: write,
			Syntax: "key error_rate capacity [EXPANSION expansion] [NONSCALING]", Since: "1.0.0", Cost: "O(1)",
			Summary: "Makes an empty Bloom filter.", Run: bfReserve},
		{Name: "BF.ADD", Arity: 3, Flags: Write | DenyOOM, Keys: write, Syntax: "key item", Since: "1.0.0",
			Cost: "O(k) for k hashes", Summary: "Adds an item to a Bloom filter, making it if needed.", Run: bfAdd},
		{Name: "BF.MADD", Arity: -3, Flags: Write | DenyOOM, Keys: write, Syntax: "key item [item ...]", Since: "1.0.0",
			Cost: "O(k*n) for k hashes and n items", Summary: "Adds items to a Bloom filter, making it if needed.", Run: bfMAdd},
		{Name: "BF.INSERT", Arity: -4, Flags: Write | DenyOOM, Keys: write,
			Syntax: "key [CAPACITY capacity] [ERROR error] [EXPANSION expansion] [NOCREATE] [NONSCALING] ITEMS item [item ...]",
			Since:  "1.0.0", Cost: "O(k*n) for k hashes and n items",
			Summary: "Adds items to a Bloom filter and says how to make it if needed.", Run: bfInsert},
		{Name: "BF.EXISTS", Arity: 3, Flags: ReadOnly | Fast, Keys: read, Syntax: "key item", Since: "1.0.0",
			Cost: "O(k) for k hashes", Summary: "Tells whether an item may be in a Bloom filter.", Run: bfExists},
		{Name: "BF.MEXISTS", Arity: -3, Flags: ReadOnly | Fast, Keys: read, Syntax: "key item [item ...]", Since: "1.0.0",
			Cost: "O(k*n) for k hashes and n items", Summary: "Tells which items may be in a Bloom filter.", Run: bfMExists},
		{Name: "BF.INFO", Arity: -2, Flags: ReadOnly | Fast, Keys: read,
			Syntax: "key [CAPACITY|SIZE|FILTERS|ITEMS|EXPANSION]", Since: "1.0.0", Cost: "O(1)",
			Summary: "Describes a Bloom filter.", Run: bfInfo},
		{Name: "BF.CARD", Arity: 2, Flags: ReadOnly | Fast, Keys: read, Syntax: "key", Since: "2.4.4", Cost: "O(1)",
			Summary: "Answers how many items a Bloom filter took.", Run: bfCard},
		{Name: "BF.SCANDUMP", Arity: 3, Flags: ReadOnly, Keys: read, Syntax: "key iterator", Since: "1.0.0",
			Cost: "O(n) for n bytes", Summary: "Answers the next piece of a Bloom filter's dump.", Run: bfScanDump},
		{Name: "BF.LOADCHUNK", Arity: 4, Flags: Write | DenyOOM, Keys: write, Syntax: "key iterator data", Since: "1.0.0",
			Cost: "O(n) for n bytes", Summary: "Restores a piece of a Bloom filter's dump.", Run: bfLoadChunk},
	}}
}

// viewBloom finds a filter to read; ok is false if the key does not exist.
func viewBloom(c *Ctx, key []byte) (f *structures.Bloom, ok bool, err error) {
	return persistence.View[*structures.Bloom](c.Tx, key)
}

// bloomLimit is the most bytes that one filter may ask for.
func bloomLimit(c *Ctx) uint64 { return uint64(max(c.Host.Limits().ModuleMemoryLimit, 0)) }

// needBloom is viewBloom for commands to which a missing key is an error.
func needBloom(c *Ctx, key []byte) (*structures.Bloom, error) {
	f, ok, err := viewBloom(c, key)
	if err == nil && !ok {
		err = ErrBloomNotFound
	}
	return f, err
}

func defaultBloom() structures.BloomShape {
	return structures.BloomShape{
		Error:     structures.BloomDefaultError,
		Capacity:  structures.BloomDefaultCapacity,
		Expansion: structures.BloomDefaultExpansion,
	}
}

// createBloom stores a new filter under a key that does not exist.
func createBloom(c *Ctx, key []byte, s structures.BloomShape) error {
	f := structures.NewBloom()
	if err := f.Reserve(nil, s, bloomLimit(c)); err != nil {
		if errors.Is(err, structures.ErrBloomMemory) {
			return ErrBloomMemory
		}
		return ErrBloomCreate
	}
	c.NotifyNew(key)
	persistence.Replace(c.Tx, key, f, persistence.NoExpiry)
	return nil
}

func bfReserve(c *Ctx) error {
	key := c.Args.Key()
	s, err := reserveShape(c)
	if err != nil {
		return err
	}
	switch _, ok, err := viewBloom(c, key); {
	case err != nil:
		return err
	case ok:
		return ErrBloomExists
	}
	if err := createBloom(c, key, s); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

// reserveShape reads the arguments of BF.RESERVE behind the key. The options are
// looked for in whatever order they stand, and other words are passed over.
func reserveShape(c *Ctx) (s structures.BloomShape, err error) {
	s = defaultBloom()
	if c.Args.Left() > 5 {
		return s, ErrArity(c.Command)
	}
	rate, ok := ParseFloat(c.Args.Bytes())
	if !ok {
		return s, ErrBloomRate
	}
	if !(rate > 0 && rate < 1) {
		return s, ErrBloomRateRange
	}
	capacity, ok := ParseInt(c.Args.Bytes())
	if !ok {
		return s, ErrBloomCapacity
	}
	if capacity < 1 || capacity > structures.BloomMaxCapacity {
		return s, ErrBloomCapacityRange
	}
	s.Error, s.Capacity = rate, uint64(capacity)
	err = reserveGrowth(&s, c.Args.Rest())
	return s, err
}

// reserveGrowth reads EXPANSION and NONSCALING.
func reserveGrowth(s *structures.BloomShape, rest [][]byte) error {
	s.Fixed = wordAt(rest, "NONSCALING") >= 0
	i := wordAt(rest, "EXPANSION")
	if i < 0 {
		return nil
	}
	if i+1 == len(rest) {
		return ErrBloomNoExpansion
	}
	n, ok := ParseInt(rest[i+1])
	switch {
	case !ok:
		return ErrBloomExpansion
	case n != 0 && s.Fixed:
		return ErrBloomFixedExpands
	case n < 0 || n > structures.BloomMaxExpansion:
		return ErrBloomExpansionRange
	}
	s.Expansion = uint32(n)
	return nil
}

// wordAt is the index of the first argument that is the word, or -1.
func wordAt(args [][]byte, word string) int {
	for i, a := range args {
		if EqualFold(a, word) {
			return i
		}
	}
	return -1
}

func bfAdd(c *Ctx) error {
	key, item := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s := defaultBloom()
	f, ch, err := editBloom(c, key, &s)
	if err != nil {
		return err
	}
	return addBloom(c, f, ch, item)
}

func bfMAdd(c *Ctx) error {
	key, items := c.Args.Key(), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s := defaultBloom()
	return insertBloom(c, key, items, &s)
}

// editBloom finds a filter for changing. One that is missing is made in shape
// s; if that is nil it is an error.
func editBloom(c *Ctx, key []byte, s *structures.BloomShape) (*structures.Bloom, *structures.Change, error) {
	f, ch, ok, err := persistence.Edit[*structures.Bloom](c.Tx, key, nil)
	if err != nil || ok {
		return f, ch, err
	}
	if s == nil {
		return nil, nil, ErrBloomNotFound
	}
	if err := createBloom(c, key, *s); err != nil {
		return nil, nil, err
	}
	f, ch, _, err = persistence.Edit[*structures.Bloom](c.Tx, key, nil)
	return f, ch, err
}

// addBloom adds an item and answers whether it was new.
func addBloom(c *Ctx, f *structures.Bloom, ch *structures.Change, item []byte) error {
	added, err := f.Add(ch, item, bloomLimit(c))
	switch {
	case errors.Is(err, structures.ErrBloomFull):
		return ErrBloomFull
	case err != nil:
		return ErrBloomInsert
	}
	c.Reply.Bool(added)
	return nil
}

// insertBloom adds items. An item that finds no room has its error in the
// array of answers; if the filter is full, the array ends with it.
func insertBloom(c *Ctx, key []byte, items [][]byte, s *structures.BloomShape) error {
	f, ch, err := editBloom(c, key, s)
	if err != nil {
		return err
	}
	c.Reply.ArrayLater(func() int {
		for i, item := range items {
			switch err := addBloom(c, f, ch, item); err {
			case nil:
			case ErrBloomFull:
				c.Reply.Error(ErrBloomFull)
				return i + 1
			default:
				c.Reply.Error(ErrBloomInsert)
			}
		}
		return len(items)
	})
	return nil
}

func bfInsert(c *Ctx) error {
	key := c.Args.Key()
	s := insertShape(c)
	items := c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	if len(items) == 0 {
		return ErrArity(c.Command)
	}
	return insertBloom(c, key, items, s)
}

// insertShape reads the options of BF.INSERT and the word ITEMS behind them. It
// is nil if no filter shall be made.
func insertShape(c *Ctx) *structures.BloomShape {
	s, create := defaultBloom(), true
	for c.Args.More() && !c.Args.Is("ITEMS") {
		switch c.Args.Word() {
		case "ERROR":
			s.Error = bloomRate(c)
		case "EXPANSION":
			s.Expansion = uint32(bloomInt(c, 0, structures.BloomMaxExpansion, ErrBloomBadExpansion))
		case "CAPACITY":
			s.Capacity = uint64(bloomInt(c, 1, structures.BloomMaxCapacity, ErrBloomBadCapacity))
		case "NOCREATE":
			create = false
		case "NONSCALING":
			s.Fixed = true
		default:
			c.Args.Fail(ErrBloomArgument)
		}
	}
	if !create {
		return nil
	}
	return &s
}

// bloomRate reads the error rate of BF.INSERT.
func bloomRate(c *Ctx) float64 {
	if !c.Args.More() {
		c.Args.Fail(ErrArity(c.Command))
		return 0
	}
	v, ok := ParseFloat(c.Args.Bytes())
	if !ok || !(v > 0 && v < 1) {
		c.Args.Fail(ErrBloomBadRate)
		return math.NaN()
	}
	return v
}

// bloomInt reads a number of BF.INSERT.
func bloomInt(c *Ctx, lo, hi int64, bad error) int64 {
	if !c.Args.More() {
		c.Args.Fail(ErrArity(c.Command))
	}
	return c.Args.IntIn(lo, hi, bad)
}
