package text

import (
	"bytes"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
)

func compareRows() []commands.Command {
	remove := []commands.KeySpec{commands.Key(1, commands.RM|commands.Access|commands.Delete)}
	return []commands.Command{
		{Name: "DELEX", Arity: -2, Flags: commands.Write | commands.Fast, Keys: remove,
			Syntax: "key [IFEQ value | IFNE value | IFDEQ digest | IFDNE digest]", Since: "8.4.0", Cost: "O(n) for n bytes compared",
			Summary: "Deletes a key, on request only if its string, or the digest of it, is or is not a given one.", Run: delex},
		{Name: "DELIFEQ", Arity: 3, Flags: commands.Write | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RM|commands.Delete)}, Syntax: "key value",
			Since: "9.0.0", Cost: "O(n) for n bytes compared", Summary: "Deletes a key if its string equals a value.", Run: delifeq},
		{Name: "DIGEST", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)},
			Syntax: "key", Since: "8.4.0", Cost: "O(n) for n bytes",
			Summary: "Returns the XXH3 hash of a string as hexadecimal digits.", Run: digest},
	}
}

// condition is what SET demands of the key.
type condition uint8

const (
	always condition = iota
	ifAbsent
	ifPresent
	ifCompares
)

// comparison is IFEQ, IFNE, IFDEQ or IFDNE with its argument.
type comparison struct {
	digest bool // of the string is compared, not the string itself
	differ bool // is demanded
	with   []byte
}

// read takes the option that begins with word; false if it is none.
func (x *comparison) read(a *commands.Args, word string) bool {
	switch word {
	case "IFEQ":
	case "IFNE":
		x.differ = true
	case "IFDEQ":
		x.digest = true
	case "IFDNE":
		x.digest, x.differ = true, true
	default:
		return false
	}
	x.with = a.Bytes()
	return true
}

// holds reports whether the string at key is as demanded. A key that is missing
// differs from everything, also from the empty string.
func (x *comparison) holds(c *commands.Ctx, key []byte) (bool, error) {
	b, ok, err := c.Tx.String(key)
	switch {
	case err != nil:
		return false, err
	case !ok:
		return x.differ, nil
	}
	return x.compare(b)
}

// compare reports whether a string is as demanded.
func (x *comparison) compare(b []byte) (bool, error) {
	if !x.digest {
		return bytes.Equal(b, x.with) != x.differ, nil
	}
	if len(x.with) != digestLen {
		return false, errDigest
	}
	return bytes.EqualFold(hexDigest(b), x.with) != x.differ, nil
}

const digestLen = 16

// hexDigest is the XXH3 hash of 64 bits, without a seed.
func hexDigest(b []byte) []byte { return fmt.Appendf(nil, "%016x", xxh3.Hash(b)) }

func digest(c *commands.Ctx) error {
	key := c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	b, ok, err := c.ViewString(key)
	if ok && err == nil {
		b = hexDigest(b)
	}
	return replyFound(c, b, ok, err)
}

// delex looks at the key before it reads the condition, as Redis does.
func delex(c *commands.Ctx) error {
	a := &c.Args
	key := a.Key()
	if a.Left() != 0 && a.Left() != 2 {
		return commands.ErrArity(c.Command)
	}
	kind := c.Tx.Kind(key)
	do := kind != structures.KindNone
	if do && a.Left() > 0 {
		if kind != structures.KindString {
			return errDelexType
		}
		var x comparison
		if !x.read(a, a.Word()) {
			return errDelexCondition
		}
		var err error
		if do, err = x.holds(c, key); err != nil {
			return err
		}
	}
	return deleteIf(c, key, do)
}

func delifeq(c *commands.Ctx) error {
	key := c.Args.Key()
	x := comparison{with: c.Args.Bytes()}
	if err := c.Args.Done(); err != nil {
		return err
	}
	same, err := x.holds(c, key)
	if err != nil {
		return err
	}
	return deleteIf(c, key, same)
}

// deleteIf deletes key if do is set and replies whether there was anything to delete.
func deleteIf(c *commands.Ctx, key []byte, do bool) error {
	if do = do && c.Tx.Delete(key); do {
		c.Notify(commands.EventGeneric, "del", key)
	}
	c.Reply.IntBool(do)
	return nil
}
