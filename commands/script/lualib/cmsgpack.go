package lualib

import lua "github.com/yuin/gopher-lua"

func (h *host) newMsgpack(L *lua.LState) *lua.LTable {
	t := h.newLibrary(L, library{
		"pack": msgpackPack, "unpack": msgpackUnpack, "unpack_one": msgpackUnpackOne,
		"unpack_limit": msgpackUnpackLimit,
	})
	t.RawSetString("_NAME", lua.LString("cmsgpack"))
	t.RawSetString("_VERSION", lua.LString("lua-cmsgpack 0.4.0"))
	t.RawSetString("_COPYRIGHT", lua.LString("Copyright (C) 2012, Salvatore Sanfilippo"))
	t.RawSetString("_DESCRIPTION", lua.LString("MessagePack C implementation for Lua"))
	return t
}

// msgpackUnpack returns all values of a string.
func msgpackUnpack(c call) int { return c.unpackFrom(0, 0) }

// msgpackUnpackOne returns a value from an offset on, after the offset of the next, which
// is -1 if there is none.
func msgpackUnpackOne(c call) int { return c.unpackFrom(1, c.optInteger(2, 0)) }

func msgpackUnpackLimit(c call) int {
	limit := c.integer(2)
	return c.unpackFrom(limit, c.optInteger(3, 0))
}

// unpackFrom returns up to limit values from an offset on, after the offset of the next;
// all of them alone if both are 0.
func (c call) unpackFrom(limit, offset int64) int {
	s := c.text(1)
	c.L.SetTop(1)
	switch {
	case offset < 0 || limit < 0:
		c.errorf("Invalid request to unpack with offset of %d and limit of %d.", int32(offset), int32(len(s)))
	case offset > int64(len(s)):
		c.errorf("Start offset %d greater than input length %d.", int32(offset), int32(len(s)))
	}
	all := limit == 0 && offset == 0
	if all {
		limit = maxInt32
	}
	d := &msgpackDecoder{c: c, s: s[offset:]}
	var values []lua.LValue
	for int64(len(values)) < limit && d.s != "" {
		if len(values)+2 > maxStack {
			c.raise("stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)")
		}
		values = append(values, d.value())
	}
	if all {
		return c.push(values...)
	}
	next := len(s) - len(d.s)
	if d.s == "" {
		next = -1
	}
	return c.push(lua.LNumber(next)) + c.push(values...)
}
