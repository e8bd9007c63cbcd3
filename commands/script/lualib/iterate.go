package lualib

import lua "github.com/yuin/gopher-lua"

// openIterators installs pairs and ipairs, which return the same iterator each time.
func (h *host) openIterators(L *lua.LState) {
	next := h.newFunction(L, baseNext)
	L.SetGlobal("next", next)
	L.SetGlobal("pairs", h.newFunction(L, func(c call) int {
		return c.push(next, c.table(1), lua.LNil)
	}))
	following := h.newFunction(L, followingIndex)
	L.SetGlobal("ipairs", h.newFunction(L, func(c call) int {
		return c.push(following, c.table(1), lua.LNumber(0))
	}))
}

// baseNext returns the entry after a key, in the order of insertion, integers that form a
// list first: Lua's own order is that of its hashes.
func baseNext(c call) int {
	t := c.table(1)
	key, value := t.Next(c.L.Get(2))
	if key == lua.LNil {
		return c.push(lua.LNil)
	}
	return c.push(key, value)
}

func followingIndex(c call) int {
	i := c.int32(2) + 1
	v := getInt(c.table(1), i)
	if v == lua.LNil {
		return 0
	}
	return c.push(lua.LNumber(i), v)
}
