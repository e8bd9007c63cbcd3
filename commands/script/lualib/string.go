package lualib

import (
	"bytes"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func stringLibrary() library {
	return library{
		"byte": stringByte, "char": stringChar, "dump": stringDump, "find": stringFind,
		"format": stringFormat, "gsub": stringGsub, "len": stringLen,
		"gmatch": stringGmatch, "lower": stringLower, "match": stringMatch, "rep": stringRep,
		"reverse": stringReverse, "sub": stringSub, "upper": stringUpper,
	}
}

// openString installs the library, also as the methods of strings.
func (h *host) openString(L *lua.LState) {
	t := h.newLibrary(L, stringLibrary())
	t.RawSetString("gfind", t.RawGetString("gmatch"))
	L.SetGlobal("string", t)
	mt := L.NewTable()
	mt.RawSetString("__index", t)
	L.SetMetatable(lua.LString(""), mt)
}

func stringLen(c call) int { return c.pushNumber(float64(len(c.text(1)))) }

// position returns a position that counts from 1, or from the end if it is negative, as
// one from the start; those before the start become 0.
func position(i int64, length int) int64 {
	if i < 0 {
		i += int64(length) + 1
	}
	return max(i, 0)
}

func stringSub(c call) int {
	s := c.text(1)
	start := max(position(c.integer(2), len(s)), 1)
	end := min(position(c.optInteger(3, -1), len(s)), int64(len(s)))
	if start > end {
		return c.pushText("")
	}
	return c.pushText(s[start-1 : end])
}

// mapped returns a copy of the first argument that f has changed in place.
func (c call) mapped(f func([]byte)) int {
	s := c.text(1)
	c.take(2 * len(s))
	b := []byte(s)
	c.step(len(b) / 16)
	f(b)
	return c.pushText(string(b))
}

func stringReverse(c call) int {
	return c.mapped(func(b []byte) {
		for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	})
}

func stringLower(c call) int {
	return c.mapped(func(b []byte) {
		for i := range b {
			b[i] = toLower(b[i])
		}
	})
}

func stringUpper(c call) int {
	return c.mapped(func(b []byte) {
		for i := range b {
			b[i] = toUpper(b[i])
		}
	})
}

func stringRep(c call) int {
	s, n := c.text(1), c.int32(2)
	if n <= 0 || s == "" {
		return c.pushText("")
	}
	c.take(len(s) * n) // fewer than 2^31 times fewer than 2^32
	c.step(len(s) * n / 1024)
	return c.pushText(strings.Repeat(s, n))
}

func stringByte(c call) int {
	s := c.text(1)
	start := position(c.optInteger(2, 1), len(s))
	end := min(position(c.optInteger(3, start), len(s)), int64(len(s)))
	start = max(start, 1)
	if start > end {
		return 0
	}
	if end-start+1+int64(c.L.GetTop()) > maxResults {
		c.raise("stack overflow (string slice too long)")
	}
	for _, b := range []byte(s[start-1 : end]) {
		c.pushNumber(float64(b))
	}
	return int(end - start + 1)
}

func stringChar(c call) int {
	b := make([]byte, c.L.GetTop())
	for i := range b {
		n := c.int32(i + 1)
		if n < 0 || n > 255 {
			c.argError(i+1, "invalid value")
		}
		b[i] = byte(n)
	}
	return c.pushText(string(b))
}

// stringDump refuses: what it would return is of no use where byte code cannot be loaded.
func stringDump(c call) int {
	c.function(1)
	c.raise("unable to dump given function")
	return 0
}

func stringFind(c call) int  { return c.findOrMatch(true) }
func stringMatch(c call) int { return c.findOrMatch(false) }

// findOrMatch is find, which returns a place and captures, and match, which returns
// captures.
func (c call) findOrMatch(find bool) int {
	s, p := c.text(1), c.text(2)
	start := int(min(max(position(c.optInteger(3, 1), len(s))-1, 0), int64(len(s))))
	if find && (c.L.ToBool(4) || !strings.ContainsAny(cString(p), "^$*+?.([%-")) {
		c.step((len(s) - start) / 64)
		i := strings.Index(s[start:], p)
		if i < 0 {
			return c.push(lua.LNil)
		}
		return c.push(lua.LNumber(start+i+1), lua.LNumber(start+i+len(p)))
	}
	m := newMatcher(c, s, p)
	anchored := m.anchor()
	for at := start; at <= len(s); at++ {
		end := m.matchAt(at)
		switch {
		case end >= 0 && find:
			return c.push(lua.LNumber(at+1), lua.LNumber(end)) + m.pushCaptures(-1, 0)
		case end >= 0:
			return m.pushCaptures(at, end)
		case anchored:
			return c.push(lua.LNil)
		}
	}
	return c.push(lua.LNil)
}

// cString returns what C sees of a string: up to its first NUL.
func cString(s string) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return s
}

func stringGmatch(c call) int {
	s, p := c.text(1), c.text(2)
	at := 0
	return c.push(c.h.newFunction(c.L, func(c call) int {
		m := newMatcher(c, s, p)
		for ; at <= len(s); at++ {
			if end := m.matchAt(at); end >= 0 {
				start := at
				if at = end; end == start {
					at++ // go on after an empty match
				}
				return m.pushCaptures(start, end)
			}
		}
		return 0
	}))
}

func stringGsub(c call) int {
	s, p := c.text(1), c.text(2)
	repl := c.L.Get(3)
	most := c.optInt32(4, min(len(s)+1, maxInt32))
	switch repl.Type() {
	case lua.LTNumber, lua.LTString, lua.LTFunction, lua.LTTable:
	default:
		c.argError(3, "string/function/table expected")
	}
	m := newMatcher(c, s, p)
	anchored := m.anchor()
	out := &buffer{c: c}
	at, n := 0, 0
	for n < most {
		end := m.matchAt(at)
		if end >= 0 {
			n++
			m.addReplacement(out, repl, at, end)
		}
		switch {
		case end > at:
			at = end
		case at < len(s):
			out.addByte(s[at])
			at++
		default:
			anchored = true // the end
		}
		if anchored {
			break
		}
	}
	out.add(s[at:])
	return c.pushText(out.text()) + c.pushNumber(float64(n))
}

// addReplacement adds what stands for a match: the text with its captures, or what the
// table or function says, where nil and false leave the match as it was.
func (m *matcher) addReplacement(out *buffer, repl lua.LValue, start, end int) {
	var v lua.LValue
	switch repl := repl.(type) {
	case *lua.LTable:
		v = m.c.L.GetTable(repl, m.capture(0, start, end))
	case *lua.LFunction:
		v = m.c.invoke(repl, m.captures(start, end)...)
	default:
		text, _ := toText(repl)
		m.addText(out, text, start, end)
		return
	}
	if lua.LVIsFalse(v) {
		out.add(m.s[start:end])
		return
	}
	text, ok := toText(v)
	if !ok {
		m.c.errorf("invalid replacement value (a %s)", v.Type())
	}
	out.add(text)
}

func (m *matcher) addText(out *buffer, text string, start, end int) {
	for {
		i := strings.IndexByte(text, '%')
		if i < 0 {
			out.add(text)
			return
		}
		out.add(text[:i])
		var x byte // what C finds after the end
		if text = text[i+1:]; text != "" {
			x, text = text[0], text[1:]
		}
		m.c.step(1)
		switch {
		case x == '0':
			out.add(m.s[start:end])
		case isDigit(x):
			captured, _ := toText(m.capture(int(x-'1'), start, end))
			out.add(captured)
		default:
			out.addByte(x)
		}
	}
}

// addQuoted adds a string in the form in which Lua reads it.
func addQuoted(out *buffer, s string) {
	out.addByte('"')
	for s != "" {
		i := strings.IndexAny(s, "\"\\\n\r\x00")
		if i < 0 {
			break
		}
		out.add(s[:i])
		switch s[i] {
		case '\r':
			out.add(`\r`)
		case 0:
			out.add(`\000`)
		default:
			out.addByte('\\')
			out.addByte(s[i])
		}
		s = s[i+1:]
	}
	out.add(s)
	out.addByte('"')
}

// cutAtNUL returns what C's strlen leaves of a formatted item.
func cutAtNUL(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
