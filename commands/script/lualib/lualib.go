package lualib

import lua "github.com/yuin/gopher-lua"

// A Meter bounds what a script uses. Its errors last, as doc.go says.
type Meter interface {
	// Step is called after n units of work, each about as long as an instruction of Lua.
	// An error ends the script.
	Step(n int) error
	// Take is called before so many bytes are allocated, other than the few of a single
	// value. An error ends the script, and nothing is allocated.
	Take(bytes int) error
}

// A function is one of a library: it reads its arguments, pushes its results and returns
// their number.
type function func(c call) int

// A library is the functions of a table by their names.
type library map[string]function

// Open installs the libraries as globals of a new state, each function bound to m.
func Open(L *lua.LState, m Meter) {
	for name, lib := range libraries() {
		L.SetGlobal(name, newLibrary(L, m, lib))
	}
}

func libraries() map[string]library {
	return map[string]library{"bit": bitLibrary()}
}

func newLibrary(L *lua.LState, m Meter, lib library) *lua.LTable {
	t := L.CreateTable(0, len(lib))
	for name, f := range lib {
		t.RawSetString(name, newFunction(L, m, f))
	}
	return t
}

func newFunction(L *lua.LState, m Meter, f function) *lua.LFunction {
	return L.NewFunction(func(L *lua.LState) int { return f(call{L, m}) })
}
