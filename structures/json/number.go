package json

import (
	"math"
	"strconv"
)

// number reads a number: an integer of 64 bits if it has neither point nor exponent, else a
// double.
func (p *Parser) number() bool {
	from := p.at
	negative := p.text[p.at] == '-'
	if negative {
		p.at++
	}
	if p.ended() {
		return p.fail(endOfValue)
	}
	c := p.text[p.at]
	p.at++
	switch {
	case c == '0':
		if !p.ended() && p.text[p.at]-'0' <= 9 {
			return p.failNext("invalid number")
		}
	case c-'1' <= 8:
		p.digits()
	default:
		return p.fail("invalid number")
	}
	whole := p.at
	zero, tooSmall, ok := p.fraction(from)
	switch {
	case !ok:
		return false
	case tooSmall:
		zero = true
	}
	text := p.text[from:p.at]
	if whole == p.at && p.integer(text, negative) {
		return true
	}
	v := 0.0
	if negative {
		v = math.Copysign(0, -1)
	}
	if !zero {
		// The error is that the number is too large: it is sound.
		if v, _ = strconv.ParseFloat(string(text), 64); math.IsInf(v, 0) {
			return p.fail("number out of range")
		}
	}
	p.build.Double(v)
	return true
}

func (p *Parser) digits() (any bool) {
	for ; !p.ended() && p.text[p.at]-'0' <= 9; p.at++ {
		any = true
	}
	return any
}

// fraction reads what follows the whole part of a number that begins at from: digits behind a
// point, and an exponent. An exponent that is beyond 32 bits is too large for all numbers but 0.
func (p *Parser) fraction(from int) (zero, tooSmall, ok bool) {
	if !p.ended() && p.text[p.at] == '.' {
		if p.at++; !p.digits() {
			if p.ended() {
				return false, false, p.failNext(endOfValue)
			}
			return false, false, p.failNext("invalid number")
		}
	}
	zero = true
	for _, c := range p.text[from:p.at] {
		zero = zero && (c < '1' || c > '9')
	}
	if p.ended() || p.text[p.at]|0x20 != 'e' {
		return zero, false, true
	}
	p.at++
	negative := false
	if !p.ended() && (p.text[p.at] == '+' || p.text[p.at] == '-') {
		negative = p.text[p.at] == '-'
		p.at++
	}
	if p.ended() {
		return false, false, p.fail(endOfValue)
	}
	if p.text[p.at]-'0' > 9 {
		p.at++
		return false, false, p.fail("invalid number")
	}
	for exp := int64(0); !p.ended() && p.text[p.at]-'0' <= 9; p.at++ {
		if exp = exp*10 + int64(p.text[p.at]-'0'); exp > math.MaxInt32 {
			if !zero && !negative {
				p.at++
				return false, false, p.fail("number out of range")
			}
			p.digits()
			return zero, true, true
		}
	}
	return zero, false, true
}

// integer writes an integer that has 64 bits, which it reports. -0 is none.
func (p *Parser) integer(text []byte, negative bool) bool {
	if len(text) > 20 || negative && len(text) == 2 && text[1] == '0' {
		return false
	}
	if negative {
		text = text[1:]
	}
	v := uint64(0)
	for _, c := range text {
		d := uint64(c - '0')
		if v > (math.MaxUint64-d)/10 {
			return false
		}
		v = v*10 + d
	}
	switch {
	case !negative:
		p.build.Uint(v)
	case v > 1<<63:
		return false
	default:
		p.build.Int(-int64(v))
	}
	return true
}
