package structures

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// Change is the tail of a journal record: methods that change a value append
// their operations to it. A nil *Change discards what is recorded, which is
// what replay and throw-away values use.
//
// One operation is
//
//	op (1 byte) | number of arguments (uvarint) | for each: length (uvarint), bytes
//
// so that a reader can pass over an operation of a type that it does not know.
// Operation codes 0 to 15 belong to package persistence (keys and strings);
// each type numbers its own from 16. These numbers are on disk and never change.
type Change struct {
	buf   []byte
	limit *Limit
}

// Limit bounds which operations a change may have: a group whose members have two versions records only what both of
// them read.
type Limit struct {
	Ops byte  // the highest operation
	Err error // of one above it
}

// Limit bounds what may be recorded from now on; nil: nothing does.
func (c *Change) Limit(l *Limit) { c.limit = l }

// Permit returns the error of a limit that an operation is above. Methods ask for operations that a type has not always had
// before they change anything.
func (c *Change) Permit(code byte) error {
	if c == nil || c.limit == nil || code <= c.limit.Ops {
		return nil
	}
	return c.limit.Err
}

// FirstOp is the lowest operation code that a type may use.
const FirstOp = 16

// Op begins an operation with n arguments; exactly n calls of Bytes, String,
// Int, Uint or Float must follow. It panics if the operation is not permitted: then a method did not ask, and members of a group
// would stop at the record.
func (c *Change) Op(code byte, n int) {
	if c == nil {
		return
	}
	if c.limit != nil && code > c.limit.Ops {
		panic(fmt.Sprintf("structures: operation %d was not asked for: %v", code, c.limit.Err))
	}
	c.buf = append(c.buf, code)
	c.buf = binary.AppendUvarint(c.buf, uint64(n))
}

// Bytes appends an argument.
func (c *Change) Bytes(b []byte) {
	if c == nil {
		return
	}
	c.buf = binary.AppendUvarint(c.buf, uint64(len(b)))
	c.buf = Append(c.buf, b)
}

// Grow makes room for n more bytes.
func (c *Change) Grow(n int) {
	if c != nil {
		c.buf = GrowTo(c.buf, len(c.buf)+n)
	}
}

// Length begins an argument of n bytes, which stand elsewhere.
func (c *Change) Length(n int) {
	if c != nil {
		c.buf = binary.AppendUvarint(c.buf, uint64(n))
	}
}

// Replace puts b in the place of the bytes recorded from one length to another.
func (c *Change) Replace(from, to int, b ...byte) {
	c.buf = slices.Replace(c.buf, from, to, b...)
}

// Take empties the record and returns its bytes, which belong to the caller.
func (c *Change) Take() []byte {
	b := c.buf
	c.buf = nil
	return b
}

// String appends an argument.
func (c *Change) String(s string) {
	if c == nil {
		return
	}
	c.buf = binary.AppendUvarint(c.buf, uint64(len(s)))
	c.buf = append(c.buf, s...)
}

// Int appends an integer argument, little endian without leading zeros of
// its zigzag form: small numbers of either sign are short.
func (c *Change) Int(v int64) { c.Uint(uint64(v)<<1 ^ uint64(v>>63)) }

// Uint appends an integer argument, little endian without leading zeros.
func (c *Change) Uint(v uint64) {
	if c == nil {
		return
	}
	n := (bits.Len64(v) + 7) / 8
	c.buf = append(c.buf, byte(n))
	c.buf = binary.LittleEndian.AppendUint64(c.buf, v)[:len(c.buf)+n]
}

// Append appends operations that another Change recorded.
func (c *Change) Append(encoded []byte) {
	if c != nil {
		c.buf = Append(c.buf, encoded)
	}
}

// Len is the number of bytes recorded so far: a caller that compares it before
// and after knows whether anything was recorded.
func (c *Change) Len() int {
	if c == nil {
		return 0
	}
	return len(c.buf)
}

// Encoded returns the bytes recorded, valid until the next call.
func (c *Change) Encoded() []byte {
	if c == nil {
		return nil
	}
	return c.buf
}

// Reset empties the record and keeps its memory, unless that grew past keep
// bytes.
func (c *Change) Reset(keep int) {
	if cap(c.buf) > keep {
		c.buf = nil
		return
	}
	c.buf = c.buf[:0]
}

// Args reads the arguments of one recorded operation. It keeps its first
// error, which Done returns.
type Args struct {
	buf  []byte
	left int
	err  error
}

// Next makes a the arguments of the first operation of b, and returns its code and the bytes
// after it. The arguments alias b.
func (a *Args) Next(b []byte) (op byte, rest []byte, err error) {
	if len(b) < 2 {
		return 0, nil, fmt.Errorf("operation of %d bytes: %w", len(b), ErrCorrupt)
	}
	op = b[0]
	n, w := uvarint(b[1:])
	if w <= 0 || n > uint64(len(b)) {
		return 0, nil, fmt.Errorf("argument count of operation %d: %w", op, ErrCorrupt)
	}
	body := b[1+w:]
	rest = body
	for i := uint64(0); i < n; i++ {
		size, w := uvarint(rest)
		if w <= 0 || size > uint64(len(rest)-w) {
			return 0, nil, fmt.Errorf("argument %d of operation %d: %w", i, op, ErrCorrupt)
		}
		rest = rest[w+int(size):]
	}
	*a = Args{buf: body[:len(body)-len(rest)], left: int(n)}
	return op, rest, nil
}

// NextOp splits the first operation off b: its code, its arguments, and the
// bytes after it. The arguments alias b.
func NextOp(b []byte) (op byte, args Args, rest []byte, err error) {
	op, rest, err = args.Next(b)
	return op, args, rest, err
}

// Left is the number of arguments not read yet.
func (a *Args) Left() int { return a.left }

// Bytes reads an argument. The result aliases the record.
func (a *Args) Bytes() []byte {
	if a.err != nil {
		return nil
	}
	if a.left == 0 {
		a.err = fmt.Errorf("missing argument: %w", ErrCorrupt)
		return nil
	}
	size, w := uvarint(a.buf)
	if w <= 0 || size > uint64(len(a.buf)-w) {
		a.err = fmt.Errorf("argument length: %w", ErrCorrupt)
		return nil
	}
	b := a.buf[w : w+int(size) : w+int(size)]
	a.buf = a.buf[w+int(size):]
	a.left--
	return b
}

// Uint reads an integer argument.
func (a *Args) Uint() uint64 {
	b := a.Bytes()
	if len(b) > 8 {
		a.err = fmt.Errorf("integer of %d bytes: %w", len(b), ErrCorrupt)
		return 0
	}
	var v uint64
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// Int reads an integer argument written by Change.Int.
func (a *Args) Int() int64 {
	u := a.Uint()
	return int64(u>>1) ^ -int64(u&1)
}

// Err returns the first error.
func (a *Args) Err() error { return a.err }

// Done returns the first error, or one if arguments are left over.
func (a *Args) Done() error {
	if a.err == nil && a.left > 0 {
		return fmt.Errorf("%d arguments too many: %w", a.left, ErrCorrupt)
	}
	return a.err
}
