package lualib

import (
	"math"
	"math/bits"

	lua "github.com/yuin/gopher-lua"
)

// bitLibrary is LuaBitOp: operations on 32 bits, whose results are signed.
func bitLibrary() library {
	return library{
		"tobit":   func(c call) int { return c.pushBits(c.bits(1)) },
		"bnot":    func(c call) int { return c.pushBits(^c.bits(1)) },
		"bswap":   func(c call) int { return c.pushBits(bits.ReverseBytes32(c.bits(1))) },
		"tohex":   bitToHex,
		"band":    bitFold(func(a, b uint32) uint32 { return a & b }),
		"bor":     bitFold(func(a, b uint32) uint32 { return a | b }),
		"bxor":    bitFold(func(a, b uint32) uint32 { return a ^ b }),
		"lshift":  bitShift(func(b uint32, n int) uint32 { return b << n }),
		"rshift":  bitShift(func(b uint32, n int) uint32 { return b >> n }),
		"arshift": bitShift(func(b uint32, n int) uint32 { return uint32(int32(b) >> n) }),
		"rol":     bitShift(bits.RotateLeft32),
		"ror":     bitShift(func(b uint32, n int) uint32 { return bits.RotateLeft32(b, -n) }),
	}
}

// bits returns argument n modulo 2^32. As in C, a fraction is rounded to the nearest even
// integer, and numbers beyond 2^51 give whatever the lowest bits of the sum are: adding
// 2^52+2^51 leaves the integer in the lowest bits of the double.
func (c call) bits(n int) uint32 {
	f, ok := toNumber(c.L.Get(n))
	if !ok {
		c.typeError(n, "number")
	}
	return uint32(math.Float64bits(f + (1<<52 + 1<<51)))
}

func (c call) pushBits(b uint32) int { return c.push(lua.LNumber(int32(b))) }

// bitFold applies an operation from the last argument to the second, which decides only
// whose wrong type is reported.
func bitFold(op func(a, b uint32) uint32) function {
	return func(c call) int {
		b := c.bits(1)
		for i := c.L.GetTop(); i > 1; i-- {
			b = op(b, c.bits(i))
		}
		return c.pushBits(b)
	}
}

// bitShift applies an operation by the second argument modulo 32.
func bitShift(op func(b uint32, n int) uint32) function {
	return func(c call) int {
		b := c.bits(1)
		return c.pushBits(op(b, int(c.bits(2)&31)))
	}
}

// bitToHex writes the lowest digits, 8 unless the second argument says how many; a
// negative number of them asks for upper case.
func bitToHex(c call) int {
	b, n, digits := c.bits(1), int32(8), "0123456789abcdef"
	if !c.none(2) {
		n = int32(c.bits(2))
	}
	if n < 0 {
		n, digits = -n, "0123456789ABCDEF"
	}
	if n > 8 || n < 0 { // -n of the least integer is itself
		n = 8
	}
	text := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		text[i] = digits[b&15]
		b >>= 4
	}
	return c.pushText(string(text))
}
