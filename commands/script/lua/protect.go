package lua

import (
	glua "github.com/yuin/gopher-lua"

	"github.com/vigildb/vigil/commands/script/lualib"
)

// Scripts share a state, so that none may change what others see: the globals, the
// libraries and the metatable of strings. Lua 5.1 has no read-only tables. In place of
// each of these tables scripts get an empty one, which looks names up in the table behind
// it and refuses assignments. The functions that go around metatables know these tables.

// removed are the globals that scripts do not have.
var removed = []string{"dofile", "loadfile", "print", "module", "require", "_printregs", "channel", "io", "debug"}

// alias is Valkey's name for the table redis.
const alias = "server"

// protected is the read-only tables of a state, with the table behind each.
type protected map[*glua.LTable]*glua.LTable

// behind returns the table behind a read-only table; ok is false for other values.
func (p protected) behind(v glua.LValue) (t *glua.LTable, ok bool) {
	t, ok = v.(*glua.LTable)
	if !ok || t.Metatable == glua.LNil {
		return nil, false
	}
	t, ok = p[t]
	return t, ok
}

// protect makes everything in the state read-only.
func (s *state) protect() {
	s.protected = protected{}
	s.globals = s.G.Global
	for _, name := range removed {
		s.globals.RawSetString(name, glua.LNil)
	}
	s.guardFunctions()
	refuse := s.NewFunction(refuseChange)
	shown := s.NewTable() // what getmetatable returns
	s.hide(shown, s.NewTable(), refuse, shown)
	var libraries []string
	s.globals.ForEach(func(k, v glua.LValue) {
		if _, ok := v.(*glua.LTable); ok && v != s.globals {
			libraries = append(libraries, string(k.(glua.LString)))
		}
	})
	for _, name := range libraries {
		lib := s.globals.RawGetString(name).(*glua.LTable)
		if name == "string" {
			s.SetMetatable(glua.LString(""), s.metatable(lib, refuse, shown))
		}
		view := s.NewTable()
		s.hide(view, lib, refuse, shown)
		s.globals.RawSetString(name, view)
	}
	s.globals.RawSetString(alias, s.globals.RawGetString("redis"))
	s.view = s.NewTable()
	s.hide(s.view, s.globals, refuse, shown)
	s.index, s.used = s.view.Metatable.(*glua.LTable), s.globals
	missing := s.NewTable()
	missing.RawSetString("__index", s.NewFunction(missingGlobal))
	s.globals.Metatable = missing
	s.globals.RawSetString("_G", s.view)
	s.globalsOfFunctions(refuse, shown)
	s.keys, s.args = s.NewTable(), s.NewTable()
	s.globals.RawSetString("KEYS", s.keys)
	s.globals.RawSetString("ARGV", s.args)
	s.reset()
}

// ofScripts are the functions of redis that functions do not have, and ofLibraries what
// there is of it while a library is loaded.
var (
	ofScripts   = []string{"breakpoint", "debug", "replicate_commands"}
	ofLibraries = []string{"register_function", "log", "LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING", "REDIS_VERSION", "REDIS_VERSION_NUM"}
)

// globalsOfFunctions makes the globals of functions and those of libraries.
func (s *state) globalsOfFunctions(refuse *glua.LFunction, shown *glua.LTable) {
	scripts, _ := s.behind(s.globals.RawGetString("redis"))
	functions, libraries := s.NewTable(), s.NewTable()
	scripts.ForEach(functions.RawSet)
	for _, name := range ofScripts {
		functions.RawSetString(name, glua.LNil)
	}
	for _, name := range ofLibraries {
		libraries.RawSetString(name, scripts.RawGetString(name))
	}
	scripts.RawSetString("register_function", glua.LNil)
	functions.RawSetString("register_function", glua.LNil)
	libraries.Metatable = s.globals.Metatable

	s.functions, s.loading = s.NewTable(), s.NewTable()
	s.globals.ForEach(s.functions.RawSet)
	for globals, redis := range map[*glua.LTable]*glua.LTable{s.functions: functions, s.loading: libraries} {
		globals.Metatable = s.globals.Metatable
		view := s.NewTable()
		s.hide(view, redis, refuse, shown)
		globals.RawSetString("redis", view)
		globals.RawSetString(alias, view)
	}
}

// use lets scripts see other globals.
func (s *state) use(globals *glua.LTable) {
	if s.used != globals {
		s.index.RawSetString("__index", globals)
		s.protected[s.view] = globals
		s.used = globals
	}
}

// reset gives the state its environment again, which setfenv can change.
func (s *state) reset() {
	s.Env, s.G.Global = s.view, s.view
}

// hide makes view a read-only table with t behind it.
func (s *state) hide(view, t *glua.LTable, refuse *glua.LFunction, shown *glua.LTable) {
	view.Metatable = s.metatable(t, refuse, shown)
	s.protected[view] = t
}

func (s *state) metatable(index *glua.LTable, refuse *glua.LFunction, shown *glua.LTable) *glua.LTable {
	m := s.NewTable()
	m.RawSetString("__index", index)
	m.RawSetString("__newindex", refuse)
	m.RawSetString("__metatable", shown)
	return m
}

// missingGlobal is called for a global that does not exist.
func missingGlobal(L *glua.LState) int {
	name, ok := lualib.Text(L.Get(2))
	if !ok {
		name = L.Get(2).String()
	}
	L.RaiseError(errGlobal, name)
	return 0
}

func refuseChange(L *glua.LState) int {
	L.RaiseError(errReadOnly)
	return 0
}

// guardFunctions wraps the functions that go around metatables: those that change a
// table refuse read-only ones, and those that read use the table behind.
func (s *state) guardFunctions() {
	wrap := func(t *glua.LTable, name string, wrapper func(glua.LGFunction) glua.LGFunction) {
		if fn, ok := t.RawGetString(name).(*glua.LFunction); ok && fn.GFunction != nil {
			t.RawSetString(name, s.NewFunction(wrapper(fn.GFunction)))
		}
	}
	wrap(s.globals, "rawset", s.refuses)
	wrap(s.globals, "setmetatable", s.refuses)
	if t, ok := s.globals.RawGetString("table").(*glua.LTable); ok {
		for _, name := range []string{"insert", "remove", "sort", "setn"} {
			wrap(t, name, s.refuses)
		}
	}
	wrap(s.globals, "rawget", s.looksBehind)
	wrap(s.globals, "next", s.looksBehind)
	next := s.globals.RawGetString("next")
	wrap(s.globals, "pairs", func(glua.LGFunction) glua.LGFunction {
		return func(L *glua.LState) int {
			t := L.CheckTable(1)
			L.Push(next)
			L.Push(t)
			L.Push(glua.LNil)
			return 3
		}
	})
}

func (s *state) refuses(fn glua.LGFunction) glua.LGFunction {
	return func(L *glua.LState) int {
		if _, ok := s.behind(L.Get(1)); ok {
			L.Error(glua.LString(errReadOnly), 0)
		}
		return fn(L)
	}
}

func (s *state) looksBehind(fn glua.LGFunction) glua.LGFunction {
	return func(L *glua.LState) int {
		if t, ok := s.behind(L.Get(1)); ok {
			L.Replace(1, t)
		}
		return fn(L)
	}
}
