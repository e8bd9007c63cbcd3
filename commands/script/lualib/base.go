package lualib

import (
	"fmt"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// baseLibrary is what Redis leaves of Lua's base library: nothing that reads files, prints,
// or reaches the environments of functions (getfenv, setfenv, newproxy: off unless
// lua-enable-deprecated-api says otherwise, which few versions have).
func baseLibrary() library {
	return library{
		"assert": baseAssert, "error": baseError, "pcall": basePCall, "xpcall": baseXPCall,
		"type": baseType, "tostring": baseToString, "tonumber": baseToNumber,
		"rawequal": baseRawEqual, "rawget": baseRawGet, "rawset": baseRawSet,
		"getmetatable": baseGetMetatable, "setmetatable": baseSetMetatable,
		"select": baseSelect, "unpack": baseUnpack,
		"load": baseLoad, "loadstring": baseLoadString,
		"collectgarbage": baseCollectGarbage, "gcinfo": baseGCInfo,
	}
}

func baseAssert(c call) int {
	if lua.LVIsFalse(c.any(1)) {
		c.raise(c.optText(2, "assertion failed!"))
	}
	return c.L.GetTop()
}

func baseError(c call) int {
	level := c.optInt32(2, 1)
	text, ok := toText(c.L.Get(1))
	if !ok || level <= 0 {
		c.L.Error(c.L.Get(1), 0)
	}
	c.L.Error(lua.LString(c.where(level)+text), 0)
	return 0
}

func baseType(c call) int { return c.pushText(c.any(1).Type().String()) }

func baseToString(c call) int {
	v := c.any(1)
	if f := c.metaField(v, "__tostring"); f != lua.LNil {
		return c.push(c.invoke(f, v))
	}
	return c.pushText(display(v))
}

// display returns what tostring says of a value without a metamethod.
func display(v lua.LValue) string {
	if text, ok := toText(v); ok {
		return text
	}
	if v == null {
		return "userdata: (nil)"
	}
	return v.String()
}

func baseToNumber(c call) int {
	base := c.optInt32(2, 10)
	if base == 10 {
		if f, ok := toNumber(c.any(1)); ok {
			return c.pushNumber(f)
		}
		return c.push(lua.LNil)
	}
	text := c.text(1)
	if base < 2 || base > 36 {
		c.argError(2, "base out of range")
	}
	if n, ok := parseUnsigned(text, uint64(base)); ok {
		return c.pushNumber(float64(n))
	}
	return c.push(lua.LNil)
}

// parseUnsigned reads an integer of a base as C's strtoul does, with spaces around: a
// minus wraps around, what is too large becomes the largest.
func parseUnsigned(s string, base uint64) (uint64, bool) {
	s = strings.Trim(cString(s), spaces)
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' && isHex(s[2]) {
		s = s[2:]
	}
	if s == "" {
		return 0, false
	}
	n, overflow := uint64(0), false
	for i := range len(s) {
		d := digit(s[i])
		if d >= base {
			return 0, false
		}
		overflow = overflow || n > (math.MaxUint64-d)/base
		n = n*base + d
	}
	switch {
	case overflow:
		return math.MaxUint64, true
	case negative:
		return -n, true
	}
	return n, true
}

// digit returns the value of a digit or letter, 255 for other bytes.
func digit(b byte) uint64 {
	switch {
	case isDigit(b):
		return uint64(b - '0')
	case isAlpha(b):
		return uint64(b|0x20-'a') + 10
	}
	return 255
}

func baseRawEqual(c call) int {
	return c.push(lua.LBool(c.any(1) == c.any(2)))
}

func baseRawGet(c call) int {
	t := c.table(1)
	return c.push(t.RawGet(c.any(2)))
}

func baseRawSet(c call) int {
	t := c.table(1)
	c.any(2)
	c.any(3)
	c.rawSet(t, c.L.Get(2), c.L.Get(3))
	return c.push(t)
}

func baseGetMetatable(c call) int {
	v := c.any(1)
	if protected := c.metaField(v, "__metatable"); protected != lua.LNil {
		return c.push(protected)
	}
	return c.push(c.L.GetMetatable(v))
}

func baseSetMetatable(c call) int {
	t := c.table(1)
	mt := c.L.Get(2)
	if c.none(2) || mt != lua.LNil && mt.Type() != lua.LTTable {
		c.argError(2, "nil or table expected")
	}
	if c.metaField(t, "__metatable") != lua.LNil {
		c.raise("cannot change a protected metatable")
	}
	t.Metatable = mt
	return c.push(t)
}

func baseSelect(c call) int {
	n := c.L.GetTop()
	if s, ok := c.L.Get(1).(lua.LString); ok && strings.HasPrefix(string(s), "#") {
		return c.pushNumber(float64(n - 1))
	}
	i := c.int32(1)
	if i < 0 {
		i += n
	} else if i > n {
		i = n
	}
	if i < 1 {
		c.argError(1, "index out of range")
	}
	return n - i
}

// maxResults is how many values a function returns at most, as in Lua: LUAI_MAXCSTACK.
const maxResults = 8000

func baseUnpack(c call) int {
	t := c.table(1)
	i := c.optInt32(2, 1)
	e := 0
	if c.nothing(3) {
		e = c.length(t)
	} else {
		e = c.int32(3)
	}
	if i > e {
		return 0
	}
	n := e - i + 1
	if n > maxInt32 || c.L.GetTop()+n > maxResults {
		c.raise("too many results to unpack")
	}
	c.step(n)
	for ; i <= e; i++ {
		c.L.Push(getInt(t, i))
	}
	return n
}

// baseCollectGarbage does nothing but check its arguments: the garbage of scripts is Go's.
func baseCollectGarbage(c call) int {
	option := c.optText(1, "collect")
	c.optInt32(2, 0)
	switch option {
	case "stop", "restart", "collect":
		return c.pushNumber(0)
	case "setpause", "setstepmul":
		return c.pushNumber(200)
	case "step":
		return c.push(lua.LTrue)
	case "count":
		return c.pushNumber(garbageCount)
	}
	c.argError(1, fmt.Sprintf("invalid option '%s'", option))
	return 0
}

// garbageCount stands for the memory of a state in KiB, which nobody counts.
const garbageCount = 64

func baseGCInfo(c call) int { return c.pushNumber(garbageCount) }
