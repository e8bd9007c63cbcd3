package lualib

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// formatNumber returns the text of a number as Lua writes it: C's %.14g.
func formatNumber(f float64) string {
	// Most numbers are integers: those with at most 14 digits, but -0, need no more.
	if f == math.Trunc(f) && math.Abs(f) < 1e14 && !(f == 0 && math.Signbit(f)) {
		return strconv.FormatInt(int64(f), 10)
	}
	return string(appendG(nil, f, 14))
}

// appendG appends a number as C's %.*g does.
func appendG(dst []byte, f float64, precision int) []byte {
	switch {
	case math.IsNaN(f) && math.Signbit(f):
		return append(dst, "-nan"...)
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, f, 'g', precision, 64)
}

// Text returns the text of a string or number as Lua's functions in C read it, and false
// for other values.
func Text(v lua.LValue) (string, bool) { return toText(v) }

// Number returns the number that a value is or that its text says.
func Number(v lua.LValue) (float64, bool) { return toNumber(v) }

// toText returns the text of a string or number, and false for other values.
func toText(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return formatNumber(float64(v)), true
	}
	return "", false
}

// toNumber returns the number that a value is or that its text says.
func toNumber(v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return parseNumber(string(v))
	}
	return 0, false
}

const spaces = " \t\n\v\f\r"

// parseNumber reads a number as Lua does where it needs one and has a string: what C's
// strtod reads, or a hexadecimal integer, with spaces around.
func parseNumber(s string) (float64, bool) {
	s = strings.Trim(cString(s), spaces)
	f, n := strtod(s)
	return f, n > 0 && n == len(s)
}

// strtod reads the longest number at the start of s as C's strtod does, without leading
// spaces, and returns how many bytes it has, 0 if there is none.
func strtod(s string) (float64, int) {
	sign, i := 1.0, 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		if s[i] == '-' {
			sign = -1
		}
		i++
	}
	rest := s[i:]
	switch {
	case hasPrefixFold(rest, "infinity"):
		return math.Inf(int(sign)), i + len("infinity")
	case hasPrefixFold(rest, "inf"):
		return math.Inf(int(sign)), i + len("inf")
	case hasPrefixFold(rest, "nan"):
		return math.Copysign(math.NaN(), sign), i + len("nan") + nanPayload(rest[len("nan"):])
	case hasPrefixFold(rest, "0x") && mantissa(rest[2:], isHex) > 0:
		n := 2 + mantissa(rest[2:], isHex)
		text := rest[:n]
		if e := exponent(rest[n:], 'p'); e > 0 {
			text = rest[:n+e]
		} else {
			text += "p0"
		}
		f, _ := strconv.ParseFloat(text, 64) // overflow gives an infinity, as in C
		if e := exponent(rest[n:], 'p'); e > 0 {
			n += e
		}
		return sign * f, i + n
	}
	n := mantissa(rest, isDigit)
	if n == 0 {
		return 0, 0
	}
	n += exponent(rest[n:], 'e')
	f, _ := strconv.ParseFloat(rest[:n], 64) // overflow gives an infinity, as in C
	return sign * f, i + n
}

// nanPayload returns the length of "(...)" after nan, which C reads and ignores.
func nanPayload(s string) int {
	if s == "" || s[0] != '(' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch b := s[i]; {
		case b == ')':
			return i + 1
		case !isAlnum(b) && b != '_':
			return 0
		}
	}
	return 0
}

// mantissa returns the length of digits with at most one point, 0 without a digit.
func mantissa(s string, digit func(byte) bool) int {
	digits, point, i := 0, false, 0
	for i < len(s) && (digit(s[i]) || s[i] == '.' && !point) {
		if s[i] == '.' {
			point = true
		} else {
			digits++
		}
		i++
	}
	if digits == 0 {
		return 0
	}
	return i
}

// exponent returns the length of an exponent, 0 if there is none with a digit.
func exponent(s string, mark byte) int {
	if s == "" || s[0]|0x20 != mark {
		return 0
	}
	i := 1
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	digits := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i == digits {
		return 0
	}
	return i
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// toInt64 converts as C does on amd64, where what does not fit becomes the least integer.
func toInt64(f float64) int64 {
	if f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}
