package lualib

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// maxStack is how many values a function of C has on Lua's stack at most, which bounds how
// deeply cjson nests whatever its settings: LUAI_MAXCSTACK.
const maxStack = 8000

// A jsonEncoder writes one value. Its used counts what cjson has on the stack.
type jsonEncoder struct {
	c     call
	cfg   *jsonConfig
	out   buffer
	depth int
	used  int
}

func jsonEncode(c call, cfg *jsonConfig) int {
	if c.L.GetTop() != 1 {
		c.argError(1, "expected 1 argument")
	}
	e := jsonEncoder{c: c, cfg: cfg, out: buffer{c: c}, used: 1}
	e.value(c.L.Get(1))
	return c.pushText(e.out.text())
}

func (e *jsonEncoder) cannot(v lua.LValue, why string) {
	e.c.errorf("Cannot serialise %s: %s", v.Type(), why)
}

func (e *jsonEncoder) value(v lua.LValue) {
	e.c.step(1)
	switch v := v.(type) {
	case lua.LString:
		e.text(string(v))
	case lua.LNumber:
		e.number(v)
	case lua.LBool:
		e.out.add(v.String())
	case *lua.LTable:
		e.depth++
		if e.depth > e.cfg.encodeDepth || e.used+3 > maxStack {
			e.c.errorf("Cannot serialise, excessive nesting (%d)", e.depth)
		}
		if n := e.listLength(v); n > 0 || n == 0 && isList(v) {
			e.list(v, n)
		} else {
			e.object(v)
		}
		e.depth--
	case *lua.LNilType:
		e.out.add("null")
	default:
		if v != null {
			e.cannot(v, "type not supported")
		}
		e.out.add("null")
	}
}

// listLength returns how many elements a table has as a list, or -1 if it is an object:
// if a key is not a positive integer, or if it has too few elements for its length.
func (e *jsonEncoder) listLength(t *lua.LTable) int {
	var most, items int32
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		e.c.step(1)
		k, ok := key.(lua.LNumber)
		if !ok || float64(k) != math.Floor(float64(k)) || k < 1 {
			return -1
		}
		if float64(k) > float64(most) {
			most = toInt32(float64(k))
		}
		items++
	}
	ratio := int32(e.cfg.sparseRatio)
	if ratio > 0 && most > items*ratio && most > int32(e.cfg.sparseSafe) {
		if !e.cfg.sparseConvert {
			e.cannot(t, "excessively sparse array")
		}
		return -1
	}
	return int(most)
}

func (e *jsonEncoder) list(t *lua.LTable, n int) {
	e.used++
	e.out.addByte('[')
	for i := 1; i <= n; i++ {
		if i > 1 {
			e.out.addByte(',')
		}
		e.value(getInt(t, i))
	}
	e.out.addByte(']')
	e.used--
}

func (e *jsonEncoder) object(t *lua.LTable) {
	e.used += 2
	e.out.addByte('{')
	first := true
	for key, v := t.Next(lua.LNil); key != lua.LNil; key, v = t.Next(key) {
		if !first {
			e.out.addByte(',')
		}
		first = false
		switch key := key.(type) {
		case lua.LNumber:
			e.out.addByte('"')
			e.number(key)
			e.out.add(`":`)
		case lua.LString:
			e.text(string(key))
			e.out.addByte(':')
		default:
			e.cannot(key, "table key must be a number or string")
		}
		e.value(v)
	}
	e.out.addByte('}')
	e.used -= 2
}

func (e *jsonEncoder) number(n lua.LNumber) {
	f := float64(n)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		switch e.cfg.encodeInvalid {
		case 0:
			e.cannot(n, "must not be NaN or Inf")
		case 1:
			if math.IsNaN(f) {
				e.out.add("nan")
				return
			}
		default:
			e.out.add("null")
			return
		}
	}
	if e.cfg.encodePrecision == 14 {
		e.out.add(formatNumber(f))
		return
	}
	e.out.add(string(appendG(nil, f, e.cfg.encodePrecision)))
}

// text writes a string. Bytes above 127 stand as they are, whether they are UTF-8 or not.
func (e *jsonEncoder) text(s string) {
	e.c.step(len(s) / 64)
	e.out.reserve(len(s) + 2)
	e.out.addByte('"')
	start := 0
	for i := range len(s) {
		if escaped := jsonEscapes[s[i]]; escaped != "" {
			e.out.add(s[start:i])
			e.out.add(escaped)
			start = i + 1
		}
	}
	e.out.add(s[start:])
	e.out.addByte('"')
}

// jsonEscapes has what stands for a byte in a string, nothing where it does itself.
var jsonEscapes = func() (escapes [256]string) {
	for b := range ' ' {
		escapes[b] = fmt.Sprintf(`\u%04x`, b)
	}
	escapes[127] = `\u007f`
	for b, escape := range map[byte]string{
		'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`,
	} {
		escapes[b] = escape
	}
	return escapes
}()
