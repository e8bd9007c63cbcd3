package commands

import (
	"math"
	"strconv"
	"unsafe"
)

// ParseInt reads a 64-bit integer as strictly as Redis does: no sign but '-',
// no leading zeros, no spaces, not "-0".
func ParseInt(b []byte) (v int64, ok bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	neg := b[0] == '-'
	digits := b
	if neg {
		digits = b[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && (len(digits) > 1 || neg) {
		return 0, false
	}
	var u uint64
	for _, d := range digits {
		d -= '0'
		if d > 9 || u > (math.MaxUint64-uint64(d))/10 {
			return 0, false
		}
		u = u*10 + uint64(d)
	}
	switch {
	case neg && u <= 1<<63:
		return -int64(u), true
	case !neg && u <= math.MaxInt64:
		return int64(u), true
	}
	return 0, false
}

// ParseUint reads an unsigned 64-bit integer, as cursors are.
func ParseUint(b []byte) (v uint64, ok bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	for _, d := range b {
		d -= '0'
		if d > 9 || v > (math.MaxUint64-uint64(d))/10 {
			return 0, false
		}
		v = v*10 + uint64(d)
	}
	return v, true
}

// ParseFloat reads a number as strtod does, but without surrounding spaces and
// without NaN. Values beyond float64 are refused; "inf" in its spellings is not.
func ParseFloat(b []byte) (v float64, ok bool) {
	if len(b) == 0 || len(b) > 512 || b[len(b)-1] == '_' {
		return 0, false
	}
	for _, c := range b {
		if c == '_' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(unsafe.String(&b[0], len(b)), 64)
	return v, err == nil && !math.IsNaN(v)
}

// AppendFloat appends the shortest decimal that reads back as v, with inf,
// -inf and nan as Redis spells them, and integers without a fraction.
func AppendFloat(dst []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	case math.IsNaN(v):
		return append(dst, "nan"...)
	case v == math.Trunc(v) && math.Abs(v) < 1e17:
		return strconv.AppendInt(dst, int64(v), 10)
	}
	mark := len(dst)
	dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	if exp := math.Abs(v); exp < 1e-4 || exp >= 1e17 {
		return dst
	}
	return strconv.AppendFloat(dst[:mark], v, 'f', -1, 64)
}
