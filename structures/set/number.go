package set

import "math"

// maxDigits is the number of digits of the largest integers. No number of so many
// digits overflows a uint64.
const maxDigits = 19

// parse returns the integer that b spells, if it is spelt as it would be written
// again: no plus sign, no zeros in front, no minus zero.
func parse(b []byte) (v int64, ok bool) {
	digits := b
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > maxDigits {
		return 0, false
	}
	if digits[0] == '0' {
		return 0, len(b) == 1
	}
	var u uint64
	for _, c := range digits {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		u = u*10 + uint64(d)
	}
	if negative {
		return -int64(u), u <= -math.MinInt64
	}
	return int64(u), u <= math.MaxInt64
}
