package bits

import "math"

// FieldType is the type of a BITFIELD number: i1 to i64, u1 to u63. Reading
// the words of the command, and refusing other widths, is the caller's.
type FieldType struct {
	Signed bool
	Bits   int
}

// Overflow says what becomes of a BITFIELD number that does not fit its type.
type Overflow uint8

const (
	// OverflowWrap keeps the low bits: 255 + 1 is 0 for u8, 127 + 1 is -128
	// for i8.
	OverflowWrap Overflow = iota
	// OverflowSat stops at the largest or the least number of the type.
	OverflowSat
	// OverflowFail leaves the number as it was.
	OverflowFail
)

// FieldBytes returns the bytes [from, to) that hold the number of type t at bit
// offset off: a string must have at least to bytes before the number is
// written, and those bytes are what a write changes.
func FieldBytes(t FieldType, off uint64) (from, to uint64) {
	return off >> 3, (off+uint64(t.Bits)-1)>>3 + 1
}

// GetField returns the number of type t at bit offset off. Bits behind the end
// of b are 0.
func GetField(b []byte, t FieldType, off uint64) int64 {
	from, to := FieldBytes(t, off)
	// A number of 64 bits can touch nine bytes: the ninth is kept apart.
	var word uint64
	var ninth byte
	for i := from; i < to && i < uint64(len(b)); i++ {
		if k := i - from; k < 8 {
			word |= uint64(b[i]) << (56 - 8*k)
		} else {
			ninth = b[i]
		}
	}
	shift := off & 7
	word = word<<shift | uint64(ninth)>>(8-shift)
	if t.Signed {
		return int64(word) >> (64 - t.Bits)
	}
	return int64(word >> (64 - t.Bits))
}

// putField writes the low t.Bits bits of v.
func putField(b []byte, t FieldType, off uint64, v int64) {
	from, to := FieldBytes(t, off)
	shift := off & 7
	word := uint64(v) << (64 - t.Bits)
	mask := ^uint64(0) << (64 - t.Bits)
	ninth, ninthMask := byte(word<<(8-shift)), byte(mask<<(8-shift))
	word, mask = word>>shift, mask>>shift
	for i := from; i < to; i++ {
		if k := i - from; k < 8 {
			x, m := byte(word>>(56-8*k)), byte(mask>>(56-8*k))
			b[i] = b[i]&^m | x
		} else {
			b[i] = b[i]&^ninthMask | ninth
		}
	}
}

// SetField writes v as a number of type t at bit offset off and returns the
// number that was there. If v does not fit, how decides what is written; ok is
// false if nothing was, which only OverflowFail does. A negative number for an
// unsigned type counts as too large, not as too small, and so does a number
// within 2^(Bits-1) of the least of 64 bits.
// The string must have been grown to FieldBytes before.
func SetField(b []byte, t FieldType, off uint64, v int64, how Overflow) (old int64, ok bool) {
	old = GetField(b, t, off)
	low, high := fieldLimits(t)
	if v > high || v < low {
		switch how {
		case OverflowFail:
			return old, false
		case OverflowSat:
			// Redis takes the room above v first, which overflows for the
			// least numbers: they too become the largest of the type.
			if v > high || !t.Signed || v < high-math.MaxInt64 {
				v = high
			} else {
				v = low
			}
		}
	}
	putField(b, t, off, v)
	return old, true
}

// IncrField adds incr to the number of type t at bit offset off and returns
// the sum as written. If it does not fit, how decides; ok is false if nothing
// was written, which only OverflowFail does.
// The string must have been grown to FieldBytes before.
func IncrField(b []byte, t FieldType, off uint64, incr int64, how Overflow) (sum int64, ok bool) {
	old := GetField(b, t, off)
	low, high := fieldLimits(t)
	// The differences are taken on the side where they cannot overflow: old
	// lies between low and high.
	over := incr > 0 && uint64(incr) > uint64(high)-uint64(old)
	under := incr < 0 && uint64(-incr) > uint64(old)-uint64(low)
	sum = old + incr
	if over || under {
		switch {
		case how == OverflowFail:
			return old, false
		case how == OverflowSat && over:
			sum = high
		case how == OverflowSat:
			sum = low
		default:
			sum = wrapField(t, sum)
		}
	}
	putField(b, t, off, sum)
	return sum, true
}

// fieldLimits returns the least and the largest number of a type.
func fieldLimits(t FieldType) (low, high int64) {
	if t.Signed {
		low = -1 << (t.Bits - 1)
		return low, ^low
	}
	return 0, int64(^uint64(0) >> (64 - t.Bits))
}

// wrapField keeps the low bits of v and reads them as a number of type t.
func wrapField(t FieldType, v int64) int64 {
	up := 64 - t.Bits
	if t.Signed {
		return v << up >> up
	}
	return int64(uint64(v) << up >> up)
}
