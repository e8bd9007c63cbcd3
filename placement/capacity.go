package placement

import "math"

// Capacity is an exact capacity in a map's own unit. Only ratios have a
// meaning. A Strategy takes any from 1 to MaxCapacity, and refuses a total
// above MaxTotal with ErrCapacity, so sums never overflow an int64.
//
// A user's decimal is rounded to a multiple of 2^-s, where a map chooses s
// when it gets its first units and keeps it: the largest of them gets about
// 2^40, and the smallest at least 2^20. Later units may therefore be a million
// times smaller or larger. Rounding costs at most 2^-21 of a capacity: below
// 5e-7, within the target of 1e-6 for shares.
type Capacity uint64

const (
	MaxCapacity Capacity = 1 << 60
	MaxTotal    Capacity = 1 << 62

	// MinDecimal and MaxDecimal bound the capacities that users may state.
	MinDecimal = 1e-9
	MaxDecimal = 1e15

	firstBits = 40      // where the largest first capacity is put
	exactFrom = 1 << 20 // from here on rounding is harmless
)

// decimalOK says whether a capacity may be stated: finite, not NaN, in range.
func decimalOK(c float64) bool { return c >= MinDecimal && c <= MaxDecimal }

// chooseScale returns s for the first capacities of a map.
func chooseScale(smallest, largest float64) int {
	return max(firstBits-exponent(largest), 21-exponent(smallest))
}

// exponent returns e with 2^(e-1) <= c < 2^e, exactly.
func exponent(c float64) int {
	_, e := math.Frexp(c)
	return e
}

// quantise returns a decimal in multiples of 2^-s. ErrCapacity if it is out of
// range, or so small that rounding would change it by more than 2^-21.
// Multiplying by a power of two and rounding are exact on every machine.
func quantise(c float64, s int) (Capacity, error) {
	if !decimalOK(c) {
		return 0, ErrCapacity
	}
	x := math.Ldexp(c, s)
	r := math.RoundToEven(x)
	if r < 1 || r > float64(MaxCapacity) || (r < exactFrom && r != x) {
		return 0, ErrCapacity
	}
	return Capacity(r), nil
}
