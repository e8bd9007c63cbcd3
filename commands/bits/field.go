package bits

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/bits"
)

// fieldAction is what an operation of BITFIELD does.
type fieldAction uint8

const (
	fieldGet fieldAction = iota
	fieldSet
	fieldIncr
)

// fieldOp is one operation of a BITFIELD.
type fieldOp struct {
	action fieldAction
	how    bits.Overflow
	kind   bits.FieldType
	offset uint64
	value  int64
}

func bitfield(c *commands.Ctx) error {
	key := c.Args.Key()
	var room [8]fieldOp
	ops, size := readFieldOps(c, room[:0])
	if err := c.Args.Done(); err != nil {
		return err
	}
	if size == 0 {
		return readFields(c, key, ops)
	}
	b, _, err := c.Tx.String(key)
	if err != nil {
		return err
	}
	return runFields(c, key, ops, size, size > uint64(len(b)))
}

// runFields runs operations some of which write. The string is made long enough
// for all of them before the first, even if none writes in the end.
func runFields(c *commands.Ctx, key []byte, ops []fieldOp, size uint64, grown bool) error {
	if grown {
		c.NotifyNew(key)
		if err := c.Tx.PatchString(key, int(size), nil); err != nil {
			return err
		}
	}
	c.Reply.Array(len(ops))
	wrote := false
	for i := range ops {
		written, changed, err := runField(c, key, &ops[i])
		if err != nil {
			return err
		}
		wrote = wrote || changed || grown && written
	}
	if wrote {
		c.Notify(commands.EventString, "setbit", key)
	}
	return nil
}

func bitfieldRO(c *commands.Ctx) error {
	key := c.Args.Key()
	var room [8]fieldOp
	ops, size := readFieldOps(c, room[:0])
	if err := c.Args.Done(); err != nil {
		return err
	}
	if size > 0 {
		return errFieldReadOnly
	}
	return readFields(c, key, ops)
}

// readFields runs operations none of which writes.
func readFields(c *commands.Ctx, key []byte, ops []fieldOp) error {
	b, _, err := c.ViewString(key)
	if err != nil {
		return err
	}
	c.Reply.Array(len(ops))
	for _, op := range ops {
		c.Reply.Int(bits.GetField(b, op.kind, op.offset))
	}
	return nil
}

// runField runs one operation on the string at key, which is long enough, and
// reports whether it wrote its field, and whether that changed a bit. Only the
// bytes of the field are recorded.
func runField(c *commands.Ctx, key []byte, op *fieldOp) (written, changed bool, err error) {
	b, _, err := c.Tx.String(key)
	if err != nil {
		return false, false, err
	}
	if op.action == fieldGet {
		c.Reply.Int(bits.GetField(b, op.kind, op.offset))
		return false, false, nil
	}
	from, to := bits.FieldBytes(op.kind, op.offset)
	var field [9]byte
	n := copy(field[:], b[from:to])
	var answer int64
	var ok bool
	if op.action == fieldSet {
		answer, ok = bits.SetField(field[:n], op.kind, op.offset&7, op.value, op.how)
	} else {
		answer, ok = bits.IncrField(field[:n], op.kind, op.offset&7, op.value, op.how)
	}
	if !ok {
		c.Reply.Null()
		return false, false, nil
	}
	c.Reply.Int(answer)
	if string(field[:n]) == string(b[from:to]) {
		return true, false, nil
	}
	return true, true, c.Tx.PatchString(key, int(from), field[:n])
}

// readFieldOps appends the operations of the call to dst. size is the length
// that the string must have for those that write, 0 if none does.
func readFieldOps(c *commands.Ctx, dst []fieldOp) (ops []fieldOp, size uint64) {
	a := &c.Args
	how := bits.OverflowWrap
	for a.More() {
		op := fieldOp{how: how}
		values := 3
		switch a.Word() {
		case "OVERFLOW":
			how = readOverflow(a)
			continue
		case "GET":
			op.action, values = fieldGet, 2
		case "SET":
			op.action = fieldSet
		case "INCRBY":
			op.action = fieldIncr
		default:
			values = a.Left() + 1
		}
		if a.Left() < values {
			a.Syntax()
			return dst, size
		}
		op.kind = readFieldType(a)
		op.offset = readFieldOffset(c, op.kind)
		if op.action != fieldGet {
			op.value = a.Int()
			_, to := bits.FieldBytes(op.kind, op.offset)
			size = max(size, to)
		}
		dst = append(dst, op)
	}
	return dst, size
}

func readOverflow(a *commands.Args) bits.Overflow {
	switch a.Word() {
	case "WRAP":
		return bits.OverflowWrap
	case "SAT":
		return bits.OverflowSat
	case "FAIL":
		return bits.OverflowFail
	}
	a.Fail(errFieldOverflow)
	return bits.OverflowWrap
}

// readFieldType reads i1 to i64 or u1 to u63.
func readFieldType(a *commands.Args) bits.FieldType {
	b := a.Bytes()
	if len(b) > 1 {
		n, ok := commands.ParseInt(b[1:])
		signed := b[0] == 'i'
		if ok && n >= 1 && (signed && n <= 64 || b[0] == 'u' && n <= 63) {
			return bits.FieldType{Signed: signed, Bits: int(n)}
		}
	}
	a.Fail(errFieldType)
	return bits.FieldType{Bits: 1}
}

// readFieldOffset reads an offset in bits, or with a # in front in widths of the
// type.
func readFieldOffset(c *commands.Ctx, t bits.FieldType) uint64 {
	b := c.Args.Bytes()
	width := int64(1)
	if len(b) > 0 && b[0] == '#' {
		b, width = b[1:], int64(t.Bits)
	}
	off, ok := commands.ParseInt(b)
	// Checked before it is multiplied, so that it cannot overflow.
	if !ok || !offsetFits(c, off) || !offsetFits(c, off*width) {
		c.Args.Fail(errOffset)
		return 0
	}
	return uint64(off * width)
}
