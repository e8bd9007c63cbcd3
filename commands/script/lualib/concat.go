package lualib

import lua "github.com/yuin/gopher-lua"

// concatName is the variable of compiled scripts with the function that joins values, a
// name that no script can write, and its key in the registry.
const concatName = "(concat)"

func (h *host) openConcat(L *lua.LState) {
	L.G.Registry.RawSetString(concatName, h.newFunction(L, concat))
}

// concat is the operator "..", of any number of operands: the last two are joined first.
// gopher-lua's own writes numbers in another form, and joins 200 strings of any length in
// one instruction, whatever memory that takes.
func concat(c call) int {
	values := c.arguments(1)
	for len(values) > 1 {
		n := len(values)
		if run := joinable(values); run > 1 {
			values = append(values[:n-run], c.join(values[n-run:]))
			continue
		}
		values = append(values[:n-2], c.concatMeta(values[n-2], values[n-1]))
	}
	return c.push(values[0])
}

// joinable returns how many values at the end are strings or numbers.
func joinable(values []lua.LValue) int {
	n := 0
	for n < len(values) && lua.LVCanConvToString(values[len(values)-1-n]) {
		n++
	}
	return n
}

func (c call) join(values []lua.LValue) lua.LValue {
	texts := make([]string, len(values))
	size := 0
	for i, v := range values {
		texts[i], _ = toText(v)
		size += len(texts[i])
	}
	c.step(1 + size/1024)
	out := buffer{c: c}
	out.reserve(size)
	for _, text := range texts {
		out.add(text)
	}
	return lua.LString(out.text())
}

func (c call) concatMeta(a, b lua.LValue) lua.LValue {
	f := c.metaField(a, "__concat")
	if f == lua.LNil {
		f = c.metaField(b, "__concat")
	}
	if f != lua.LNil {
		return c.invoke(f, a, b)
	}
	if lua.LVCanConvToString(a) {
		a = b
	}
	c.raise("attempt to concatenate a " + a.Type().String() + " value")
	return nil
}
