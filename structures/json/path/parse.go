package path

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/structures/json"
)

// Parse parses a path of either dialect. The error is an *Error.
func Parse(text []byte) (*Path, error) {
	switch {
	case len(text) != 1:
	case text[0] == '$':
		return root, nil
	case text[0] == '.':
		return legacyRoot, nil
	}
	p := parser{text: text, path: &Path{}}
	if len(text) > maxLength {
		return nil, &Error{maxLength, "end of path"}
	}
	if !IsJSONPath(text) {
		p.path.Legacy = true
		if len(text) > 0 && text[0] == '.' {
			p.text = append([]byte{'$'}, text...)
		} else {
			p.text = append([]byte("$."), text...)
		}
	} else {
		p.text = bytes.Clone(text) // the names are kept
	}
	p.at = 1
	if p.path.segments = p.segments(); p.err == nil && p.at < len(p.text) {
		p.fail("path, end of path")
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.path.settle(), nil
}

// IsJSONPath reports whether a text begins as a JSONPath does.
func IsJSONPath(text []byte) bool {
	return len(text) > 0 && text[0] == '$' && (len(text) == 1 || text[1] == '.' || text[1] == '[')
}

// parser keeps its first error, after which all that it returns is to be dropped.
type parser struct {
	text    []byte
	at      int
	nesting int
	path    *Path
	err     *Error
}

func (p *parser) fail(expected string) {
	if p.err == nil {
		p.err = &Error{p.at, expected}
	}
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// space passes spaces and returns the next byte.
func (p *parser) space() byte {
	for p.peek() == ' ' {
		p.at++
	}
	return p.peek()
}

// is takes a token, after spaces, if it is next.
func (p *parser) is(token string) bool {
	p.space()
	if len(p.text)-p.at < len(token) || string(p.text[p.at:p.at+len(token)]) != token {
		return false
	}
	p.at += len(token)
	return true
}

// segments parses as many segments as there are.
func (p *parser) segments() (list []segment) {
	for p.err == nil {
		before := p.at
		s := segment{}
		switch {
		case p.is(".."):
			s.descend = true
			p.selector(&s, true)
		case p.is("."):
			p.selector(&s, true)
		case p.space() == '[':
			p.selector(&s, false)
		default:
			p.at = before
			return list
		}
		list = append(list, s)
	}
	return list
}

// selector parses what follows the points of a segment.
func (p *parser) selector(s *segment, names bool) {
	switch c := p.space(); {
	case c == '[':
		p.at++
		p.bracket(s)
	case names && c == '*':
		p.at++
		s.kind = all
	case names && isNameByte(c):
		s.names = [][]byte{p.name()}
	default:
		p.fail("level, name, brackets")
	}
}

func isNameByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-_`~+#%$^/:", c) >= 0
}

func (p *parser) name() []byte {
	from := p.at
	for p.at < len(p.text) && isNameByte(p.text[p.at]) {
		p.at++
	}
	return p.text[from:p.at:p.at]
}

// bracket parses what is in brackets, and their end.
func (p *parser) bracket(s *segment) {
	switch c := p.space(); {
	case c == '*':
		p.at++
		s.kind = all
	case c == '"' || c == '\'':
		s.names = append(s.names, p.string())
		for p.err == nil && p.is(",") {
			p.listed(len(s.names))
			s.names = append(s.names, p.string())
		}
	case c == '?':
		p.at++
		s.kind = byFilter
		p.nest(func() { s.filter = p.filter() })
	default:
		p.indexes(s)
	}
	if p.err == nil && !p.is("]") {
		p.fail("`,`, `]`")
	}
}

func (p *parser) listed(n int) {
	if p.space(); n == maxSelectors {
		p.fail("`]`")
	}
}

// nest runs what may nest again, up to a bound.
func (p *parser) nest(parse func()) {
	if p.nesting++; p.nesting > maxNesting {
		p.fail("less nesting")
	}
	if p.err == nil {
		parse()
	}
	p.nesting--
}

// indexes parses a list of indexes, or a slice.
func (p *parser) indexes(s *segment) {
	s.kind = byIndex
	if p.space() != ':' {
		s.indexes = append(s.indexes, p.int())
	}
	if p.err == nil && p.is(":") {
		s.kind, s.slice = bySlice, slice{noBound, noBound, 1}
		if len(s.indexes) > 0 {
			s.slice.from = s.indexes[0]
		}
		p.sliceEnd(s)
		return
	}
	for p.err == nil && p.is(",") {
		p.listed(len(s.indexes))
		s.indexes = append(s.indexes, p.int())
	}
}

func (p *parser) sliceEnd(s *segment) {
	if c := p.space(); c != ':' && c != ']' {
		s.slice.to = p.int()
	}
	if p.err != nil || !p.is(":") || p.space() == ']' {
		return
	}
	at := p.at
	if s.slice.step = p.int(); p.err == nil && s.slice.step < 1 {
		p.at = at
		p.fail("step")
	}
}

// int parses an integer. One that has more than 64 bits is the nearest that has not.
func (p *parser) int() int {
	from := p.at
	if p.peek() == '-' {
		p.at++
	}
	digits := p.digits()
	text := string(p.text[from:p.at])
	if digits == 0 || p.text[p.at-digits] == '0' && len(text) > 1 {
		p.at = min(from+1, p.at)
		p.fail("number, slice, string, filter, `*`")
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && n < 0 || n == noBound {
		n = noBound + 1
	}
	return int(n)
}

func (p *parser) digits() (n int) {
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
		n++
	}
	return n
}

// string parses a string in either quotes, in which only these and the backslash are escaped.
func (p *parser) string() []byte {
	quote := p.space()
	if quote != '"' && quote != '\'' {
		p.fail("string")
		return nil
	}
	var s []byte
	for p.at++; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		if c == quote {
			p.at++
			return append([]byte{}, s...)
		}
		if c == '\\' {
			p.at++
			if c = p.peek(); p.at == len(p.text) || c != quote && c != '\\' {
				p.fail("escaped quote, `\\`")
				return nil
			}
		}
		s = append(s, c)
	}
	p.fail("end of string")
	return nil
}

// filter parses alternatives of what && joins. A long chain is as deep as it is long only to its
// left.
func (p *parser) filter() *expression {
	left := p.conjunction()
	for p.err == nil && p.is("||") {
		left = &expression{op: opOr, left: left, right: p.conjunction()}
	}
	return left
}

func (p *parser) conjunction() *expression {
	left := p.unit()
	for p.err == nil && p.is("&&") {
		left = &expression{op: opAnd, left: left, right: p.unit()}
	}
	return left
}

func (p *parser) unit() (e *expression) {
	if p.is("(") {
		p.nest(func() { e = p.filter() })
		if p.err == nil && !p.is(")") {
			p.fail("`)`, boolean operator")
		}
		return e
	}
	e = &expression{op: opAlone, a: p.term()}
	if p.err != nil {
		return e
	}
	for _, o := range [...]struct {
		token string
		op    operator
	}{{"==", opEqual}, {"!=", opUnequal}, {"<=", opLessEqual}, {">=", opGreaterEqual}, {"<", opLess}, {">", opGreater}, {"=~", opMatch}} {
		if p.is(o.token) {
			e.op, e.b = o.op, p.term()
			break
		}
	}
	return e
}

func (p *parser) term() *term {
	c := p.space()
	switch {
	case c == '@' || c == '$':
		p.at++
		t := &term{fromRoot: c == '$'}
		if next := p.peek(); isNameByte(next) || next == '*' {
			s := segment{}
			p.selector(&s, true)
			t.path = append(t.path, s)
		}
		t.path = append(t.path, p.segments()...)
		return t
	case c == '"' || c == '\'':
		return literal(json.AppendString(nil, p.string()))
	case c == '-' || c >= '0' && c <= '9':
		return literal(p.number())
	case p.is("true"):
		return literal(json.AppendBool(nil, true))
	case p.is("false"):
		return literal(json.AppendBool(nil, false))
	case p.is("null"):
		return literal(json.AppendNull(nil))
	}
	p.fail("path, string, number, true, false, null, `(`")
	return nil
}

func literal(encoded []byte) *term { return &term{literal: true, value: json.Of(encoded)} }

// number parses an integer, or a number with digits behind a point.
func (p *parser) number() []byte {
	from := p.at
	if p.peek() == '-' {
		p.at++
	}
	if n := p.digits(); n == 0 || n > 1 && p.text[p.at-n] == '0' {
		p.fail("number")
		return nil
	}
	if p.peek() == '.' {
		if p.at++; p.digits() == 0 {
			p.fail("digits")
			return nil
		}
	} else if n, err := strconv.ParseInt(string(p.text[from:p.at]), 10, 64); err == nil {
		return json.AppendInt(nil, n)
	} else if n, err := strconv.ParseUint(string(p.text[from:p.at]), 10, 64); err == nil {
		return json.AppendUint(nil, n)
	}
	f, _ := strconv.ParseFloat(string(p.text[from:p.at]), 64)
	if math.IsInf(f, 0) {
		f = math.Copysign(math.MaxFloat64, f)
	}
	return json.AppendDouble(nil, f)
}
