package structures

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
	hyllZeroMax     = 64
	hyllValueMax    = 32
	hyllValueRun    = 4
	hyllMergeWindow = 5 // opcodes that are looked at for runs to join
)

// hyllRun is an opcode: n registers of count; size bytes, 0 at a damaged end.
type hyllRun struct {
	n     int
	count uint8
	size  int
}

func hyllRunAt(v []byte, p int) hyllRun {
	c := v[p]
	switch {
	case c&0x80 != 0:
		return hyllRun{n: int(c&3) + 1, count: c>>2&31 + 1, size: 1}
	case c&0x40 == 0:
		return hyllRun{n: int(c) + 1, size: 1}
	case p+1 < len(v):
		return hyllRun{n: int(c&0x3f)<<8 + int(v[p+1]) + 1, size: 2}
	}
	return hyllRun{}
}

func hyllValue(count uint8, n int) byte { return 0x80 | (count-1)<<2 | byte(n-1) }

func appendHYLLZeros(dst []byte, n int) []byte {
	switch {
	case n <= 0:
		return dst
	case n <= hyllZeroMax:
		return append(dst, byte(n-1))
	}
	return append(dst, 0x40|byte((n-1)>>8), byte(n-1))
}

// hyllEachSparse visits the runs of nonzero registers.
func hyllEachSparse(v []byte, visit func(i, n int, count uint8)) error {
	i := 0
	for p := hyllHeader; p < len(v); {
		r := hyllRunAt(v, p)
		if r.size == 0 || i+r.n > hyllRegisters {
			return ErrHYLLCorrupt
		}
		if r.count > 0 {
			visit(i, r.n, r.count)
		}
		i += r.n
		p += r.size
	}
	if i != hyllRegisters {
		return ErrHYLLCorrupt
	}
	return nil
}

// hyllDensify returns the dense form of a sparse string.
func hyllDensify(v []byte) ([]byte, error) {
	out := make([]byte, hyllDenseLen)
	copy(out, v[:hyllHeader])
	out[hyllEncodingAt] = hyllDense
	regs := out[hyllHeader:]
	err := hyllEachSparse(v, func(i, n int, count uint8) {
		for j := i; j < i+n; j++ {
			hyllDensePut(regs, j, count)
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// hyllSparseRaise sets register index of a sparse string to count if that is
// more. The string becomes dense if count does not fit a run, or if it would
// grow beyond sparseMax bytes. Only the runs up to the register are read: damage
// after it is found by the next count.
func hyllSparseRaise(v []byte, index int, count uint8, sparseMax int, t *Touched) ([]byte, bool, error) {
	if count > hyllValueMax {
		return hyllRaiseAsDense(v, index, count, t)
	}
	p, prev, first, r := hyllFind(v, index)
	if r.size == 0 {
		return v, false, ErrHYLLCorrupt
	}
	if r.count >= count {
		return v, false, nil
	}
	if r.n == 1 && r.size == 1 {
		v[p] = hyllValue(count, 1)
		t.add(p, p+1)
		return hyllJoin(v, prev, t), true, nil
	}

	var room [5]byte
	seq := hyllSplit(room[:0], r, index-first, count)
	delta := len(seq) - r.size
	if delta > 0 && len(v)+delta > sparseMax {
		return hyllRaiseAsDense(v, index, count, t)
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
	return hyllJoin(v, prev, t), true, nil
}

// hyllFind returns the run that covers register index, where it begins, where
// the run before it begins (or it itself, if it is the first), and its first
// register. The size of the run is 0 if the string ends before.
func hyllFind(v []byte, index int) (p, prev, first int, r hyllRun) {
	p, prev = hyllHeader, hyllHeader
	for p < len(v) {
		if r = hyllRunAt(v, p); r.size == 0 || index < first+r.n {
			return p, prev, first, r
		}
		prev = p
		p += r.size
		first += r.n
	}
	return p, prev, first, hyllRun{}
}

// hyllSplit appends what takes the place of run r when its register at offset
// left is set to count: the rest to the left, the register, the rest to the
// right.
func hyllSplit(dst []byte, r hyllRun, left int, count uint8) []byte {
	right := r.n - 1 - left
	if r.count == 0 {
		dst = appendHYLLZeros(dst, left)
		dst = append(dst, hyllValue(count, 1))
		return appendHYLLZeros(dst, right)
	}
	if left > 0 {
		dst = append(dst, hyllValue(r.count, left))
	}
	dst = append(dst, hyllValue(count, 1))
	if right > 0 {
		dst = append(dst, hyllValue(r.count, right))
	}
	return dst
}

// hyllRaiseAsDense converts the string and sets the register there.
func hyllRaiseAsDense(v []byte, index int, count uint8, t *Touched) ([]byte, bool, error) {
	out, err := hyllDensify(v)
	if err != nil {
		return v, false, err
	}
	hyllDenseRaise(out[hyllHeader:], index, count, t)
	t.Whole = true
	return out, true, nil
}

// hyllJoin joins neighbouring runs of one value from opcode p on. The window
// counts every opcode that is looked at, and every join.
func hyllJoin(v []byte, p int, t *Touched) []byte {
	for range hyllMergeWindow {
		if p >= len(v) {
			break
		}
		r := hyllRunAt(v, p)
		if r.count == 0 || p+1 >= len(v) {
			p += max(r.size, 1)
			continue
		}
		next := hyllRunAt(v, p+1)
		if next.count != r.count || r.n+next.n > hyllValueRun {
			p++
			continue
		}
		v[p] = hyllValue(r.count, r.n+next.n)
		v = slices.Delete(v, p+1, p+2)
		t.Whole = true
	}
	return v
}

// HYLLDecode returns the runs of a sparse string as PFDEBUG DECODE prints
// them: z:n and Z:n for zeros, v:value,n for values. The errors are ErrNotHYLL,
// ErrHYLLDense and ErrHYLLCorrupt.
func HYLLDecode(value []byte) (string, error) {
	if err := CheckHYLL(value); err != nil {
		return "", err
	}
	if value[hyllEncodingAt] != hyllSparse {
		return "", ErrHYLLDense
	}
	var out []byte
	for p := hyllHeader; p < len(value); {
		r := hyllRunAt(value, p)
		switch {
		case r.size == 0:
			return "", ErrHYLLCorrupt
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
