package tdigest

import (
	"errors"
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/tdigest"
)

// Group is the commands about t-digests.
func Group() commands.Group {
	return commands.Group{Name: "tdigest", Commands: append(writeRows(), readRows()...)}
}

func writeRows() []commands.Command {
	write := []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)}
	return []commands.Command{
		{Name: "TDIGEST.CREATE", Arity: -2, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: write, Syntax: "key [COMPRESSION compression]", Since: "2.4.0",
			Cost: "O(1)", Summary: "Creates an empty t-digest.", Run: create},
		{Name: "TDIGEST.ADD", Arity: -3, Flags: commands.Write | commands.DenyOOM, Keys: write, Syntax: "key value [value ...]", Since: "2.4.0",
			Types: commands.Types{"value": commands.ArgDouble},
			Cost:  "O(n) for n values, and at times O(c log c) for compression c", Summary: "Adds values to a t-digest.", Run: add},
		{Name: "TDIGEST.RESET", Arity: 2, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)},
			Syntax: "key", Since: "2.4.0", Cost: "O(1)", Summary: "Removes all values from a t-digest.", Run: reset},
		{Name: "TDIGEST.MERGE", Arity: -4, Flags: commands.Write | commands.DenyOOM | commands.MovableKeys,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert|commands.Access), commands.KeyCount(2, commands.RO|commands.Access)},
			Syntax: "destination-key numkeys source-key [source-key ...] [COMPRESSION compression] [OVERRIDE]", Since: "2.4.0",
			Types: commands.Types{"destination-key": commands.ArgKey, "source-key": commands.ArgKey},
			Cost:  "O(n * c log c) for n digests of compression c", Summary: "Merges t-digests into one.", Run: merge},
	}
}

// readCompression reads the value of COMPRESSION.
func readCompression(b []byte) (int64, error) {
	n, ok := commands.ParseInt(b)
	switch {
	case !ok:
		return 0, errCompression
	case n < 1:
		return 0, errCompressionRange
	}
	return n, nil
}

func create(c *commands.Ctx) error {
	if n := len(c.Args.All()); n != 2 && n != 4 {
		return commands.ErrArity(c.Command)
	}
	key := c.Args.Key()
	switch _, ok, err := persistence.View[*tdigest.Digest](c.Tx, key); {
	case err != nil:
		return err
	case ok:
		return errExists
	}
	compression := int64(tdigest.DefaultCompression)
	if c.Args.More() {
		if !c.Args.Is("COMPRESSION") {
			return errKeyword
		}
		var err error
		if compression, err = readCompression(c.Args.Bytes()); err != nil {
			return err
		}
	}
	d := tdigest.New()
	if d.Init(nil, float64(compression), c.Host.Limits().ModuleMemory()) != nil {
		return errMemory
	}
	if err := commands.Store(c, key, d); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

// edit finds a digest to change.
func edit(c *commands.Ctx, key []byte) (*tdigest.Digest, *structures.Change, error) {
	return commands.EditExisting[*tdigest.Digest](c, key, errNoKey)
}

func add(c *commands.Ctx) error {
	key, args := c.Args.Key(), c.Args.Rest()
	d, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	var room [16]float64
	values := room[:0]
	for _, a := range args {
		v, ok := commands.ParseFloat(a)
		switch {
		case !ok:
			return errValue
		case math.IsInf(v, 0):
			return errValueFinite
		}
		values = append(values, v)
	}
	switch err := d.Add(ch, values); {
	case errors.Is(err, tdigest.ErrUnread):
		return c.Tx.Err()
	case err != nil:
		return errOverflow
	}
	c.Reply.OK()
	return nil
}

func reset(c *commands.Ctx) error {
	d, ch, err := edit(c, c.Args.Key())
	if err != nil {
		return err
	}
	if !d.Clear(ch) {
		return c.Tx.Err()
	}
	c.Reply.OK()
	return nil
}

func merge(c *commands.Ctx) error { return c.Apart(beginMerge) }

func beginMerge(c *commands.Ctx) (*commands.Job, error) {
	key := c.Args.Key()
	dest, exists, err := persistence.View[*tdigest.Digest](c.Tx, key)
	if err != nil {
		return nil, err
	}
	sources, compression, override, err := mergeArguments(c)
	if err != nil {
		return nil, err
	}
	var digests []*tdigest.Digest
	if exists && !override {
		digests = append(digests, dest)
	}
	greatest := 0.0
	for _, source := range sources {
		d, err := view(c, source)
		if err != nil {
			return nil, err
		}
		digests, greatest = append(digests, d), max(greatest, d.Compression())
	}
	switch {
	case compression > 0:
		greatest = float64(compression)
	case exists && !override:
		greatest = dest.Compression()
	}
	digests, bytes := commands.Fork(c, digests...)
	keys, limit := commands.CopyArgs(append([][]byte{key}, sources...)), c.Host.Limits().ModuleMemory()
	return commands.MergeJob(keys, exists, bytes, func() (structures.Value, error) {
		sum, err := tdigest.Join(greatest, digests, limit)
		switch {
		case errors.Is(err, tdigest.ErrUnread):
			return nil, c.Tx.Err()
		case errors.Is(err, tdigest.ErrOverflow):
			return nil, errOverflow
		case err != nil:
			return nil, errDestination
		}
		return sum, nil
	}), nil
}

// mergeArguments reads the arguments of TDIGEST.MERGE behind the destination. compression is 0 if none is given. Words
// that are not known are ignored beside one that is.
func mergeArguments(c *commands.Ctx) (keys [][]byte, compression int64, override bool, err error) {
	n, ok := commands.ParseInt(c.Args.Bytes())
	rest := c.Args.Rest()
	switch {
	case !ok:
		return nil, 0, false, errNumkeys
	case n < 1:
		return nil, 0, false, errNumkeysRange
	case n > int64(len(rest)):
		return nil, 0, false, commands.ErrArity(c.Command)
	}
	keys, rest = rest[:n], rest[n:]
	override = commands.WordAt(rest, "OVERRIDE") >= 0
	i := commands.WordAt(rest, "COMPRESSION")
	switch {
	case i >= 0 && i+1 == len(rest):
		return nil, 0, false, commands.ErrArity(c.Command)
	case i >= 0:
		compression, err = readCompression(rest[i+1])
	case len(rest) > 0 && !override:
		err = errKeyword
	}
	return keys, compression, override, err
}
