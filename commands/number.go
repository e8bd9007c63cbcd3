package commands

import (
	"bytes"
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

// ParseCursor reads the cursor of a scan: an integer that is not below 0, or else what
// strtoull of C reads, such as "+5", " 5" and "007"; it wraps " -1" to 2^64-1.
func ParseCursor(b []byte) (v uint64, ok bool) {
	if v, ok := ParseInt(b); ok {
		return uint64(v), v >= 0
	}
	digits, _, _ := bytes.Cut(b, []byte{0}) // the end of a string in C
	digits = bytes.TrimLeft(digits, " \t\n\v\f\r")
	neg := len(digits) > 0 && digits[0] == '-'
	if neg || len(digits) > 0 && digits[0] == '+' {
		digits = digits[1:]
	}
	if trimmed := bytes.TrimLeft(digits, "0"); len(digits) > 0 && len(trimmed) == 0 {
		return 0, true
	} else if v, ok = ParseUint(trimmed); ok && neg {
		v = -v
	}
	return v, ok
}

// ParseUint reads an unsigned 64-bit integer.
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
// without NaN. Values beyond float64 are refused, and so are those that are not zero
// but so small that they would become it; "inf" in its spellings is not.
func ParseFloat(b []byte) (v float64, ok bool) {
	if len(b) > 512 {
		return 0, false
	}
	v, fits, ok := Strtod(b)
	return v, ok && fits
}

// ParseScore reads the bound of a range of scores or a weight of SORT, as Redis from 8.0 on
// does: a zero byte is the end, nothing at all is 0, a number beyond float64 is infinite,
// one that is too small is 0, and blanks and hexadecimal digits are refused.
func ParseScore(b []byte) (v float64, ok bool) {
	if len(b) == 0 {
		return 0, true
	}
	b, _, _ = bytes.Cut(b, []byte{0})
	if bytes.ContainsAny(b, "xX") {
		return 0, false
	}
	v, _, ok = Strtod(b)
	return v, ok
}

// Strtod reads a number that fills b, decimal or hexadecimal, or an infinity. A number
// that is too large is infinite and one that is too small is 0, and neither fits.
func Strtod(b []byte) (v float64, fits, ok bool) {
	if v, ok := shortDecimal(b); ok {
		return v, true, true
	}
	if len(b) == 0 || bytes.IndexByte(b, '_') >= 0 {
		return 0, false, false
	}
	mantissa, exponents := b, "eE"
	if digits := bytes.TrimLeft(b[:1], "+-"); hexadecimal(b[1-len(digits):]) {
		exponents = "pP"
	}
	if at := bytes.IndexAny(b, exponents); at >= 0 {
		mantissa = b[:at]
	} else if exponents == "pP" {
		b = append(bytes.Clone(b), "p0"...) // which C does without and Go does not
	}
	v, err := strconv.ParseFloat(unsafe.String(&b[0], len(b)), 64)
	switch {
	case math.IsNaN(v) || err != nil && !math.IsInf(v, 0):
		return 0, false, false
	case v == 0:
		return v, !bytes.ContainsAny(mantissa, "123456789abcdefABCDEF"), true
	}
	return v, err == nil, true
}

// powersOfTen are exact.
var powersOfTen = [16]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// shortDecimal reads a decimal of up to 15 digits without an exponent, as nearly all are;
// ok is false for others, and for what is no number. Its digits and the power of ten are
// exact, so the division rounds to what Strtod returns.
func shortDecimal(b []byte) (v float64, ok bool) {
	digits := b
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		digits = b[1:]
	}
	var n uint64
	count, point := 0, -1
	for _, c := range digits {
		switch {
		case c-'0' <= 9:
			n = n*10 + uint64(c-'0')
			count++
		case c == '.' && point < 0:
			point = count
		default:
			return 0, false
		}
		if count > 15 {
			return 0, false
		}
	}
	if count == 0 {
		return 0, false
	}
	v = float64(n)
	if point >= 0 {
		v /= powersOfTen[count-point]
	}
	if b[0] == '-' {
		v = -v
	}
	return v, true
}

// hexadecimal reports whether digits begin as hexadecimal ones do.
func hexadecimal(digits []byte) bool {
	return len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x'
}

// AppendFloat appends the shortest decimal that reads back as v, as Redis from 7.2 on
// writes numbers: integers of up to 62 bits without exponent, and others as AppendShortest
// does.
func AppendFloat(dst []byte, v float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) <= math.MaxInt64/2 && !(v == 0 && math.Signbit(v)) {
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return AppendShortest(dst, v)
}

// AppendShortest appends the shortest decimal that reads back as v: -0 with its sign, and
// with an exponent if more than six places are behind the point and four before it, or
// zeros.
func AppendShortest(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "nan"...)
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	}
	if math.Signbit(v) {
		dst, v = append(dst, '-'), -v
	}
	var room [32]byte
	digits, exp := shortest(room[:0], v)
	last := exp - len(digits) + 1 // the power of ten of the last digit
	switch {
	case last >= 0 && exp < len(digits)+7:
		return append(append(dst, digits...), "0000000"[:last]...)
	case last < 0 && (last > -7 || -4 < exp && exp < 4) && exp >= 0:
		dst = append(append(dst, digits[:exp+1]...), '.')
		return append(dst, digits[exp+1:]...)
	case last < 0 && (last > -7 || exp > -4) && exp < 0:
		dst = append(append(dst, "0."...), "0000000"[:-exp-1]...)
		return append(dst, digits...)
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	dst = append(dst, 'e')
	if exp > 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(exp), 10)
}

// shortest returns the digits of the shortest decimal that reads back as v, which is
// above 0, and the power of ten of the first.
func shortest(dst []byte, v float64) (digits []byte, exp int) {
	b := strconv.AppendFloat(dst, v, 'e', -1, 64) // 1.234e-05
	mantissa, power, _ := bytes.Cut(b, []byte{'e'})
	exp, _ = strconv.Atoi(string(power))
	if len(mantissa) > 1 {
		mantissa = append(mantissa[:1], mantissa[2:]...)
	}
	return mantissa, exp
}
