package cuckoo

import (
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cuckoo"
)

// Group is the commands about cuckoo filters.
func Group() commands.Group {
	write, read := []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)}, []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return commands.Group{Name: "cf", Commands: []commands.Command{
		{Name: "CF.RESERVE", Arity: -3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: write,
			Syntax: "key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS maxiterations] [EXPANSION expansion]", Since: "1.0.0", Cost: "O(1)",
			Summary: "Creates an empty cuckoo filter.", Run: reserve},
		{Name: "CF.ADD", Arity: 3, Flags: commands.Write | commands.DenyOOM, Keys: write, Syntax: "key item", Since: "1.0.0",
			Cost: "O(k + i) for k sub-filters and i iterations", Summary: "Adds an item to a cuckoo filter, creating the filter if needed.", Run: add},
		{Name: "CF.ADDNX", Arity: 3, Flags: commands.Write | commands.DenyOOM, Keys: write, Syntax: "key item", Since: "1.0.0",
			Cost: "O(k + i) for k sub-filters and i iterations", Summary: "Adds an item to a cuckoo filter if it is surely not there, creating the filter if needed.", Run: addNX},
		{Name: "CF.INSERT", Arity: -4, Flags: commands.Write | commands.DenyOOM, Keys: write,
			Syntax: "key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]", Since: "1.0.0", Cost: "O(n * (k + i)) for n items, k sub-filters and i iterations",
			Summary: "Adds items to a cuckoo filter, creating it with the given capacity if needed.", Run: insert},
		{Name: "CF.INSERTNX", Arity: -4, Flags: commands.Write | commands.DenyOOM, Keys: write,
			Syntax: "key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]", Since: "1.0.0", Cost: "O(n * (k + i)) for n items, k sub-filters and i iterations",
			Summary: "Adds items that are surely not there to a cuckoo filter, creating it with the given capacity if needed.", Run: insertNX},
		{Name: "CF.EXISTS", Arity: 3, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key item", Since: "1.0.0",
			Cost: "O(k) for k sub-filters", Summary: "Reports whether an item may be in a cuckoo filter.", Run: exists},
		{Name: "CF.MEXISTS", Arity: -3, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key item [item ...]", Since: "1.0.0",
			Cost: "O(k * n) for k sub-filters and n items", Summary: "Reports for each of several items whether it may be in a cuckoo filter.", Run: exists},
		{Name: "CF.DEL", Arity: 3, Flags: commands.Write | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)}, Syntax: "key item", Since: "1.0.0",
			Cost: "O(k) for k sub-filters, and at times O(n) for n slots", Summary: "Deletes an item, which must have been added, from a cuckoo filter.", Run: del},
		{Name: "CF.COUNT", Arity: 3, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key item", Since: "1.0.0",
			Cost: "O(k) for k sub-filters", Summary: "Returns how often an item may be in a cuckoo filter.", Run: count},
		{Name: "CF.COMPACT", Arity: 2, Flags: commands.Write, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)}, Syntax: "key", Since: "1.0.0",
			Cost: "O(n) for n slots", Summary: "Moves items of a cuckoo filter from newer sub-filters to older ones.", Run: compact},
		{Name: "CF.INFO", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns the parameters and the size of a cuckoo filter.", Run: info},
		{Name: "CF.DEBUG", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns the parameters of a cuckoo filter as a text.", Run: debug},
		{Name: "CF.SCANDUMP", Arity: 3, Flags: commands.ReadOnly, Keys: read, Syntax: "key iterator", Since: "1.0.0",
			Cost: "O(n) for n bytes", Summary: "Returns the next part of a serialized cuckoo filter.", Run: scanDump},
		{Name: "CF.LOADCHUNK", Arity: 4, Flags: commands.Write | commands.DenyOOM, Keys: write, Syntax: "key iterator data", Since: "1.0.0",
			Cost: "O(n) for n bytes", Summary: "Restores a part of a serialized cuckoo filter.", Run: loadChunk},
		{Name: "CF.MERGE", Arity: -4, Flags: commands.Write | commands.DenyOOM | commands.MovableKeys,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert|commands.Access), commands.KeyCount(2, commands.RO|commands.Access)},
			Syntax: "destination numkeys source [source ...]", Since: "0.2.0", Types: commands.Types{"destination": commands.ArgKey, "source": commands.ArgKey},
			Cost: "O(n) for n slots of all filters", Summary: "Adds the items of cuckoo filters of the same shape to another one, creating it if needed.", Run: merge},
	}}
}

// defaultShape is the shape of a filter that CF.ADD makes.
func defaultShape(c *commands.Ctx) cuckoo.Shape {
	d := &c.Host.Limits().Filters
	return cuckoo.Shape{
		Capacity: max(uint64(d.CuckooCapacity), 2*uint64(d.CuckooBucketSize)), BucketSize: uint64(d.CuckooBucketSize),
		Iterations: uint64(d.CuckooIterations), Expansion: uint64(d.CuckooExpansion),
	}
}

// create stores a new filter under a key that does not exist.
func create(c *commands.Ctx, key []byte, s cuckoo.Shape) error {
	f := cuckoo.New()
	if f.Reserve(nil, s, c.Host.Limits().ModuleMemory()) != nil {
		return errCreateMemory
	}
	return commands.Store(c, key, f)
}

func reserve(c *commands.Ctx) error {
	if len(c.Args.All())%2 == 0 {
		return commands.ErrArity(c.Command)
	}
	key := c.Args.Key()
	s, err := reserveShape(c)
	if err != nil {
		return err
	}
	if err := commands.CheckAbsent[*cuckoo.Filter](c, key, errExists); err != nil {
		return err
	}
	if err := create(c, key, s); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

// reserveShape reads the arguments of CF.RESERVE behind the key.
func reserveShape(c *commands.Ctx) (s cuckoo.Shape, err error) {
	s = defaultShape(c)
	capacity, ok := commands.ParseInt(c.Args.Bytes())
	if !ok {
		return s, errCapacity
	}
	for _, o := range []struct {
		word      string
		low, high int64
		value     *uint64
	}{
		{"MAXITERATIONS", 1, cuckoo.MaxIterations, &s.Iterations},
		{"BUCKETSIZE", 1, cuckoo.MaxBucketSize, &s.BucketSize},
		{"EXPANSION", 0, cuckoo.MaxExpansion, &s.Expansion},
	} {
		if err := readOption(c, o.word, o.low, o.high, o.value); err != nil {
			return s, err
		}
	}
	if capacity < 2*int64(s.BucketSize) || capacity > cuckoo.MaxCapacity {
		return s, errReserveRange
	}
	s.Capacity = uint64(capacity)
	return s, nil
}

// readOption reads the value behind the first argument that is the word, if there is one. RedisBloom
// looks for it among all arguments, and ignores those that it does not know.
func readOption(c *commands.Ctx, word string, low, high int64, value *uint64) error {
	all := c.Args.All()
	i := commands.WordAt(all, word)
	if i < 0 {
		return nil
	}
	if i+1 == len(all) {
		return errOption(word)
	}
	n, ok := commands.ParseInt(all[i+1])
	switch {
	case !ok:
		return errOption(word)
	case n < low || n > high:
		return errOptionRange(word, low, high)
	}
	*value = uint64(n)
	return nil
}

// edit finds a filter to change, which may have another sub-filter. One that is missing is made in shape
// s; if that is nil it is an error.
func edit(c *commands.Ctx, key []byte, s *cuckoo.Shape) (*cuckoo.Filter, *structures.Change, error) {
	f, ch, err := commands.EditCreated[*cuckoo.Filter](c, key, func() error {
		if s == nil {
			return errNotFound
		}
		return create(c, key, *s)
	})
	if err == nil && int64(f.Arrays()) >= c.Host.Limits().Filters.CuckooMaxFilters {
		err = errExpansions
	}
	return f, ch, err
}

func add(c *commands.Ctx) error   { return addOne(c, cuckoo.Every) }
func addNX(c *commands.Ctx) error { return addOne(c, cuckoo.Missing) }

func addOne(c *commands.Ctx, m cuckoo.Mode) error {
	key, items := c.Args.Key(), c.Args.Rest()
	s := defaultShape(c)
	f, ch, err := edit(c, key, &s)
	if err != nil {
		return err
	}
	if !f.Insert(ch, items, m, c.Host.Limits().ModuleMemory(), func(r cuckoo.Result) {
		switch r {
		case cuckoo.Full:
			err = errFull
		case cuckoo.Memory:
			err = errMemory
		default:
			c.Reply.Bool(r == cuckoo.Added)
		}
	}) {
		return c.Tx.Err()
	}
	return err
}

func insert(c *commands.Ctx) error   { return insertMany(c, cuckoo.Every) }
func insertNX(c *commands.Ctx) error { return insertMany(c, cuckoo.Missing) }

func insertMany(c *commands.Ctx, m cuckoo.Mode) error {
	key := c.Args.Key()
	s, err := insertShape(c)
	if err != nil {
		return err
	}
	items := c.Args.Rest()
	f, ch, err := edit(c, key, s)
	if err != nil {
		return err
	}
	c.Reply.Array(len(items))
	if !f.Insert(ch, items, m, c.Host.Limits().ModuleMemory(), func(r cuckoo.Result) { replyResult(c, m, r) }) {
		return c.Tx.Err()
	}
	return nil
}

// replyResult writes what became of an item of CF.INSERT or CF.INSERTNX.
func replyResult(c *commands.Ctx, m cuckoo.Mode, r cuckoo.Result) {
	switch {
	case r == cuckoo.Memory:
		c.Reply.Error(errMemory)
	case r == cuckoo.Full && (m == cuckoo.Missing || c.Reply.Proto() == 2):
		c.Reply.Int(-1)
	case m == cuckoo.Missing:
		c.Reply.IntBool(r == cuckoo.Added)
	default:
		c.Reply.Bool(r == cuckoo.Added)
	}
}

// insertShape reads the options of CF.INSERT, whose first letter counts, up to the items. It is
// nil if no filter is to be made.
func insertShape(c *commands.Ctx) (*cuckoo.Shape, error) {
	s, create := defaultShape(c), true
	for c.Args.Left() > 1 {
		switch word := c.Args.Bytes(); {
		case commands.StartsFold(word, "I"):
			if !create {
				return nil, nil
			}
			return &s, nil
		case commands.StartsFold(word, "C"):
			n, ok := commands.ParseInt(c.Args.Bytes())
			switch {
			case !ok:
				return nil, errCapacity
			case n < 2*int64(s.BucketSize) || n > cuckoo.MaxCapacity:
				return nil, errInsertRange
			}
			s.Capacity = uint64(n)
		case commands.StartsFold(word, "N"):
			create = false
		default:
			return nil, errArgument
		}
	}
	return nil, commands.ErrArity(c.Command)
}

func del(c *commands.Ctx) error { return c.Apart(beginDel) }

// beginDel begins a deletion, which is a large job if fingerprints are moved.
func beginDel(c *commands.Ctx) (*commands.Job, error) {
	key, item := c.Args.Key(), c.Args.Bytes()
	f, ch, err := editExisting(c, key, errNothingToDelete)
	if err != nil {
		return nil, err
	}
	if !f.Crowded() || !f.Exists(item) {
		return &commands.Job{Work: noWork, End: func(c *commands.Ctx) error {
			c.Reply.Bool(f.Delete(ch, item))
			return c.Tx.Err()
		}}, nil
	}
	item = append([]byte(nil), item...)
	return change(c, key, f, ch, func(f *cuckoo.Filter, ch *structures.Change) bool { return f.Delete(ch, item) },
		func(r *commands.Reply) { r.Bool(true) }), nil
}

func noWork() error { return nil }

func compact(c *commands.Ctx) error { return c.Apart(beginCompact) }

func beginCompact(c *commands.Ctx) (*commands.Job, error) {
	key := c.Args.Key()
	f, ch, err := editExisting(c, key, errNothingToCompact)
	if err != nil {
		return nil, err
	}
	return change(c, key, f, ch, (*cuckoo.Filter).Compact, (*commands.Reply).OK), nil
}

// editExisting finds a filter for commands to which it is the same whether there is no key or one of another type.
func editExisting(c *commands.Ctx, key []byte, missing error) (*cuckoo.Filter, *structures.Change, error) {
	f, ch, err := commands.EditExisting[*cuckoo.Filter](c, key, missing)
	if errors.Is(err, structures.ErrWrongType) {
		err = missing
	}
	return f, ch, err
}

// change is the job of a change that looks at the whole filter: it is made to a copy, if that is worthwhile, which the
// filter becomes then. apply reports false if a page cannot be read.
func change(c *commands.Ctx, key []byte, f *cuckoo.Filter, ch *structures.Change, apply func(*cuckoo.Filter, *structures.Change) bool,
	reply func(*commands.Reply)) *commands.Job {
	forks, bytes := commands.Fork(c, f)
	if bytes == 0 {
		return &commands.Job{Work: noWork, End: func(c *commands.Ctx) error {
			apply(f, ch)
			reply(&c.Reply)
			return c.Tx.Err()
		}}
	}
	key = append([]byte(nil), key...)
	var recorded structures.Change
	return &commands.Job{
		Bytes: bytes,
		Keys:  [][]byte{key},
		Work: func() error {
			apply(forks[0], &recorded)
			return nil
		},
		End: func(c *commands.Ctx) error {
			f, ch, err := editExisting(c, key, errNotFound)
			if err == nil {
				f.Become(ch, forks[0], &recorded)
				reply(&c.Reply)
			}
			return err
		},
	}
}
