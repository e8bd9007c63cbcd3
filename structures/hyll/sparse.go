package hyll

import (
	"slices"
	"strconv"
)

// The sparse registers are runs, with lengths stored minus one:
//
//	00xxxxxx           ZERO: x+1 registers of 0, 1 to 64
//	01xxxxxx yyyyyyyy  XZERO: xy+1 registers of 0, 1 to 16384, high byte first
//	1vvvvvxx           VAL: x+1 registers of v+1, 1 to 4 of 1 to 32
//
// What an update writes depends on the runs that it finds, and Redis compares
// strings, so an update here takes the very steps that Redis's takes.

const (
	zeroMax     = 64
	valueMax    = 32
	valueRun    = 4
	mergeWindow = 5 // opcodes that are looked at for runs to join
)

// run is an opcode: n registers of count; size bytes, 0 at a damaged end.
type run struct {
	n     int
	count uint8
	size  int
}

func runAt(v []byte, p int) run {
	c := v[p]
	switch {
	case c&0x80 != 0:
		return run{n: int(c&3) + 1, count: c>>2&31 + 1, size: 1}
	case c&0x40 == 0:
		return run{n: int(c) + 1, size: 1}
	case p+1 < len(v):
		return run{n: int(c&0x3f)<<8 + int(v[p+1]) + 1, size: 2}
	}
	return run{}
}

func value(count uint8, n int) byte { return 0x80 | (count-1)<<2 | byte(n-1) }

func appendHYLLZeros(dst []byte, n int) []byte {
	switch {
	case n <= 0:
		return dst
	case n <= zeroMax:
		return append(dst, byte(n-1))
	}
	return append(dst, 0x40|byte((n-1)>>8), byte(n-1))
}

// eachSparse visits the runs of nonzero registers.
func eachSparse(v []byte, visit func(i, n int, count uint8)) error {
	i := 0
	for p := header; p < len(v); {
		r := runAt(v, p)
		if r.size == 0 || i+r.n > registers {
			return ErrCorrupt
		}
		if r.count > 0 {
			visit(i, r.n, r.count)
		}
		i += r.n
		p += r.size
	}
	if i != registers {
		return ErrCorrupt
	}
	return nil
}

// densify returns the dense form of a sparse string.
func densify(v []byte) ([]byte, error) {
	out := make([]byte, denseLen)
	copy(out, v[:header])
	out[encodingAt] = dense
	regs := out[header:]
	err := eachSparse(v, func(i, n int, count uint8) {
		for j := i; j < i+n; j++ {
			densePut(regs, j, count)
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// sparseRaise sets register index of a sparse string to count if that is
// more. The string becomes dense if count does not fit a run, or if it would
// grow beyond sparseMax bytes. Only the runs up to the register are read: damage
// after it is found by the next count.
func sparseRaise(v []byte, index int, count uint8, sparseMax int, t *Touched) ([]byte, bool, error) {
	if count > valueMax {
		return raiseAsDense(v, index, count, t)
	}
	p, prev, first, r := find(v, index)
	if r.size == 0 {
		return v, false, ErrCorrupt
	}
	if r.count >= count {
		return v, false, nil
	}
	if r.n == 1 && r.size == 1 {
		v[p] = value(count, 1)
		t.add(p, p+1)
		return join(v, prev, t), true, nil
	}

	var room [5]byte
	seq := split(room[:0], r, index-first, count)
	delta := len(seq) - r.size
	if delta > 0 && len(v)+delta > sparseMax {
		return raiseAsDense(v, index, count, t)
	}
	v = slices.Replace(v, p, p+r.size, seq...)
	switch {
	case delta < 0:
		t.Whole = true
	case delta == 0:
		t.add(p, p+len(seq))
	default:
		t.add(p, len(v))
	}
	return join(v, prev, t), true, nil
}

// find returns the run that covers register index, where it begins, where
// the run before it begins (or it itself, if it is the first), and its first
// register. The size of the run is 0 if the string ends before.
func find(v []byte, index int) (p, prev, first int, r run) {
	p, prev = header, header
	for p < len(v) {
		if r = runAt(v, p); r.size == 0 || index < first+r.n {
			return p, prev, first, r
		}
		prev = p
		p += r.size
		first += r.n
	}
	return p, prev, first, run{}
}

// split appends what takes the place of run r when its register at offset
// left is set to count: the rest to the left, the register, the rest to the
// right.
func split(dst []byte, r run, left int, count uint8) []byte {
	right := r.n - 1 - left
	if r.count == 0 {
		dst = appendHYLLZeros(dst, left)
		dst = append(dst, value(count, 1))
		return appendHYLLZeros(dst, right)
	}
	if left > 0 {
		dst = append(dst, value(r.count, left))
	}
	dst = append(dst, value(count, 1))
	if right > 0 {
		dst = append(dst, value(r.count, right))
	}
	return dst
}

// raiseAsDense converts the string and sets the register there.
func raiseAsDense(v []byte, index int, count uint8, t *Touched) ([]byte, bool, error) {
	out, err := densify(v)
	if err != nil {
		return v, false, err
	}
	denseRaise(out[header:], index, count, t)
	t.Whole = true
	return out, true, nil
}

// join joins neighbouring runs of one value from opcode p on. The window
// counts every opcode that is looked at, and every join.
func join(v []byte, p int, t *Touched) []byte {
	for range mergeWindow {
		if p >= len(v) {
			break
		}
		r := runAt(v, p)
		if r.count == 0 || p+1 >= len(v) {
			p += max(r.size, 1)
			continue
		}
		next := runAt(v, p+1)
		if next.count != r.count || r.n+next.n > valueRun {
			p++
			continue
		}
		v[p] = value(r.count, r.n+next.n)
		v = slices.Delete(v, p+1, p+2)
		t.Whole = true
	}
	return v
}

// Decode returns the runs of a sparse string as PFDEBUG DECODE prints
// them: z:n and Z:n for zeros, v:value,n for values. The errors are ErrNotHYLL,
// ErrDense and ErrCorrupt.
func Decode(value []byte) (string, error) {
	if err := Check(value); err != nil {
		return "", err
	}
	if value[encodingAt] != sparse {
		return "", ErrDense
	}
	var out []byte
	for p := header; p < len(value); {
		r := runAt(value, p)
		switch {
		case r.size == 0:
			return "", ErrCorrupt
		case r.count > 0:
			out = append(out, "v:"...)
			out = strconv.AppendInt(out, int64(r.count), 10)
			out = append(out, ',')
		case r.size == 2:
			out = append(out, "Z:"...)
		default:
			out = append(out, "z:"...)
		}
		out = strconv.AppendInt(out, int64(r.n), 10)
		out = append(out, ' ')
		p += r.size
	}
	if len(out) > 0 {
		out = out[:len(out)-1]
	}
	return string(out), nil
}
