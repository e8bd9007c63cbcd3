package bits

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bits"
	"github.com/vigildb/vigil/structures/text"
)

func Group() commands.Group {
	read := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	return commands.Group{Name: "bitmap", Commands: []commands.Command{
		{Name: "SETBIT", Arity: 4, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Update)},
			Syntax: "key offset value", Since: "2.2.0", Cost: "O(1)",
			Summary: "Sets or clears a bit, lengthening the string if needed, and returns its previous value.", Run: setbit},
		{Name: "GETBIT", Arity: 3, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key offset", Since: "2.2.0",
			Cost: "O(1)", Summary: "Returns a bit of a string, 0 beyond its end.", Run: getbit},
		{Name: "BITCOUNT", Arity: -2, Flags: commands.ReadOnly, Keys: read, Syntax: "key [start [end [BYTE|BIT]]]", Since: "2.6.0",
			Cost: "O(n) for n bytes", Summary: "Counts the bits that are set in a string or a part of it.", Run: bitcount},
		{Name: "BITPOS", Arity: -3, Flags: commands.ReadOnly, Keys: read, Syntax: "key bit [start [end [BYTE|BIT]]]", Since: "2.8.7",
			Cost: "O(n) for n bytes", Summary: "Returns the position of the first 0 or 1 bit of a string.", Run: bitpos},
		{Name: "BITRANGEINTARRAY", Arity: -4, Flags: commands.ReadOnly, Keys: read, Syntax: "key start end [BYTE|BIT] [LIMIT limit] [ZEROS]", Since: "8.12.0",
			Cost: "O(n) for n bytes", Summary: "Returns the positions of the bits that are set, or clear, in a part of a string.", Run: bitrange},
		{Name: "BITOP", Arity: -4, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(2, commands.OW|commands.Update), commands.KeyRange(3, -1, 1, commands.RO|commands.Access)},
			Syntax: "AND|OR|XOR|NOT|DIFF|DIFF1|ANDOR|ONE destkey key [key ...]", Since: "2.6.0", Cost: "O(n) for n bytes of the longest string",
			Summary: "Combines strings bit by bit and stores the result.", Run: bitop},
		{Name: "BITFIELD", Arity: -2, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{{Begin: 1, Step: 1, Flags: commands.RW | commands.Update | commands.Access | commands.VariableKeys, Vary: bitfieldAccess}},
			Syntax: "key [GET type offset|[OVERFLOW WRAP|SAT|FAIL] SET type offset value|INCRBY type offset increment ...]",
			Since:  "3.2.0", Cost: "O(1) for each operation",
			Summary: "Reads and changes integers of any width at any bit of a string.", Run: bitfield},
		{Name: "BITFIELD_RO", Arity: -2, Flags: commands.ReadOnly | commands.Fast, Keys: read,
			Syntax: "key [GET type offset [GET type offset ...]]", Since: "6.0.0", Cost: "O(1) for each operation",
			Summary: "Reads integers of any width at any bit of a string.", Run: bitfieldRO},
	}}
}

// bitfieldAccess is what a BITFIELD does to its key: one that only gets changes nothing.
func bitfieldAccess(argv [][]byte) commands.KeyFlag {
	for i := 2; i < len(argv); i++ {
		switch {
		case commands.EqualFold(argv[i], "GET") && i+2 < len(argv):
			i += 2
		case commands.EqualFold(argv[i], "OVERFLOW") && i+1 < len(argv):
			i++
		default:
			return commands.RW | commands.Access | commands.Update
		}
	}
	return commands.RO | commands.Access
}

// readOffset reads the offset of a bit. Its byte must be one that a string can
// have.
func readOffset(c *commands.Ctx) uint64 {
	off := c.Args.IntOr(errOffset)
	if c.Args.Err() == nil && !offsetFits(c, off) {
		c.Args.Fail(errOffset)
	}
	return uint64(off)
}

func offsetFits(c *commands.Ctx, off int64) bool {
	const widest = 8 // bytes that a field may reach beyond the byte of its offset
	return off >= 0 && off>>3 < min(c.Host.Limits().MaxBulk, text.MaxStringLen-widest)
}

func setbit(c *commands.Ctx) error {
	key, off := c.Args.Key(), readOffset(c)
	bit := int(c.Args.IntIn(0, 1, errBit))
	if err := c.Args.Done(); err != nil {
		return err
	}
	b, _, err := c.Tx.String(key)
	if err != nil {
		return err
	}
	at := off >> 3
	old := bits.At(b, off)
	if at >= uint64(len(b)) || old != bit {
		var one [1]byte
		if at < uint64(len(b)) {
			one[0] = b[at]
		}
		bits.Put(one[:], off&7, bit)
		c.NotifyNew(key)
		if err := c.Tx.PatchString(key, int(at), one[:]); err != nil {
			return err
		}
		c.Notify(commands.EventString, "setbit", key)
	}
	c.Reply.Int(int64(old))
	return nil
}

func getbit(c *commands.Ctx) error {
	key, off := c.Args.Key(), readOffset(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	b, _, err := c.ViewString(key)
	if err != nil {
		return err
	}
	c.Reply.Int(int64(bits.At(b, off)))
	return nil
}

// readUnit reads BYTE or BIT, or nothing.
func readUnit(a *commands.Args) bits.RangeUnit {
	if !a.More() {
		return bits.InBytes
	}
	switch a.Word() {
	case "BIT":
		return bits.InBits
	case "BYTE":
	default:
		a.Syntax()
	}
	return bits.InBytes
}

func bitcount(c *commands.Ctx) error {
	key := c.Args.Key()
	start, end, unit := int64(0), int64(-1), bits.InBytes
	if n := c.Args.Left(); n > 3 {
		return commands.ErrSyntax // before anything is read
	} else if n > 0 {
		start = c.Args.Int()
	}
	if c.Args.More() {
		end, unit = c.Args.Int(), readUnit(&c.Args)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	b, _, err := c.ViewString(key)
	if err != nil {
		return err
	}
	c.Reply.Int(bits.Count(b, start, end, unit))
	return nil
}

// bitrange replies with positions.
func bitrange(c *commands.Ctx) error {
	key, start, end, unit := c.Args.Key(), c.Args.Int(), c.Args.Int(), bits.InBytes
	bit, limit := 1, int64(0)
	for c.Args.More() {
		switch {
		case c.Args.Left() >= 2 && c.Args.Is("LIMIT"):
			limit = c.Args.IntIn(0, math.MaxInt64, commands.ErrLimitNegative)
		case c.Args.Is("ZEROS"):
			bit = 0
		default:
			unit = readUnit(&c.Args)
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	b, _, err := c.ViewString(key)
	if err != nil {
		return err
	}
	n := int64(0)
	c.Reply.ArrayLater(func() int {
		bits.Each(b, bit, start, end, unit, func(at int64) bool {
			c.Reply.Int(at)
			n++
			return n != limit && !c.Reply.Lost()
		})
		return int(n)
	})
	return nil
}

func bitpos(c *commands.Ctx) error {
	key, bit := c.Args.Key(), c.Args.Int()
	if c.Args.Err() == nil && bit != 0 && bit != 1 {
		c.Args.Fail(errSearchedBit)
	}
	r := readSearch(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	b, ok, err := c.ViewString(key)
	switch {
	case err != nil:
		return err
	case ok:
		c.Reply.Int(bits.Find(b, int(bit), r))
	default:
		c.Reply.Int(-bit) // a missing key counts as endless zeros
	}
	return nil
}

// readSearch reads the range of BITPOS.
func readSearch(a *commands.Args) (r bits.Search) {
	if a.Left() > 3 {
		a.Syntax()
	}
	if a.More() {
		r.Start = a.Int()
	}
	if a.More() {
		// The unit is looked at before the end.
		end := a.Bytes()
		r.HasEnd, r.Unit = true, readUnit(a)
		var ok bool
		if r.End, ok = commands.ParseInt(end); !ok {
			a.Fail(commands.ErrNotInteger)
		}
	}
	return r
}

func readOperator(a *commands.Args) bits.Operator {
	switch a.Word() {
	case "AND":
		return bits.And
	case "OR":
		return bits.Or
	case "XOR":
		return bits.Xor
	case "NOT":
		return bits.Not
	case "DIFF":
		return bits.Diff
	case "DIFF1":
		return bits.Diff1
	case "ANDOR":
		return bits.AndOr
	case "ONE":
		return bits.One
	}
	a.Syntax()
	return bits.And
}

func bitop(c *commands.Ctx) error {
	op := readOperator(&c.Args)
	dest, keys := c.Args.Key(), c.Args.Rest()
	switch {
	case op == bits.Not && len(keys) > 1:
		c.Args.Fail(errNotOperands)
	case op == bits.Diff && len(keys) < 2:
		c.Args.Fail(errDiffOperands)
	case op == bits.Diff1 && len(keys) < 2:
		c.Args.Fail(errDiff1Operands)
	case op == bits.AndOr && len(keys) < 2:
		c.Args.Fail(errAndOrOperands)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	srcs := make([][]byte, 0, 8)
	for _, key := range keys {
		b, _, err := c.ViewString(key)
		if err != nil {
			return err
		}
		srcs = append(srcs, b)
	}
	out := bits.Combine(nil, op, srcs)
	if len(out) > 0 {
		c.NotifyReplaced(dest, structures.KindString)
		c.Tx.GiveString(dest, out, persistence.NoExpiry)
		c.Notify(commands.EventString, "set", dest)
	} else if c.Tx.Delete(dest) {
		c.Notify(commands.EventGeneric, "del", dest)
	}
	c.Reply.Int(int64(len(out)))
	return nil
}
