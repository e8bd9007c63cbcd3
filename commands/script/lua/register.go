package lua

import (
	"strings"

	glua "github.com/yuin/gopher-lua"
)

// loading is the library whose source runs, and what it has registered.
type loading struct {
	library   *Library
	functions []*Function
	bytes     int
}

// redisRegister is redis.register_function: a name and a function, or one table with
// these and more.
func (e *Engine) redisRegister(L *glua.LState) int {
	r := e.current.Load()
	if r == nil || r.loading == nil {
		raise(L, errRegisterOutside)
	}
	f := &Function{library: r.loading.library}
	f.Declared = true
	switch L.GetTop() {
	case 1:
		f.readNamed(L)
	case 2:
		f.readPositional(L)
	default:
		raise(L, errRegisterCount)
	}
	if !validName(f.Name) {
		raise(L, errName)
	}
	for _, other := range r.loading.functions {
		if other.Name == f.Name {
			raise(L, errRegisterTwice)
		}
	}
	if r.loading.bytes += f.size(); r.loading.bytes > MaxSource {
		raise(L, errRegisterSize)
	}
	r.loading.functions = append(r.loading.functions, f)
	return 0
}

func (f *Function) readPositional(L *glua.LState) {
	name := L.Get(1)
	if !glua.LVCanConvToString(name) {
		raise(L, "first argument to redis.register_function must be a string")
	}
	fn, ok := L.Get(2).(*glua.LFunction)
	if !ok {
		raise(L, "second argument to redis.register_function must be a function")
	}
	f.Name, f.fn = name.String(), fn
}

func (f *Function) readNamed(L *glua.LState) {
	t, ok := L.Get(1).(*glua.LTable)
	if !ok {
		raise(L, errRegisterTable)
	}
	named := false
	for k, v := t.Next(glua.LNil); k != glua.LNil; k, v = t.Next(k) {
		if !glua.LVCanConvToString(k) {
			raise(L, "named argument key given to redis.register_function is not a string")
		}
		switch key := strings.ToLower(k.String()); key {
		case "function_name":
			f.Name, named = text(L, key, v), true
		case "description":
			description := text(L, key, v)
			f.Description = &description
		case "callback":
			if f.fn, ok = v.(*glua.LFunction); !ok {
				raise(L, "callback argument given to redis.register_function must be a function")
			}
		case "flags":
			f.readFlags(L, v)
		default:
			raise(L, "unknown argument given to redis.register_function")
		}
	}
	switch {
	case !named:
		raise(L, "redis.register_function must get a function name argument")
	case f.fn == nil:
		raise(L, "redis.register_function must get a callback argument")
	}
}

// text returns an argument that must be a string.
func text(L *glua.LState, key string, v glua.LValue) string {
	if !glua.LVCanConvToString(v) {
		raise(L, key+" argument given to redis.register_function must be a string")
	}
	return v.String()
}

func (f *Function) readFlags(L *glua.LState, v glua.LValue) {
	t, ok := v.(*glua.LTable)
	if !ok {
		raise(L, "flags argument to redis.register_function must be a table representing function flags")
	}
	for i := 1; ; i++ {
		v := t.RawGetInt(i)
		if v == glua.LNil {
			return
		}
		if !glua.LVCanConvToString(v) || !f.add(strings.ToLower(v.String())) {
			raise(L, "unknown flag given")
		}
	}
}
