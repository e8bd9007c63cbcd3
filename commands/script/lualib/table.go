package lualib

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"
)

func tableLibrary() library {
	return library{
		"concat": tableConcat, "foreach": tableForeach, "foreachi": tableForeachi,
		"getn": tableGetn, "maxn": tableMaxn, "insert": tableInsert, "remove": tableRemove,
		"setn": tableSetn, "sort": tableSort,
	}
}

// length returns the length of a table. Of several that have a nil after them it is the
// largest, where Lua's depends on how the table came about.
func (c call) length(t *lua.LTable) int { return t.Len() }

// getInt returns the element at an integer. gopher-lua's RawGetInt finds only those of the
// list.
func getInt(t *lua.LTable, i int) lua.LValue {
	if i < 1 || i >= lua.MaxArrayIndex {
		return t.RawGet(lua.LNumber(i))
	}
	return t.RawGetInt(i)
}

// valueSize is what an element of a table takes.
const valueSize = 16

// setInt sets the element at an integer. A table is one list with nils in its holes, so an
// element far behind the others takes the memory of those.
func (c call) setInt(t *lua.LTable, i int, v lua.LValue) {
	if i > 1024 && i < lua.MaxArrayIndex {
		if gap := i - t.Len(); gap > 1024 {
			c.take(gap * valueSize)
		}
	}
	t.RawSetInt(i, v)
}

// rawSet sets an element at any key.
func (c call) rawSet(t *lua.LTable, key, v lua.LValue) {
	n, ok := key.(lua.LNumber)
	switch {
	case key == lua.LNil:
		c.L.Error(lua.LString("table index is nil"), 0)
	case ok && math.IsNaN(float64(n)):
		c.L.Error(lua.LString("table index is NaN"), 0)
	case ok && n == lua.LNumber(int(n)):
		c.setInt(t, int(n), v)
	default:
		t.RawSet(key, v)
	}
}

func tableGetn(c call) int { return c.pushNumber(float64(c.length(c.table(1)))) }

func tableSetn(c call) int {
	c.table(1)
	c.raise("'setn' is obsolete")
	return 0
}

func tableMaxn(c call) int {
	t := c.table(1)
	most := 0.0
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		c.step(1)
		if n, ok := key.(lua.LNumber); ok {
			most = max(most, float64(n))
		}
	}
	return c.pushNumber(most)
}

func tableForeach(c call) int {
	t, f := c.table(1), c.function(2)
	for key, v := t.Next(lua.LNil); key != lua.LNil; key, v = t.Next(key) {
		c.step(1)
		if result := c.invoke(f, key, v); result != lua.LNil {
			return c.push(result)
		}
	}
	return 0
}

func tableForeachi(c call) int {
	t := c.table(1)
	n, f := c.length(t), c.function(2)
	for i := 1; i <= n; i++ {
		c.step(1)
		if result := c.invoke(f, lua.LNumber(i), getInt(t, i)); result != lua.LNil {
			return c.push(result)
		}
	}
	return 0
}

func tableInsert(c call) int {
	t := c.table(1)
	end := c.length(t) + 1
	switch c.L.GetTop() {
	case 2:
		c.setInt(t, end, c.L.Get(2))
		return 0
	case 3:
	default:
		c.raise("wrong number of arguments to 'insert'")
	}
	pos, v := c.int32(2), c.L.Get(3)
	switch {
	case pos >= end:
	case pos >= 1:
		c.step(1 + (end-pos)/64)
		t.Insert(pos, v)
		return 0
	default:
		for i := end; i > pos; i-- {
			c.step(1)
			c.setInt(t, i, getInt(t, i-1))
		}
	}
	c.setInt(t, pos, v)
	return 0
}

func tableRemove(c call) int {
	t := c.table(1)
	end := c.length(t)
	pos := c.optInt32(2, end)
	if pos < 1 || pos > end {
		return 0
	}
	c.step(1 + (end-pos)/64)
	return c.push(t.Remove(pos))
}

func tableConcat(c call) int {
	sep := c.optText(2, "")
	t := c.table(1)
	i := c.optInt32(3, 1)
	last := 0
	if c.nothing(4) {
		last = c.length(t)
	} else {
		last = c.int32(4)
	}
	out := &buffer{c: c}
	for ; i <= last; i++ {
		c.step(1)
		text, ok := toText(getInt(t, i))
		if !ok {
			c.raise(fmt.Sprintf("invalid value (%s) at index %d in table for 'concat'", getInt(t, i).Type(), i))
		}
		out.add(text)
		if i < last {
			out.add(sep)
		}
	}
	return c.pushText(out.text())
}
