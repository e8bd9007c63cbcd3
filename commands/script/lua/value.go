package lua

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	glua "github.com/yuin/gopher-lua"
)

// decoder makes Lua values of a reply to a command. The server has written the reply, so
// that it is well-formed.
type decoder struct {
	L    *glua.LState
	rest []byte
}

// line takes the next line without its first byte and its end.
func (d *decoder) line() (kind byte, text []byte) {
	end := bytes.IndexByte(d.rest, '\n')
	kind, text = d.rest[0], d.rest[1:end-1]
	d.rest = d.rest[end+1:]
	return kind, text
}

func (d *decoder) bulk(n int64) string {
	s := string(d.rest[:n])
	d.rest = d.rest[n+2:]
	return s
}

func (d *decoder) value() glua.LValue {
	kind, text := d.line()
	switch kind {
	case '+':
		return d.field("ok", glua.LString(text))
	case '-':
		return errorTable(d.L, string(text), true)
	case ':':
		return glua.LNumber(number(text))
	case '$':
		if n := number(text); n >= 0 {
			return glua.LString(d.bulk(n))
		}
		return glua.LFalse
	case '*', '>':
		n := number(text)
		if n < 0 {
			return glua.LFalse
		}
		t := d.L.CreateTable(int(n), 0)
		for i := range int(n) {
			t.RawSetInt(i+1, d.value())
		}
		return t
	case '_':
		return glua.LNil
	case '|': // attributes, which scripts do not get
		for range 2 * number(text) {
			d.value()
		}
		return d.value()
	case '#':
		return glua.LBool(text[0] == 't')
	case ',':
		return d.field("double", glua.LNumber(double(string(text))))
	case '(':
		return d.field("big_number", glua.LString(text))
	case '=':
		s := d.bulk(number(text))
		v := d.L.CreateTable(0, 2)
		v.RawSetString("format", glua.LString(s[:3]))
		v.RawSetString("string", glua.LString(s[4:]))
		return d.field("verbatim_string", v)
	default: // '%' and '~'
		return d.pairs(kind, number(text))
	}
}

// pairs reads a map, or a set.
func (d *decoder) pairs(kind byte, n int64) glua.LValue {
	t := d.L.CreateTable(0, int(n))
	name := "set"
	for range n {
		k, v := d.value(), glua.LValue(glua.LTrue)
		if kind == '%' {
			name, v = "map", d.value()
		}
		if k != glua.LNil {
			t.RawSet(k, v)
		}
	}
	if kind == '%' {
		name = "map"
	}
	return d.field(name, t)
}

// field makes a table of one field, which stands for a type that Lua does not have.
func (d *decoder) field(name string, v glua.LValue) *glua.LTable {
	t := d.L.CreateTable(0, 1)
	t.RawSetString(name, v)
	return t
}

func number(text []byte) int64 {
	n, negative := int64(0), false
	for i, c := range text {
		if i == 0 && c == '-' {
			negative = true
			continue
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		return -n
	}
	return n
}

func double(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && v == 0 {
		return math.NaN()
	}
	return v
}

// errorTable makes the table of an error. The text begins with the code of the error; one
// without a space is a code's text.
func errorTable(L *glua.LState, text string, counted bool) *glua.LTable {
	if !strings.Contains(text, " ") {
		text = "ERR " + text
	}
	t := L.CreateTable(0, 4)
	t.RawSetString("err", glua.LString(text))
	if counted {
		t.RawSetString("ignore_error_stats_update", glua.LTrue)
	}
	return t
}
