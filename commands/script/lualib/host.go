package lualib

import lua "github.com/yuin/gopher-lua"

// A host is what the functions of one state share.
type host struct {
	m     Meter
	world *World
	// nested counts the calls from Go into Lua that have not returned.
	nested int
	// callers are the protected calls that have not returned, the innermost last.
	callers []caller
	// stacks are those that protected calls used and others can use again.
	stacks []*lua.LState
	// running are the coroutines that have been resumed and have not yielded, the current
	// one last.
	running []*lua.LState
	// create and resume are gopher-lua's functions for coroutines.
	create, resume lua.LGFunction

	json jsonConfig
}

// maxNested is how deeply calls from Go into Lua nest (pcall, resume, comparisons of sort
// and the like), as in Lua: LUAI_MAXCCALLS. Each nests Go's stack.
const maxNested = 200

// maxKept is how many stacks a host keeps.
const maxKept = 8

func (c call) enter() {
	if c.h.nested >= maxNested {
		c.raise("C stack overflow")
	}
	c.h.nested++
}

func (c call) leave() { c.h.nested-- }

// invoke calls a value that a script gave and returns its first result.
func (c call) invoke(f lua.LValue, args ...lua.LValue) lua.LValue {
	if !c.callable(f) {
		c.raise("attempt to call a " + f.Type().String() + " value")
	}
	c.enter()
	defer c.leave()
	c.L.Push(f)
	for _, a := range args {
		c.L.Push(a)
	}
	c.L.Call(len(args), 1)
	v := c.L.Get(-1)
	c.L.Pop(1)
	return v
}

func (c call) callable(f lua.LValue) bool {
	return f.Type() == lua.LTFunction || c.metaField(f, "__call").Type() == lua.LTFunction
}

func (c call) metaField(v lua.LValue, name string) lua.LValue {
	return c.L.GetMetaField(v, name)
}

// stack returns a stack for a protected call, with the context of the state itself: what
// NewThread would derive of that starts a goroutine, and does not count instructions.
func (c call) stack() *lua.LState {
	if n := len(c.h.stacks); n > 0 {
		th := c.h.stacks[n-1]
		c.h.stacks = c.h.stacks[:n-1]
		th.Env = c.L.Env
		if ctx := c.L.Context(); ctx != nil {
			th.SetContext(ctx)
		}
		return th
	}
	// Most protected calls need little room, and the stack grows.
	size := c.L.Options.RegistrySize
	c.L.Options.RegistrySize = min(size, firstStack)
	defer func() { c.L.Options.RegistrySize = size }()
	th := c.newThread()
	th.Options.RegistrySize = size
	return th
}

// firstStack is how many values a protected stack holds at first.
const firstStack = 256

// stackSize is about what a stack takes at first.
const stackSize = 32 << 10

// newThread returns a new stack, with the context of the state itself.
func (c call) newThread() *lua.LState {
	c.take(stackSize)
	ctx := c.L.Context()
	if ctx != nil {
		c.L.RemoveContext()
		defer c.L.SetContext(ctx)
	}
	th, _ := c.L.NewThread()
	if ctx != nil {
		th.SetContext(ctx)
	}
	return th
}

// keep takes a stack back whose call is over.
func (h *host) keep(th *lua.LState) {
	if len(h.stacks) < maxKept {
		th.SetTop(0)
		h.stacks = append(h.stacks, th)
	}
}
