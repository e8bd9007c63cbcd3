package commands

import (
	"bytes"
	"math"
	"math/big"
	"unsafe"
)

// INCRBYFLOAT and HINCRBYFLOAT add in C's long double, which on the machines
// that Redis is measured on is the 80-bit format of the x87: 64 bits of
// mantissa, 15 of exponent. The difference to float64 can be seen: 0.1 + 0.2
// is 0.3 here and 0.30000000000000004 there. A big.Float of 64 bits rounds as
// the x87 does; only the range of exponents has to be watched.

const (
	longDoubleBits = 64
	// longDoubleMaxExp and longDoubleMinExp bound a number 0.m * 2^exp: above
	// is infinity, below the least denormal is zero.
	longDoubleMaxExp = 16384
	longDoubleMinExp = -16444
	// longDoubleText is the longest number that is read.
	longDoubleText = 5*1024 - 1
	// longDoubleDigits is the number of digits after the point that are
	// printed, before zeros at the end are cut.
	longDoubleDigits = 17
)

// AddLongDouble adds two decimal numbers and returns the sum in decimal. It
// fails with ErrNotFloat if one cannot be read, and with ErrNaNOrInf if the sum
// is not finite.
func AddLongDouble(a, b []byte) ([]byte, error) {
	x, ok := ParseLongDouble(a)
	if !ok {
		return nil, ErrNotFloat
	}
	y, ok := ParseLongDouble(b)
	if !ok {
		return nil, ErrNotFloat
	}
	if x.IsInf() || y.IsInf() {
		return nil, ErrNaNOrInf
	}
	x.Add(x, y)
	if !IsLongDouble(x) {
		return nil, ErrNaNOrInf
	}
	return AppendLongDouble(nil, x), nil
}

// IsLongDouble reports whether x is not beyond the largest long double.
func IsLongDouble(x *big.Float) bool { return !x.IsInf() && x.MantExp(nil) <= longDoubleMaxExp }

// MaxLongDouble returns the largest finite long double.
func MaxLongDouble() *big.Float {
	mantissa := new(big.Float).SetPrec(longDoubleBits).SetUint64(math.MaxUint64)
	return mantissa.SetMantExp(mantissa, longDoubleMaxExp-longDoubleBits)
}

// ParseLongDouble reads what strtold reads, without surrounding spaces and
// without NaN: decimal and hexadecimal numbers and infinities. A number that is
// too large, or that is not zero but too small, is refused.
func ParseLongDouble(b []byte) (x *big.Float, ok bool) {
	if len(b) == 0 || len(b) > longDoubleText {
		return nil, false
	}
	x = new(big.Float).SetPrec(longDoubleBits)
	digits := bytes.TrimLeft(b[:1], "+-")
	digits = b[1-len(digits):]
	if EqualFold(digits, "INF") || EqualFold(digits, "INFINITY") {
		return x.SetInf(b[0] == '-'), true
	}
	base := 10
	if hexadecimal(digits) {
		base = 0 // the prefix says it
	} else if !decimal(digits) {
		return nil, false
	}
	if bytes.IndexByte(digits, '_') >= 0 {
		return nil, false
	}
	_, _, err := x.Parse(unsafe.String(&b[0], len(b)), base)
	if err != nil { // a zero, perhaps, whose exponent is too large for big.Float
		zero, fits, ok := Strtod(b)
		return new(big.Float).SetPrec(longDoubleBits), ok && fits && zero == 0
	}
	if x.IsInf() || x.Sign() == 0 {
		return x, x.Sign() == 0
	}
	exp := x.MantExp(nil)
	if exp == longDoubleMinExp-1 && x.MinPrec() > 1 {
		exp++ // above half of the least denormal it is that
	}
	return x, exp <= longDoubleMaxExp && exp >= longDoubleMinExp
}

// decimal reports whether b has only characters of a decimal number: big.Float
// reads more than strtold does.
func decimal(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && c != '.' && c|0x20 != 'e' && c != '+' && c != '-' {
			return false
		}
	}
	return true
}

// AppendLongDouble appends x with 17 digits after the point, without the zeros
// at its end and without an exponent.
func AppendLongDouble(dst []byte, x *big.Float) []byte {
	mark := len(dst)
	dst = x.Append(dst, 'f', longDoubleDigits)
	dst = bytes.TrimRight(dst, "0")
	dst = bytes.TrimSuffix(dst, []byte{'.'})
	if string(dst[mark:]) == "-0" {
		dst = append(dst[:mark], '0')
	}
	return dst
}
