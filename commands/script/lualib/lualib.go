package lualib

import (
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// A Meter bounds what a script uses. Its errors last, as doc.go says.
type Meter interface {
	// Step is called after n units of work, each about as long as an instruction of Lua.
	// An error ends the script.
	Step(n int) error
	// Take is called before so many bytes are allocated, other than the few of a single
	// value. An error ends the script, and nothing is allocated.
	Take(bytes int) error
}

// A World is what all states of an engine share.
type World struct {
	processorTime func() time.Duration
	random        generator // of math.random: it outlives the states, as in Redis
}

// NewWorld returns a world. processorTime returns the time that the process has spent
// computing, for os.clock.
func NewWorld(processorTime func() time.Duration) *World {
	w := &World{processorTime: processorTime}
	w.random.seed(firstSeed)
	return w
}

// A function is one of a library: it reads its arguments, pushes its results and returns
// their number.
type function func(c call) int

// A library is the functions of a table by their names.
type library map[string]function

// maxList bounds the elements of a list: those from there on do not count for its length.
// An assignment to an element makes all before it, in one instruction, which takes 32 MiB
// and a fraction of a second at this bound.
const maxList = 1 << 21

// boundLists sets gopher-lua's bound, which is one for all states.
var boundLists = sync.OnceFunc(func() { lua.MaxArrayIndex = maxList })

// Open installs the libraries as globals of a new state, each function bound to m and w.
func Open(L *lua.LState, m Meter, w *World) {
	boundLists()
	h := &host{m: m, world: w}
	for name, f := range baseLibrary() {
		L.SetGlobal(name, h.newFunction(L, f))
	}
	L.SetGlobal("_G", L.G.Global)
	L.SetGlobal("_VERSION", lua.LString(lua.LuaVersion))
	h.openConcat(L)
	h.openIterators(L)
	for name, lib := range map[string]library{
		"table": tableLibrary(), "bit": bitLibrary(),
		"struct": structLibrary(), "os": osLibrary(),
	} {
		L.SetGlobal(name, h.newLibrary(L, lib))
	}
	L.SetGlobal("cjson", h.newJSON(L, &h.json))
	L.SetGlobal("cmsgpack", h.newMsgpack(L))
	h.openCoroutine(L)
	h.openString(L)
	h.openMath(L)
}

func (h *host) newLibrary(L *lua.LState, lib library) *lua.LTable {
	t := L.CreateTable(0, len(lib))
	for name, f := range lib {
		t.RawSetString(name, h.newFunction(L, f))
	}
	return t
}

func (h *host) newFunction(L *lua.LState, f function) *lua.LFunction {
	return L.NewFunction(func(L *lua.LState) int { return f(call{L, h}) })
}
