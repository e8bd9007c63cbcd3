package lualib

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

func coroutineLibrary() library {
	return library{
		"create":  coroutineCreate,
		"resume":  coroutineResume,
		"running": coroutineRunning,
		"status":  func(c call) int { return c.pushText(c.status(c.thread(1))) },
		"wrap":    coroutineWrap,
		"yield":   coroutineYield,
	}
}

func (c call) thread(n int) *lua.LState {
	th, ok := c.L.Get(n).(*lua.LState)
	if !ok {
		c.argError(n, "coroutine expected")
	}
	return th
}

// openCoroutine installs the library. Two of gopher-lua's functions do the work: they can
// be had only by opening its library first.
func (h *host) openCoroutine(L *lua.LState) {
	L.Push(L.NewFunction(lua.OpenCoroutine))
	L.Call(0, 1)
	own := L.Get(-1).(*lua.LTable)
	L.Pop(1)
	h.create = own.RawGetString("create").(*lua.LFunction).GFunction
	h.resume = own.RawGetString("resume").(*lua.LFunction).GFunction
	L.SetGlobal("coroutine", h.newLibrary(L, coroutineLibrary()))
}

// coroutineCreate makes a coroutine that has the context of the state itself: see newThread.
func coroutineCreate(c call) int {
	f, ok := c.L.Get(1).(*lua.LFunction)
	if !ok || f.IsG {
		c.argError(1, "Lua function expected")
	}
	c.take(stackSize)
	ctx := c.L.Context()
	if ctx == nil {
		return c.h.create(c.L)
	}
	c.L.RemoveContext()
	defer c.L.SetContext(ctx)
	n := c.h.create(c.L)
	c.L.Get(-1).(*lua.LState).SetContext(ctx)
	return n
}

func (c call) status(th *lua.LState) string {
	n := len(c.h.running)
	switch {
	case n > 0 && c.h.running[n-1] == th:
		return "running"
	case th.Dead:
		return "dead"
	case slices.Contains(c.h.running, th):
		return "normal"
	}
	return "suspended"
}

func coroutineRunning(c call) int {
	if n := len(c.h.running); n > 0 {
		return c.push(c.h.running[n-1])
	}
	return c.push(lua.LNil)
}

// resume goes on with a coroutine and returns what it yields or returns, or the value of
// its error.
func (c call) resume(th *lua.LState, args []lua.LValue) (results []lua.LValue, failed lua.LValue) {
	if status := c.status(th); status != "suspended" {
		return nil, lua.LString("cannot resume " + status + " coroutine")
	}
	c.enter()
	defer c.leave()
	current := c.L.G.CurrentThread
	c.h.running = append(c.h.running, th)
	defer func() {
		c.h.running = c.h.running[:len(c.h.running)-1]
		c.L.G.CurrentThread = current
	}()
	c.L.SetTop(0)
	c.push(th)
	c.push(args...)
	n := c.h.resume(c.L)
	for i := c.L.GetTop() - n + 1; i <= c.L.GetTop(); i++ {
		results = append(results, c.L.Get(i))
	}
	if lua.LVAsBool(results[0]) {
		return results[1:], nil
	}
	return nil, results[1]
}

func coroutineResume(c call) int {
	results, failed := c.resume(c.thread(1), c.arguments(2))
	if failed != nil {
		return c.push(lua.LFalse, failed)
	}
	return c.push(lua.LTrue) + c.push(results...)
}

// coroutineWrap returns a function that resumes, whose errors get the place of its call
// before their own.
func coroutineWrap(c call) int {
	coroutineCreate(c)
	th := c.L.Get(-1).(*lua.LState)
	return c.push(c.h.newFunction(c.L, func(c call) int {
		results, failed := c.resume(th, c.arguments(1))
		if failed != nil {
			if text, ok := toText(failed); ok {
				c.raise(text)
			}
			c.L.Error(failed, 0)
		}
		return c.push(results...)
	}))
}

// coroutineYield refuses to yield where Go stands between the coroutine and its resume:
// in a metamethod, in an iterator, in a function that sort or gsub calls.
func coroutineYield(c call) int {
	n := len(c.h.running)
	if n == 0 || c.h.running[n-1] != c.L || !c.calledByScript() {
		c.L.Error(lua.LString("attempt to yield across metamethod/C-call boundary"), 0)
	}
	return -1
}

// calledByScript says whether each function on the stack was called by an instruction that
// calls, and the running one, on top, not in place of another. Of functions that were
// called so by a metamethod that is not known.
func (c call) calledByScript() bool {
	for level := 0; ; level++ {
		d, ok := c.L.GetStack(level)
		if !ok {
			return true
		}
		if _, err := c.L.GetInfo("Sn", d, lua.LNil); err != nil {
			return false
		}
		switch {
		case d.What == "main":
			return level > 0
		case level == 0 && (!marked(d.Name) || d.Name[0] == tailMark):
			return false
		case d.What == "G" && level > 0 || d.What == "Lua" && !marked(d.Name):
			return false
		}
	}
}
