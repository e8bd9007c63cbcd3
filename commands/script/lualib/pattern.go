package lualib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const (
	maxCaptures = 32
	// maxPattern is how many items of a pattern can wait for what follows them. Each nests
	// Go's stack; C's stack ends near ten times as many.
	maxPattern = 10000
	// matcherStep is how much work a matcher does before it tells the meter.
	matcherStep = 1024
)

// What the length of a capture says that has none.
const (
	unfinished = -1
	isPosition = -2
)

// A matcher matches a string with a pattern by backtracking, as Lua does: which of several
// matches is found depends on that.
type matcher struct {
	c        call
	s, p     string
	level    int
	captured [maxCaptures]struct{ start, length int }
	depth    int
	work     int
}

func newMatcher(c call, s, p string) *matcher {
	return &matcher{c: c, s: s, p: cString(p)}
}

// anchor takes the anchor off the start of the pattern and says whether there was one.
func (m *matcher) anchor() bool {
	p, ok := strings.CutPrefix(m.p, "^")
	m.p = p
	return ok
}

// matchAt returns the end of the match that starts at i, or -1.
func (m *matcher) matchAt(i int) int {
	m.level = 0
	m.depth = 0
	return m.match(i, 0)
}

func (m *matcher) spend(n int) {
	if m.work += n; m.work >= matcherStep {
		m.c.step(m.work)
		m.work = 0
	}
}

// at returns a byte of the pattern, 0 after its end.
func (m *matcher) at(p int) byte {
	if p < len(m.p) {
		return m.p[p]
	}
	return 0
}

// subject returns a byte of the string, 0 after its end.
func (m *matcher) subject(i int) byte {
	if i < len(m.s) {
		return m.s[i]
	}
	return 0
}

// match returns the end of a match of the pattern from p on with the string from i on, or
// -1.
func (m *matcher) match(i, p int) int {
	if m.depth++; m.depth > maxPattern {
		m.c.raise("pattern too complex")
	}
	e := m.items(i, p)
	m.depth--
	return e
}

// items is match without its count. It goes on in a loop while only one way is open.
func (m *matcher) items(i, p int) int {
	for {
		m.spend(1)
		switch m.at(p) {
		case 0:
			return i
		case '(':
			if m.at(p+1) == ')' {
				return m.open(i, p+2, isPosition)
			}
			return m.open(i, p+1, unfinished)
		case ')':
			return m.close(i, p+1)
		case '$':
			if p+1 == len(m.p) {
				if i == len(m.s) {
					return i
				}
				return -1
			}
		case '%':
			next, q, special := m.escape(i, p)
			if special && next < 0 {
				return -1
			}
			if special {
				i, p = next, q
				continue
			}
		}
		end := m.classEnd(p)
		fits := i < len(m.s) && m.single(m.s[i], p, end)
		switch m.at(end) {
		case '?':
			if fits {
				if e := m.match(i+1, end+1); e >= 0 {
					return e
				}
			}
			p = end + 1
		case '*':
			return m.longest(i, p, end)
		case '+':
			if !fits {
				return -1
			}
			return m.longest(i+1, p, end)
		case '-':
			return m.shortest(i, p, end)
		default:
			if !fits {
				return -1
			}
			i, p = i+1, end
		}
	}
}

// escape matches what is no class after a percent sign: %b, %f and captures. It returns
// where to go on in the string, -1 if it does not match, and in the pattern.
func (m *matcher) escape(i, p int) (next, q int, special bool) {
	switch x := m.at(p + 1); {
	case x == 'b':
		return m.balanced(i, p+2), p + 4, true
	case x == 'f':
		p += 2
		if m.at(p) != '[' {
			m.c.raise("missing '[' after '%f' in pattern")
		}
		end := m.classEnd(p)
		var previous byte
		if i > 0 {
			previous = m.s[i-1]
		}
		if m.inSet(previous, p, end-1) || !m.inSet(m.subject(i), p, end-1) {
			return -1, end, true
		}
		return i, end, true
	case isDigit(x):
		return m.again(i, x), p + 2, true
	}
	return 0, 0, false
}

// balanced matches from an opening byte to the closing one that belongs to it.
func (m *matcher) balanced(i, p int) int {
	opening, closing := m.at(p), m.at(p+1)
	if opening == 0 || closing == 0 {
		m.c.raise("unbalanced pattern")
	}
	if i >= len(m.s) || m.s[i] != opening {
		return -1
	}
	open := 1
	for i++; i < len(m.s); i++ {
		m.spend(1)
		switch m.s[i] {
		case closing:
			if open--; open == 0 {
				return i + 1
			}
		case opening:
			open++
		}
	}
	return -1
}

func (m *matcher) longest(i, p, end int) int {
	n := 0
	for i+n < len(m.s) && m.single(m.s[i+n], p, end) {
		n++
		m.spend(1)
	}
	for ; n >= 0; n-- {
		if e := m.match(i+n, end+1); e >= 0 {
			return e
		}
	}
	return -1
}

func (m *matcher) shortest(i, p, end int) int {
	for {
		if e := m.match(i, end+1); e >= 0 {
			return e
		}
		if i >= len(m.s) || !m.single(m.s[i], p, end) {
			return -1
		}
		i++
	}
}

func (m *matcher) open(i, p, length int) int {
	if m.level >= maxCaptures {
		m.c.raise("too many captures")
	}
	m.captured[m.level].start, m.captured[m.level].length = i, length
	m.level++
	e := m.match(i, p)
	if e < 0 {
		m.level--
	}
	return e
}

func (m *matcher) close(i, p int) int {
	l := m.level - 1
	for l >= 0 && m.captured[l].length != unfinished {
		l--
	}
	if l < 0 {
		m.c.raise("invalid pattern capture")
	}
	m.captured[l].length = i - m.captured[l].start
	e := m.match(i, p)
	if e < 0 {
		m.captured[l].length = unfinished
	}
	return e
}

// again matches what a capture has.
func (m *matcher) again(i int, digit byte) int {
	l := int(digit) - '1'
	if l < 0 || l >= m.level || m.captured[l].length == unfinished {
		m.c.raise("invalid capture index")
	}
	capture := m.captured[l]
	if capture.length < 0 || len(m.s)-i < capture.length {
		return -1 // a position is longer than any string to C
	}
	m.spend(1 + capture.length/16)
	if m.s[i:i+capture.length] != m.s[capture.start:capture.start+capture.length] {
		return -1
	}
	return i + capture.length
}

// capture returns a capture of a match, which stands for the first if there are none.
func (m *matcher) capture(l, start, end int) lua.LValue {
	if l >= m.level {
		if l != 0 {
			m.c.raise("invalid capture index")
		}
		return lua.LString(m.s[start:end])
	}
	switch capture := m.captured[l]; capture.length {
	case unfinished:
		m.c.raise("unfinished capture")
		return lua.LNil
	case isPosition:
		return lua.LNumber(capture.start + 1)
	default:
		return lua.LString(m.s[capture.start : capture.start+capture.length])
	}
}

// captures returns all captures. If there are none it returns the match, unless start is
// negative.
func (m *matcher) captures(start, end int) []lua.LValue {
	n := m.level
	if n == 0 && start >= 0 {
		n = 1
	}
	values := make([]lua.LValue, n)
	for l := range values {
		values[l] = m.capture(l, start, end)
	}
	return values
}

func (m *matcher) pushCaptures(start, end int) int {
	return m.c.push(m.captures(start, end)...)
}
