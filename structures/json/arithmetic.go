package json

import (
	"errors"
	"math"
	"math/bits"
)

var (
	// ErrOverflow is returned when integers give one of more than 64 bits.
	ErrOverflow = errors.New("json: numeric overflow")
	// ErrNotFinite is returned when doubles give none that is finite.
	ErrNotFinite = errors.New("json: result is not a number")
)

// Operator combines two numbers.
type Operator byte

// The operators of JSON.NUMINCRBY, JSON.NUMMULTBY and JSON.NUMPOWBY.
const (
	Add Operator = iota
	Multiply
	Power
)

// Combine appends the result of an operator on two numbers. Integers of 64 bits with a sign give an
// integer, or ErrOverflow; anything else gives a double, or ErrNotFinite. A number of an array of
// floats stays one of these.
func Combine(dst []byte, op Operator, a, b Value) ([]byte, error) {
	x, whole := a.Int()
	y, both := b.Int()
	if whole && both {
		n, ok := combineInts(op, x, y)
		if !ok {
			return dst, ErrOverflow
		}
		return AppendInt(dst, n), nil
	}
	f, _ := a.Float()
	g, _ := b.Float()
	switch op {
	case Add:
		f += g
	case Multiply:
		f *= g
	case Power:
		f = math.Pow(f, g)
	}
	kind := FP64
	if a.Type() == Double {
		kind = floatOf(a.b[0])
	}
	dst, ok := kind.append(dst, f)
	if !ok {
		return dst, ErrNotFinite
	}
	return dst, nil
}

func combineInts(op Operator, x, y int64) (n int64, ok bool) {
	switch op {
	case Add:
		n = x + y
		return n, (n > x) == (y > 0)
	case Multiply:
		return multiply(x, y)
	}
	if y < 0 || y > math.MaxUint32 {
		return 0, false
	}
	return power(x, y)
}

func multiply(x, y int64) (n int64, ok bool) {
	high, low := bits.Mul64(size(x), size(y))
	if (x < 0) != (y < 0) {
		return -int64(low), high == 0 && low <= 1<<63
	}
	return int64(low), high == 0 && low <= math.MaxInt64
}

func size(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// power squares and multiplies. What is squared is not needed any more if it does not fit and no
// bit of y is left.
func power(x, y int64) (n int64, ok bool) {
	n, ok = 1, true
	for y > 0 && ok {
		if y&1 != 0 {
			n, ok = multiply(n, x)
		}
		if y >>= 1; y > 0 && ok {
			x, ok = multiply(x, x)
		}
	}
	return n, ok
}
