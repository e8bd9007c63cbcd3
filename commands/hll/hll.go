package hll

import (
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/hyll"
)

func Group() commands.Group {
	return commands.Group{Name: "hyperloglog", Commands: []commands.Command{
		{Name: "PFADD", Arity: -2, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)},
			Syntax: "key [element [element ...]]", Since: "2.8.9", Cost: "O(1) for each element",
			Summary: "Adds elements to a HyperLogLog, creating it if needed.", Run: pfadd},
		{Name: "PFCOUNT", Arity: -2, Flags: commands.ReadOnly | commands.MayReplicate, Keys: []commands.KeySpec{commands.KeyRange(1, -1, 1, commands.RW|commands.Access)},
			Syntax: "key [key ...]", Since: "2.8.9", Cost: "O(n) for n keys; O(1) for one key whose count is cached",
			Summary: "Estimates the number of distinct elements of a HyperLogLog, or of the union of several.", Run: pfcount},
		{Name: "PFMERGE", Arity: -2, Flags: commands.Write | commands.DenyOOM,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Insert), commands.KeyRange(2, -1, 1, commands.RO|commands.Access)},
			Syntax: "destkey [sourcekey [sourcekey ...]]", Since: "2.8.9", Cost: "O(n) for n keys",
			Summary: "Merges several HyperLogLogs into one.", Run: pfmerge},
		{Name: "PFDEBUG", Arity: 3, Flags: commands.Write | commands.DenyOOM | commands.Admin, Keys: []commands.KeySpec{commands.Key(2, commands.RW|commands.Access)},
			Syntax: "GETREG|DECODE|ENCODING|TODENSE key", Since: "2.8.9", Cost: "O(1)",
			Summary: "Returns details of how a HyperLogLog is stored.", Run: pfdebug},
		{Name: "PFSELFTEST", Arity: 1, Flags: commands.Admin, Since: "2.8.9", Cost: "O(1)",
			Summary: "Runs a self-test of the HyperLogLog code.", Run: pfselftest},
	}}
}

// wireError translates an error of package structures.
func wireError(err error) error {
	switch {
	case errors.Is(err, hyll.ErrNotHYLL):
		return errInvalid
	case errors.Is(err, hyll.ErrCorrupt):
		return errCorrupt
	case errors.Is(err, hyll.ErrDense):
		return errNotSparse
	}
	return err
}

// find finds the HyperLogLog at key, to be changed.
func find(c *commands.Ctx, key []byte) (value []byte, ok bool, err error) {
	return checked(c.Tx.String(key))
}

// view finds it for a command that reads; a missing key is published as a miss.
func view(c *commands.Ctx, key []byte) (value []byte, ok bool, err error) {
	return checked(c.ViewString(key))
}

func checked(value []byte, ok bool, err error) ([]byte, bool, error) {
	if err == nil && ok {
		err = wireError(hyll.Check(value))
	}
	return value, ok, err
}

// maxPatches bounds the number of elements of one PFADD that are recorded one
// by one: an element changes three bytes of 12304, with ten of overhead.
const maxPatches = 500

func pfadd(c *commands.Ctx) error {
	key, elems := c.Args.Key(), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	value, ok, err := find(c, key)
	if err != nil {
		return err
	}
	var changed bool
	if dense := ok && value[encodingAt] == denseEncoding; dense && len(elems) <= maxPatches {
		changed, err = addDense(c, key, elems)
	} else {
		changed, err = addCopy(c, key, value, ok, elems)
	}
	if err != nil {
		return err
	}
	if changed {
		c.Notify(commands.EventString, "pfadd", key)
	}
	c.Reply.IntBool(changed)
	return nil
}

// sparseRoom is the room for a copy of a sparse string on the stack: what
// hll-sparse-max-bytes allows by default.
const sparseRoom = 3000

// Where the encoding of a HyperLogLog stands, and what a dense one has there.
const (
	encodingAt    = 4
	denseEncoding = 0
)

// addDense adds to a dense HyperLogLog in its place: the bytes that an
// element changes are written into the store's own memory and handed to
// PatchString at once, so that 12 KiB are neither copied nor recorded.
func addDense(c *commands.Ctx, key []byte, elems [][]byte) (changed bool, err error) {
	for _, elem := range elems {
		value, _, err := c.Tx.String(key)
		if err != nil {
			return changed, err
		}
		var t hyll.Touched
		if _, _, err = hyll.Add(value, elem, 0, &t); err != nil {
			return changed, wireError(err)
		}
		for _, r := range t.Ranges() {
			changed = true
			if err := c.Tx.PatchString(key, r.Off, value[r.Off:r.End]); err != nil {
				return changed, err
			}
		}
	}
	return changed, nil
}

// addCopy adds to a copy of value, or to a new HyperLogLog if ok is false,
// and stores what came of it.
func addCopy(c *commands.Ctx, key, value []byte, ok bool, elems [][]byte) (changed bool, err error) {
	var t hyll.Touched
	var room [sparseRoom]byte
	if ok {
		value = append(room[:0], value...)
	} else {
		value = hyll.New()
		t.Whole = true
	}
	sparseMax := c.Host.Limits().HLLSparseMax
	for _, elem := range elems {
		if value, _, err = hyll.Add(value, elem, sparseMax, &t); err != nil {
			return false, wireError(err)
		}
	}
	return t.Any(), store(c, key, value, &t)
}

// store writes value, or only its bytes that changed.
func store(c *commands.Ctx, key, value []byte, t *hyll.Touched) error {
	if t.Whole {
		c.NotifyNew(key)
		c.Tx.SetString(key, value, persistence.KeepExpiry)
		return nil
	}
	for _, r := range t.Ranges() {
		if err := c.Tx.PatchString(key, r.Off, value[r.Off:r.End]); err != nil {
			return err
		}
	}
	return nil
}

func pfcount(c *commands.Ctx) error {
	keys := c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	if len(keys) > 1 {
		return countUnion(c, keys)
	}
	value, ok, err := view(c, keys[0])
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Int(0)
		return nil
	}
	n, cached := hyll.Cached(value)
	if !cached {
		if n, err = count(c, keys[0], value); err != nil {
			return err
		}
	}
	c.Reply.Int(int64(n))
	return nil
}

// count counts and keeps the count in the string, as Redis does: the next
// PFCOUNT finds it, and dumps carry it.
func count(c *commands.Ctx, key, value []byte) (uint64, error) {
	value = append([]byte(nil), value...)
	var t hyll.Touched
	n, err := hyll.Count(value, &t)
	if err != nil {
		return 0, wireError(err)
	}
	return n, store(c, key, value, &t)
}

func countUnion(c *commands.Ctx, keys [][]byte) error {
	u, err := union(c, keys)
	if err != nil {
		return err
	}
	n, err := u.Count()
	if err != nil {
		return err
	}
	c.Reply.Int(int64(n))
	return nil
}

// union is the union of the HyperLogLogs at keys; missing ones are empty.
func union(c *commands.Ctx, keys [][]byte) (*hyll.Union, error) {
	u := hyll.NewUnion()
	for _, key := range keys {
		value, ok, err := view(c, key)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if err := u.Merge(value); err != nil {
			return nil, wireError(err)
		}
	}
	return u, nil
}

func pfmerge(c *commands.Ctx) error {
	keys := c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	dest := keys[0]
	u, err := union(c, keys)
	if err != nil {
		return err
	}
	value, ok, err := c.Tx.String(dest)
	if err != nil {
		return err
	}
	if ok {
		value = append(make([]byte, 0, len(value)+64), value...)
	} else {
		value = nil
	}
	if value, err = u.Store(value, c.Host.Limits().HLLSparseMax); err != nil {
		return wireError(err)
	}
	c.NotifyNew(dest)
	c.Tx.SetString(dest, value, persistence.KeepExpiry)
	c.Notify(commands.EventString, "pfadd", dest)
	c.Reply.OK()
	return nil
}
