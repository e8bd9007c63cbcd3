package lualib

import (
	"slices"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// constantsOfTests are a global, and a function with one that does the same for statements.
var constantsOfTests = []Constant{{Global: "KEYS"}, {Global: "r", Field: "call"}, {Global: "r", Field: "call", Statement: true}}

// TestConstantsAreLiftedWhereNothingElseHasTheName tells by what a script calls whether the
// names in it stand for constants: the globals of the state are other functions.
func TestConstantsAreLiftedWhereNothingElseHasTheName(t *testing.T) {
	for source, want := range map[string][]string{
		"r.call(1)":                                                     {"statement"},
		"return r.call(1)":                                              {"constant"},
		"local x = r.call(1)":                                           {"constant"},
		"local x = {r.call(1)}":                                         {"constant"},
		"r.call(r.call(1))":                                             {"constant", "statement"},
		"if r.call(1) then r.call(2) end":                               {"constant", "statement"},
		"for i = 1, 2 do r.call(i) end":                                 {"statement", "statement"},
		"local function f() r.call(1) end f()":                          {"statement"},
		"local f = r.call f(1) local x = f(2)":                          {"statement", "constant"},
		"local f, g = r.call, 1 f(1)":                                   {"statement"},
		"local f = r.call local function g() f(1) end g()":              {"statement"},
		"local f = r.call f = other f(1)":                               {"other"},
		"local f = r.call do local f = other f(1) end":                  {"other"},
		"local f = r.call; (function(f) f(1) end)(other)":               {"other"},
		"do local f = r.call f(1) end":                                  {"constant"},
		"local f = other f(1)":                                          {"other"},
		"r['call'](1)":                                                  {"statement"},
		"local n = 'call' r[n](1)":                                      {"global"},
		"local r = {call = other} r.call(1)":                            {"other"},
		"local function f(r) r.call(1) end f({call = other}) r.call(2)": {"other", "global"},
		"for _, r in pairs({{call = other}}) do r.call(1) end":          {"other"},
		"for r = 1, 1 do end r.call(1)":                                 {"global"},
		"function f(r) end r.call(1)":                                   {"global"},
		"r = {call = other} r.call(1)":                                  {"other"},
		"r.call = other r.call(1)":                                      {"statement"},
		"function r.call() other() end r.call(1)":                       {"statement"},
		"_G.r = {call = other} r.call(1)":                               {"other"},
		"loadstring('r = {call = other}')() r.call(1)":                  {"other"},
		"r.call(KEYS)":                                                  {"statement", "lifted"},
		"r.call(KEYS) local KEYS":                                       {"statement", "global keys"},
		"local x = KEYS r.call(x)":                                      {"statement", "lifted"},
		"return pcall(r.call, 1)":                                       {"constant"},
		"local t = {call = other} t.call(1) t:call()":                   {"other", "other"},
	} {
		var got []string
		m := &budget{1 << 30, 1 << 30}
		L := newState(m)
		says := func(word string) *lua.LFunction {
			return L.NewFunction(func(L *lua.LState) int {
				got = append(got, word)
				if text, ok := L.Get(1).(lua.LString); ok {
					got = append(got, string(text))
				}
				L.Push(lua.LTrue)
				return 1
			})
		}
		table := L.NewTable()
		table.RawSetString("call", says("global"))
		L.SetGlobal("r", table)
		L.SetGlobal("other", says("other"))
		L.SetGlobal("KEYS", lua.LString("global keys"))
		proto, err := Compile(source, "test", m, constantsOfTests...)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		L.Push(Function(L, proto, lua.LString("lifted"), says("constant"), says("statement")))
		if err := L.PCall(0, 0, nil); err != nil {
			t.Errorf("%s: %v", source, err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: called %q, want %q", source, got, want)
		}
	}
}

// TestErrorsNameTheLineOfALiftedName looks at the place of an error in a lifted function.
func TestErrorsNameTheLineOfALiftedName(t *testing.T) {
	m := &budget{1 << 30, 1 << 30}
	L := newState(m)
	proto, err := Compile("local x\n\nx = r.call(\n1)", "test", m, constantsOfTests...)
	if err != nil {
		t.Fatal(err)
	}
	fail := L.NewFunction(func(L *lua.LState) int { L.RaiseError("wrong"); return 0 })
	L.Push(Function(L, proto, lua.LNil, fail, fail))
	if err := L.PCall(0, 0, nil); err == nil || err.(*lua.ApiError).Object.String() != "test:3: wrong" {
		t.Errorf("got %v, want test:3: wrong", err)
	}
}
