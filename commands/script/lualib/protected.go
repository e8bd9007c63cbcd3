package lualib

import lua "github.com/yuin/gopher-lua"

// A caller is a stack and the one whose call of pcall it runs.
type caller struct{ inner, outer *lua.LState }

// thrown is what Go panics with when Lua raises an error on a protected stack.
type thrown struct{ v lua.LValue }

// protect calls f and returns its results, or the value of the error.
//
// The call runs on a stack of its own. gopher-lua detaches all variables that closures
// share with a stack when an error is raised there, those of functions that go on as
// well: "local x = 1; local function f() x = 2 end; pcall(error); f()" would leave x at 1.
func (c call) protect(f lua.LValue, args []lua.LValue) (results []lua.LValue, failed lua.LValue) {
	if !c.callable(f) {
		return nil, lua.LString("attempt to call a " + f.Type().String() + " value")
	}
	c.enter()
	defer c.leave()
	th := c.stack()
	c.h.callers = append(c.h.callers, caller{th, c.L})
	defer func() { c.h.callers = c.h.callers[:len(c.h.callers)-1] }()
	th.Push(f)
	for _, a := range args {
		th.Push(a)
	}
	if failed = attempt(th, f, len(args)); failed != nil {
		return nil, failed
	}
	for i := 1; i <= th.GetTop(); i++ {
		results = append(results, th.Get(i))
	}
	c.h.keep(th)
	return results, nil
}

// attempt calls the function on a stack and returns the value of its error, or nil. After
// an error the stack cannot be used again. gopher-lua's PCall is not called: it describes
// the stack after each error, which takes seconds for a deep one.
func attempt(th *lua.LState, f lua.LValue, args int) (failed lua.LValue) {
	th.Panic = func(L *lua.LState) { panic(thrown{L.Get(-1)}) }
	defer func() {
		switch r := recover().(type) {
		case nil:
		case thrown:
			failed = r.v
		case string: // gopher-lua panics so when the calls are too many
			detach(th)
			failed = lua.LString(placeOf(f) + "stack overflow")
		default:
			panic(r)
		}
	}()
	th.Call(args, lua.MultRet)
	return nil
}

// detach detaches the variables that closures share with a stack, as raising an error does.
func detach(th *lua.LState) {
	defer func() { _ = recover() }()
	th.Error(lua.LTrue, 0)
}

// placeOf returns where a function is defined.
func placeOf(f lua.LValue) string {
	if f, ok := f.(*lua.LFunction); ok && !f.IsG {
		return place(f.Proto.SourceName, f.Proto.LineDefined)
	}
	return ""
}

// basePCall is Redis's: of an error that is a table with a text as "err" it returns that,
// of another table the table and what that has there.
func basePCall(c call) int {
	if c.L.GetTop() == 0 {
		return c.push(lua.LFalse, lua.LString("attempt to call a boolean value"))
	}
	results, failed := c.protect(c.L.Get(1), c.arguments(2))
	if failed == nil {
		return c.push(lua.LTrue) + c.push(results...)
	}
	t, ok := failed.(*lua.LTable)
	if !ok {
		return c.push(lua.LFalse, failed)
	}
	err := c.L.GetField(t, "err")
	if _, ok := toText(err); ok {
		return c.push(lua.LFalse, err)
	}
	return c.push(lua.LFalse, t, err)
}

// baseXPCall calls the handler after the stack of the failed call is gone: without the
// library debug it could not look at that.
func baseXPCall(c call) int {
	c.any(2)
	results, failed := c.protect(c.L.Get(1), nil)
	if failed == nil {
		return c.push(lua.LTrue) + c.push(results...)
	}
	handled, broken := c.protect(c.L.Get(2), []lua.LValue{failed})
	switch {
	case broken != nil:
		return c.push(lua.LFalse, broken)
	case len(handled) == 0:
		return c.push(lua.LFalse, lua.LNil)
	}
	return c.push(lua.LFalse, handled[0])
}

// arguments returns the arguments from the n-th on.
func (c call) arguments(n int) []lua.LValue {
	var args []lua.LValue
	for ; n <= c.L.GetTop(); n++ {
		args = append(args, c.L.Get(n))
	}
	return args
}
