package commands

import "math"

// MaxDraws bounds the elements that a negative count of HRANDFIELD, SRANDMEMBER and
// ZRANDMEMBER asks for: the reply would grow without end, whatever the size of the value.
const MaxDraws = 1 << 24

// DrawCount reads the count of such a command, and whether the word with stands behind
// it, which asks for values or scores too; "" if there is no such word.
func (a *Args) DrawCount(with string) (n int64, asked bool) {
	n = a.Int()
	if n == math.MinInt64 {
		a.Fail(ErrValueNotSymmetric)
	}
	asked = with != "" && a.Is(with)
	if asked && a.Left() == 0 && (n < -math.MaxInt64/2 || n > math.MaxInt64/2) {
		a.Fail(ErrValueRange)
	}
	return n, asked
}

// Draw replies with n random elements of a value, if there is one: draw writes n > 0 of
// them, which may repeat, if n was negative, and sample up to n distinct ones.
func (c *Ctx) Draw(n int64, ok bool, draw, sample func(n int)) error {
	switch {
	case !ok || n == 0:
		c.Reply.Array(0)
	case n < -MaxDraws:
		return ErrValueRange
	case n < 0:
		draw(int(-n))
	default:
		sample(int(min(n, math.MaxInt32)))
	}
	return nil
}
