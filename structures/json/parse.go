package json

import (
	"fmt"
	"math"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/vigildb/vigil/structures"
)

// ParseError says why a text is no JSON. Its words are those that clients of RedisJSON know.
type ParseError struct {
	What         string
	Line, Column int // Column counts the bytes of the line that were read
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("%s at line %d column %d", e.What, e.Line, e.Column)
}

// Parser makes values of texts. Its memory is used again.
type Parser struct {
	build  Builder
	text   []byte
	at     int
	deep   int
	floats Float
	name   []byte
	err    *ParseError
}

// longText is the length from which on there is room at once for about what a text becomes: what grows
// by and by is copied some ten times.
const longText = 64 << 10

// Parse appends the value of a text, which is UTF-8, to dst. Of what is too large for floats,
// arrays of numbers alone are stored so. It returns how many containers lie in one another.
func (p *Parser) Parse(dst, text []byte, floats Float) (_ []byte, depth int, err error) {
	if len(text) > longText {
		dst = structures.Grow(dst, len(text))
	}
	p.build.Reset(dst)
	p.build.floats = floats
	p.text, p.at, p.deep, p.floats, p.err = text, 0, 0, floats, nil
	if p.value(0) {
		if p.space(); p.at < len(p.text) {
			p.failNext("trailing characters")
		}
	}
	p.text = nil
	if p.err != nil {
		return dst, 0, p.err
	}
	return p.build.b, p.deep, nil
}

// Parse returns the value of a text, see Parser.
func Parse(text []byte) ([]byte, error) {
	var p Parser
	v, _, err := p.Parse(nil, text, NoFloat)
	return v, err
}

// fail notes an error behind what was read, failNext one at the next byte. Both return false.
func (p *Parser) fail(what string) bool { return p.failAt(p.at, what) }

func (p *Parser) failNext(what string) bool { return p.failAt(min(p.at+1, len(p.text)), what) }

func (p *Parser) failAt(at int, what string) bool {
	line, begin := 1, 0
	for i, c := range p.text[:at] {
		if c == '\n' {
			line, begin = line+1, i+1
		}
	}
	p.err = &ParseError{what, line, at - begin}
	return false
}

// space passes blanks and returns the byte behind them, 0 at the end.
func (p *Parser) space() byte {
	for ; p.at < len(p.text); p.at++ {
		if c := p.text[p.at]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

func (p *Parser) ended() bool { return p.at == len(p.text) }

const (
	endOfValue  = "EOF while parsing a value"
	endOfList   = "EOF while parsing a list"
	endOfObject = "EOF while parsing an object"
	endOfString = "EOF while parsing a string"
)

// value reads a value that lies in so many containers.
func (p *Parser) value(depth int) bool {
	c := p.space()
	if p.ended() {
		return p.failNext(endOfValue)
	}
	switch {
	case c == '"':
		p.at++
		return p.string(false)
	case c == '{' || c == '[':
		if depth == MaxDepth {
			return p.failNext("recursion limit exceeded")
		}
		p.at++
		p.deep = max(p.deep, depth+1)
		p.build.Begin(c == '{')
		if c == '{' {
			return p.object(depth + 1)
		}
		return p.array(depth + 1)
	case c == '-' || c-'0' <= 9:
		return p.number()
	case c == 't':
		return p.word("true") && p.put(tagTrue)
	case c == 'f':
		return p.word("false") && p.put(tagFalse)
	case c == 'n':
		return p.word("null") && p.put(tagNull)
	}
	return p.failNext("expected value")
}

func (p *Parser) put(tag byte) bool {
	p.build.b = append(p.build.b, tag)
	p.build.added(false)
	return true
}

func (p *Parser) word(word string) bool {
	for p.at++; word[1:] != ""; word = word[1:] {
		if p.ended() {
			return p.fail(endOfValue)
		}
		if p.at++; p.text[p.at-1] != word[1] {
			return p.fail("expected ident")
		}
	}
	return true
}

func (p *Parser) array(depth int) bool {
	large := -1 // behind the first number that is too large
	for first := true; ; first = false {
		c := p.space()
		switch {
		case p.ended():
			return p.failNext(endOfList)
		case c == ']':
			p.at++
			if !p.build.End() {
				return p.failAt(large, "value out of range for "+floatShapes[p.floats].name)
			}
			return true
		case first:
		case c != ',':
			return p.failNext("expected `,` or `]`")
		default:
			p.at++
			if c = p.space(); c == ']' {
				return p.failNext("trailing comma")
			}
		}
		from := len(p.build.b)
		if !p.value(depth) {
			return false
		}
		if p.floats != NoFloat && large < 0 {
			large = p.tooLarge(from)
		}
	}
}

// tooLarge returns where a number that was just read is said to be too large, -1 if it is not.
func (p *Parser) tooLarge(from int) int {
	if len(p.build.b)-from > 9 || from >= len(p.build.b) {
		return -1
	}
	v := Value{b: p.build.b[from:]}
	if f, ok := v.Float(); !ok || !math.IsInf(p.floats.round(f), 0) {
		return -1
	}
	at := p.at
	p.space()
	end := min(p.at+1, len(p.text))
	p.at = at
	return end
}

func (p *Parser) object(depth int) bool {
	for first := true; ; first = false {
		c := p.space()
		switch {
		case p.ended():
			return p.failNext(endOfObject)
		case c == '}':
			p.at++
			p.build.End()
			return true
		case first:
		case c != ',':
			return p.failNext("expected `,` or `}`")
		default:
			p.at++
			if c = p.space(); p.ended() {
				return p.failNext(endOfValue)
			}
		}
		switch c {
		case '"':
		case '}':
			return p.failNext("trailing comma")
		default:
			return p.failNext("key must be a string")
		}
		if p.at++; !p.string(true) || !p.colon() || !p.value(depth) {
			return false
		}
	}
}

func (p *Parser) colon() bool {
	c := p.space()
	switch {
	case p.ended():
		return p.failNext(endOfObject)
	case c != ':':
		return p.failNext("expected `:`")
	}
	p.at++
	return true
}

// string reads the rest of a string, which becomes a name or a value.
func (p *Parser) string(name bool) bool {
	from := p.at
	for p.at += unquoted(p.text[from:]); p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			s := p.text[from:p.at]
			p.at++
			return p.putString(s, name)
		case c == '\\':
			return p.escaped(from, name)
		case c < ' ':
			p.at++
			return p.fail(`control character (\u0000-\u001F) found while parsing a string`)
		}
	}
	return p.fail(endOfString)
}

func (p *Parser) putString(s []byte, name bool) bool {
	switch {
	case !name:
		p.build.String(s)
	case len(s) > MaxName:
		return p.fail("name too long")
	default:
		p.build.Name(s)
	}
	return true
}

// escaped is string from the first escape on.
func (p *Parser) escaped(from int, name bool) bool {
	s := append(p.name[:0], p.text[from:p.at]...)
	defer func() {
		if p.name = s; cap(s) > 1<<16 {
			p.name = nil
		}
	}()
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == '"':
			return p.putString(s, name)
		case c < ' ':
			return p.fail(`control character (\u0000-\u001F) found while parsing a string`)
		case c != '\\':
			s = append(s, c)
			continue
		}
		if p.ended() {
			break
		}
		c = p.text[p.at]
		p.at++
		if c == 'u' {
			r, ok := p.unicode()
			if !ok {
				return false
			}
			s = utf8.AppendRune(s, r)
			continue
		}
		plain := unescape(c)
		if plain == 0 {
			return p.fail("invalid escape")
		}
		s = append(s, plain)
	}
	return p.fail(endOfString)
}

// unescape is the byte that \c stands for, 0 if it does for none.
func unescape(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

// unicode reads what follows \u: four digits, or a pair of surrogates.
func (p *Parser) unicode() (rune, bool) {
	r, ok := p.hex()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if r >= 0xdc00 {
		return 0, p.fail("lone leading surrogate in hex escape")
	}
	for _, want := range []byte(`\u`) {
		if p.ended() {
			return 0, p.fail(endOfString)
		}
		if p.at++; p.text[p.at-1] != want {
			return 0, p.fail("unexpected end of hex escape")
		}
	}
	low, ok := p.hex()
	if !ok {
		return 0, false
	}
	if low < 0xdc00 || low > 0xdfff {
		return 0, p.fail("lone leading surrogate in hex escape")
	}
	return utf16.DecodeRune(r, low), true
}

func (p *Parser) hex() (rune, bool) {
	if len(p.text)-p.at < 4 {
		p.at = len(p.text)
		return 0, p.fail(endOfString)
	}
	var r rune
	bad := false
	for _, c := range p.text[p.at : p.at+4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			bad = true
		}
		r = r<<4 | rune(c)
	}
	if p.at += 4; bad {
		return 0, p.fail("invalid escape")
	}
	return r, true
}
