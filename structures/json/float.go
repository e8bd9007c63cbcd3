package json

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Float is a kind of floating-point numbers that an array can be stored in.
type Float byte

// BF16 is the upper half of FP32. NoFloat leaves numbers as they are.
const (
	NoFloat Float = iota
	BF16
	FP16
	FP32
	FP64
)

// floatShapes are the bits of the exponent and of the fraction, and how errors name the kind.
var floatShapes = [...]struct {
	exponent, fraction uint
	name               string
}{BF16: {8, 7, "BF16"}, FP16: {5, 10, "F16"}, FP32: {8, 23, "F32"}, FP64: {11, 52, "F64"}}

// ParseFloat returns the kind that a word in upper case names.
func ParseFloat(word string) (Float, bool) {
	switch word {
	case "BF16":
		return BF16, true
	case "FP16":
		return FP16, true
	case "FP32":
		return FP32, true
	case "FP64":
		return FP64, true
	}
	return NoFloat, false
}

// round returns the number of the kind that is nearest to v, of two as near the even one. It is
// infinite if v is too large.
func (f Float) round(v float64) float64 {
	if f == FP64 || v == 0 {
		return v
	}
	shape := floatShapes[f]
	bias := 1<<(shape.exponent-1) - 1
	_, exp := math.Frexp(v) // v is below 2^exp, and not below half of that
	// The unit in the last place, which is larger than that of the exponent below the least
	// normal number.
	unit := max(exp-1, 1-bias) - int(shape.fraction)
	rounded := math.Ldexp(math.RoundToEven(math.Ldexp(v, -unit)), unit)
	if math.Abs(rounded) >= math.Ldexp(1, bias+1) {
		return math.Inf(int(math.Copysign(1, v)))
	}
	return rounded
}

// bits returns the bits of a number of the kind, which has no more than 32 of them.
func (f Float) bits(v float64) uint32 {
	shape := floatShapes[f]
	bias := 1<<(shape.exponent-1) - 1
	sign := uint32(0)
	if math.Signbit(v) {
		sign, v = 1<<(shape.exponent+shape.fraction), -v
	}
	if v == 0 {
		return sign
	}
	frac, exp := math.Frexp(v)
	if exp-1 < 1-bias {
		return sign | uint32(math.Ldexp(v, bias-1+int(shape.fraction)))
	}
	whole := uint32(math.Ldexp(frac, int(shape.fraction)+1)) // with the leading one
	return sign | uint32(exp-1+bias)<<shape.fraction | whole&(1<<shape.fraction-1)
}

// Value is the number that bits stand for: not finite with the largest exponent.
func (f Float) Value(bits uint32) float64 {
	shape := floatShapes[f]
	bias := 1<<(shape.exponent-1) - 1
	fraction := float64(bits & (1<<shape.fraction - 1))
	exp := int(bits >> shape.fraction & (1<<shape.exponent - 1))
	v := math.Ldexp(fraction, 1-bias-int(shape.fraction))
	switch {
	case exp == 1<<shape.exponent-1 && fraction != 0:
		return math.NaN()
	case exp == 1<<shape.exponent-1:
		v = math.Inf(1)
	case exp > 0:
		v = math.Ldexp(fraction+math.Ldexp(1, int(shape.fraction)), exp-bias-int(shape.fraction))
	}
	if bits>>(shape.exponent+shape.fraction)&1 != 0 {
		return -v
	}
	return v
}

// append appends v, rounded. It reports false if that is not finite.
func (f Float) append(dst []byte, v float64) ([]byte, bool) {
	r := f.round(v)
	if math.IsInf(r, 0) || math.IsNaN(r) {
		return dst, false
	}
	switch f {
	case FP64:
		return AppendDouble(dst, r), true
	case FP32:
		return binary.LittleEndian.AppendUint32(append(dst, tagSingle), math.Float32bits(float32(r))), true
	case FP16:
		return binary.LittleEndian.AppendUint16(append(dst, tagHalf), uint16(f.bits(r))), true
	}
	return binary.LittleEndian.AppendUint16(append(dst, tagBrain), uint16(f.bits(r))), true
}

// floatOf is the kind of a float's tag.
func floatOf(tag byte) Float {
	switch tag {
	case tagSingle:
		return FP32
	case tagHalf:
		return FP16
	case tagBrain:
		return BF16
	}
	return FP64
}

// shortest returns the fewest digits that only v has among the numbers of its kind, in the form
// 1.5e+20.
func (f Float) shortest(dst []byte, v float64) []byte {
	switch f {
	case FP64:
		return strconv.AppendFloat(dst, v, 'e', -1, 64)
	case FP32:
		return strconv.AppendFloat(dst, v, 'e', -1, 32)
	}
	from := len(dst)
	for digits := 0; ; digits++ {
		dst = strconv.AppendFloat(dst[:from], v, 'e', digits, 64)
		if again, err := strconv.ParseFloat(string(dst[from:]), 64); err == nil && f.round(again) == v || digits > 8 {
			return dst
		}
	}
}

// appendText appends a number as JSON: plain from 1e-5 to below 1e16 with at least one digit
// behind the point, else with an exponent without sign and padding.
func (f Float) appendText(dst []byte, v float64) []byte {
	if v == 0 {
		if math.Signbit(v) {
			dst = append(dst, '-')
		}
		return append(dst, "0.0"...)
	}
	if f == FP64 && math.Abs(v) < 1e9 {
		if n := v * 1000; n == math.Trunc(n) && n/1000 == v {
			return appendThousandths(dst, int64(n))
		}
	}
	var room [40]byte
	text := f.shortest(room[:0], v)
	if text[0] == '-' {
		dst, text = append(dst, '-'), text[1:]
	}
	e := len(text) - 1
	for text[e] != 'e' {
		e--
	}
	exp, _ := strconv.Atoi(string(text[e+1:]))
	var places [40]byte
	digits := append(places[:0], text[0])
	if e > 2 {
		digits = append(digits, text[2:e]...)
	}
	return appendDigits(dst, digits, exp)
}

// appendThousandths appends n/1000. Numbers of so few digits are each another double, so that these
// digits are the fewest.
func appendThousandths(dst []byte, n int64) []byte {
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	dst = append(strconv.AppendInt(dst, n/1000, 10), '.', byte('0'+n/100%10))
	if n%100 > 0 {
		dst = append(dst, byte('0'+n/10%10))
	}
	if n%10 > 0 {
		dst = append(dst, byte('0'+n%10))
	}
	return dst
}

// appendDigits appends digits; the first stands for 10^exp.
func appendDigits(dst, digits []byte, exp int) []byte {
	switch {
	case exp < -5 || exp >= 16:
		dst = append(dst, digits[0])
		if len(digits) > 1 {
			dst = append(append(dst, '.'), digits[1:]...)
		}
		return strconv.AppendInt(append(dst, 'e'), int64(exp), 10)
	case exp < 0:
		dst = append(dst, "0.0000"[:1-exp]...)
		return append(dst, digits...)
	}
	whole := min(exp+1, len(digits))
	dst = append(dst, digits[:whole]...)
	for range exp + 1 - whole {
		dst = append(dst, '0')
	}
	if dst = append(dst, '.'); whole == len(digits) {
		return append(dst, '0')
	}
	return append(dst, digits[whole:]...)
}
