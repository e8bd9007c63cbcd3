package lualib

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// A call is one call of a function: the state with its arguments, and what it may use.
// Arguments count from 1. The methods that read one raise Lua's error for an argument of
// a wrong type and do not return then.
type call struct {
	L *lua.LState
	h *host
}

// none says whether there is no argument n, which is not the same as nil to some functions.
func (c call) none(n int) bool { return n > c.L.GetTop() }

// nothing says whether argument n is nil or missing.
func (c call) nothing(n int) bool { return c.L.Get(n) == lua.LNil }

func (c call) typeName(n int) string {
	if c.none(n) {
		return "no value"
	}
	return c.L.Get(n).Type().String()
}

// any returns argument n, which must be there.
func (c call) any(n int) lua.LValue {
	if c.none(n) {
		c.argError(n, "value expected")
	}
	return c.L.Get(n)
}

// text returns argument n as a string; numbers are converted.
func (c call) text(n int) string {
	s, ok := toText(c.L.Get(n))
	if !ok {
		c.typeError(n, "string")
	}
	return s
}

func (c call) optText(n int, def string) string {
	if c.nothing(n) {
		return def
	}
	return c.text(n)
}

// number returns argument n as a number; strings that are numbers are converted.
func (c call) number(n int) float64 {
	f, ok := toNumber(c.L.Get(n))
	if !ok {
		c.typeError(n, "number")
	}
	return f
}

// integer returns argument n as C converts a double to a 64-bit integer.
func (c call) integer(n int) int64 { return toInt64(c.number(n)) }

func (c call) optInteger(n int, def int64) int64 {
	if c.nothing(n) {
		return def
	}
	return c.integer(n)
}

// int32 returns argument n cut to 32 bits, as where Lua's C code has an int.
func (c call) int32(n int) int { return int(int32(c.integer(n))) }

func (c call) optInt32(n, def int) int {
	if c.nothing(n) {
		return def
	}
	return c.int32(n)
}

func (c call) table(n int) *lua.LTable {
	t, ok := c.L.Get(n).(*lua.LTable)
	if !ok {
		c.typeError(n, "table")
	}
	return t
}

func (c call) function(n int) *lua.LFunction {
	f, ok := c.L.Get(n).(*lua.LFunction)
	if !ok {
		c.typeError(n, "function")
	}
	return f
}

// push pushes results and returns their number.
func (c call) push(values ...lua.LValue) int {
	for _, v := range values {
		c.L.Push(v)
	}
	return len(values)
}

func (c call) pushText(s string) int    { return c.push(lua.LString(s)) }
func (c call) pushNumber(f float64) int { return c.push(lua.LNumber(f)) }

// step ends the script if the meter says so after n units of work.
func (c call) step(n int) {
	if err := c.h.m.Step(n); err != nil {
		c.raise(err.Error())
	}
}

// take ends the script if so many bytes are too many. Call it before allocating them.
func (c call) take(bytes int) {
	if err := c.h.m.Take(bytes); err != nil {
		c.raise(err.Error())
	}
}

// raise raises an error with the place of the call before its text, if a function of the
// script made the call.
func (c call) raise(text string) {
	c.L.Error(lua.LString(c.where(1)+text), 0)
}

func (c call) errorf(format string, args ...any) { c.raise(fmt.Sprintf(format, args...)) }

// where returns the place "source:line: " of the function at a level of the stack, where 0
// is the running one. Functions in Go have no place.
func (c call) where(level int) string {
	L := c.L
	for i := len(c.h.callers) - 1; i >= 0 && c.h.callers[i].inner == L; i-- {
		n := 0
		for _, ok := L.GetStack(n); ok && n <= level; _, ok = L.GetStack(n) {
			n++
		}
		if n > level {
			break
		}
		L, level = c.h.callers[i].outer, level-n
	}
	d, ok := L.GetStack(level)
	if !ok {
		return ""
	}
	if _, err := L.GetInfo("Sl", d, lua.LNil); err != nil || d.What == "G" || d.CurrentLine <= 0 {
		return ""
	}
	return place(d.Source, d.CurrentLine)
}

func place(source string, line int) string { return fmt.Sprintf("%s:%d: ", source, line) }

// argError raises the error of a bad argument n.
func (c call) argError(n int, text string) {
	name, method := c.name()
	if method {
		n--
		if n == 0 {
			c.errorf("calling '%s' on bad self (%s)", name, text)
		}
	}
	c.errorf("bad argument #%d to '%s' (%s)", n, name, text)
}

func (c call) typeError(n int, want string) {
	c.argError(n, want+" expected, got "+c.typeName(n))
}

// maxInt32 is C's INT_MAX.
const maxInt32 = math.MaxInt32

// name returns the name by which the script called the running function, "?" if it has
// none there, and whether the call was a method's, whose self does not count.
func (c call) name() (name string, method bool) {
	d, ok := c.L.GetStack(0)
	if !ok {
		return "?", false
	}
	if _, err := c.L.GetInfo("n", d, lua.LNil); err != nil || !marked(d.Name) {
		return "?", false
	}
	if name = d.Name[1:]; name == "" || name[0] == '(' {
		name = "?"
	}
	return name, d.Name[0] == methodMark
}

// marked says whether a name of a function comes from an instruction that calls.
func marked(name string) bool {
	return name != "" && (name[0] == callMark || name[0] == methodMark || name[0] == tailMark)
}
