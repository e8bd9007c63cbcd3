package lualib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func baseLoadString(c call) int {
	source := c.text(1)
	return c.compile(source, chunkName(c.optText(2, source)))
}

// baseLoad calls a function for pieces of source until it returns nil or nothing.
func baseLoad(c call) int {
	name := c.optText(2, "=(load)")
	f := c.function(1)
	var source strings.Builder
	for {
		v := c.invoke(f)
		if v == lua.LNil {
			break
		}
		piece, ok := toText(v)
		if !ok {
			return c.push(lua.LNil, lua.LString("reader function must return a string"))
		}
		if piece == "" {
			break
		}
		c.take(len(piece))
		source.WriteString(piece)
	}
	return c.compile(source.String(), chunkName(name))
}

// compile pushes a function with the globals of the state, or nil and what is wrong.
func (c call) compile(source, name string) int {
	proto, err := Compile(source, name, c.h.m)
	if err != nil {
		return c.push(lua.LNil, lua.LString(err.Error()))
	}
	return c.push(Function(c.L, proto))
}

// chunkName returns how a chunk is called in errors. A name after "=" or "@" stands as it
// is, but for its length; other names are sources: the start of the first line is
// shown. The lengths are those of Lua, whose buffer has 60 bytes.
func chunkName(name string) string {
	name, _, _ = strings.Cut(name, "\x00")
	switch {
	case strings.HasPrefix(name, "="):
		return name[1:min(len(name), 60)]
	case strings.HasPrefix(name, "@"):
		if name = name[1:]; len(name) > 52 {
			name = "..." + name[len(name)-52:]
		}
		return name
	}
	line := name
	if i := strings.IndexAny(line, "\n\r"); i >= 0 {
		line = line[:i]
	}
	if line = line[:min(len(line), 43)]; len(line) < len(name) {
		line += "..."
	}
	return `[string "` + line + `"]`
}
