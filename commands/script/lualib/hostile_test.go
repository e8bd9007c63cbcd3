package lualib

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// A watch is a meter and a context that fail for good once a time is over or so many bytes
// have been taken, as the engine's does.
type watch struct {
	context.Context
	expired atomic.Bool
	bytes   int
}

func (w *watch) Step(int) error {
	if w.expired.Load() {
		return errBudget
	}
	return nil
}

func (w *watch) Take(n int) error {
	if w.bytes -= n; n < 0 || w.bytes < 0 {
		w.expired.Store(true)
	}
	return w.Step(1)
}

// Done is asked before each instruction.
func (w *watch) Done() <-chan struct{} {
	if w.expired.Load() {
		return closed
	}
	return nil
}

func (w *watch) Err() error { return errBudget }

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// runWithin runs a script for so long and with so many bytes, and returns how it failed.
func runWithin(t *testing.T, limit time.Duration, bytes int, source string) string {
	t.Helper()
	L := lua.NewState(lua.Options{
		SkipOpenLibs: true, MinimizeStackMemory: true, CallStackSize: 16000,
		RegistrySize: 4 << 10, RegistryMaxSize: 256 << 10, RegistryGrowStep: 4 << 10,
	})
	defer L.Close()
	w := &watch{Context: context.Background(), bytes: bytes}
	L.SetContext(w)
	Open(L, w, NewWorld(processorTime))
	proto, err := Compile(source, "user_script", w)
	if err != nil {
		return err.Error()
	}
	handler := L.NewFunction(func(L *lua.LState) int { return 1 })
	L.Push(Function(L, proto))
	defer time.AfterFunc(limit, func() { w.expired.Store(true) }).Stop()
	if err := L.PCall(0, 1, handler); err != nil {
		return err.Error()
	}
	return "ended"
}

// TestHostileScriptsEnd has scripts that would run for ever or take all memory. Each ends
// soon after its time is over, by the processor time that it takes: a busy machine adds to
// the time of the clock.
func TestHostileScriptsEnd(t *testing.T) {
	for _, script := range []string{
		"while true do end",
		"while true do pcall(function() while true do end end) end",
		"local function f() return pcall(f) end while true do f() end",
		"while true do xpcall(function() while true do end end, function() while true do end end) end",
		"while true do pcall(string.rep, 'x', 2^31 - 1) end",
		"local s = 'x' while true do s = s .. s end",
		"local s = string.rep('x', 1e7) return " + strings.Repeat("s .. ", 150) + "s",
		"local s = string.rep('x', 2^31 - 1)",
		"local t = {} while true do t[#t + 1] = string.rep('x', 1e6) end",
		"return string.find(string.rep('a', 28), string.rep('a?', 28) .. string.rep('a', 28))",
		"return string.find(string.rep('a', 1e6), '.-.-.-.-b')",
		"return string.match(string.rep('a', 1e6), '.*.*.*b')",
		"return string.gsub(string.rep('a', 1e5), '.-b', '')",
		"return string.gsub(string.rep('a', 1e4), '', string.rep('x', 1e6))",
		"return string.gsub(string.rep('a', 1e6), '.', string.rep('%0', 1e4))",
		"for w in string.gmatch(string.rep('a', 1e6), '(.-)%1b') do end",
		"return string.find(string.rep('(', 1e6), string.rep('%b()', 5))",
		"return string.match(string.rep('a', 1e5), '[' .. string.rep('b', 1e5) .. ']*c')",
		"while true do string.format('%99.99f', 1e300) end",
		"return table.concat({string.rep('x', 1e7), 'y'}, string.rep('y', 1e9))",
		"local t = {} for i = 1, 1000 do t[i] = string.rep('x', 1e6) end return table.concat(t)",
		"local t = {} for i = 1, 1e5 do t[i] = i end while true do pcall(table.sort, t, function() return true end) end",
		"local t = {} for i = 1, 1e6 do t[i] = -i end while true do table.sort(t) end",
		"local t = {} for i = 1, 1e5 do t[i] = i end while true do table.insert(t, 1, 0) table.remove(t, 1) end",
		"local t = {} while true do table.insert(t, -2^31, 0) end",
		"local t = {} for i = 1, 1000 do t[i] = {} rawset(t[i], 2000000, 1) end",
		"local t = {} for i = 1, 1000 do t[i] = {} t[i][2000000] = 1 end",
		"local t = {} for i = 1, 1000 do t[i] = {} table.insert(t[i], 2000000, 1) end",
		"local t = {} t.t = t while true do pcall(cjson.encode, t) end",
		"cjson.encode_max_depth(1e9) local t = {} t.t = t while true do pcall(cjson.encode, t) end",
		"cjson.encode_sparse_array(false, 0) return cjson.encode({[2^31 - 1] = 1})",
		"while true do pcall(cjson.decode, string.rep('[', 1e6)) end",
		"return cjson.decode('[' .. string.rep('[],', 1e7) .. '1]')",
		"return cjson.decode('[' .. string.rep('{\"a\":1},', 1e7) .. '1]')",
		"local s = string.rep('\\\\u0041', 1e6) while true do cjson.decode('\"' .. s .. '\"') end",
		"local t = {} for i = 1, 20 do t = {t, t, t, t} end return cjson.encode(t)",
		"local t = {1} for i = 1, 15 do t = {t, t, t, t, t, t, t, t} end return cmsgpack.pack(t)",
		"return cmsgpack.unpack('\\221\\255\\255\\255\\255' .. string.rep('\\1', 1e7))",
		"while true do pcall(cmsgpack.unpack, string.rep('\\145', 1e7)) end",
		"while true do pcall(cmsgpack.unpack, string.rep('\\129', 1e5)) end",
		"while true do struct.pack(string.rep('!1073741824 x', 1e5)) end",
		"while true do pcall(struct.unpack, string.rep('!', 1e6), 'x') end",
		"while true do pcall(unpack, {}, 1, 8e6) end",
		"while true do unpack({}, 1, 7000) end",
		"while true do coroutine.wrap(function() while true do coroutine.yield() end end)() end",
		"local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
		"local function f() return coroutine.wrap(f)() end while true do pcall(f) end",
		"local function f() return 1 + f() end while true do pcall(f) end",
		"local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) while true do pcall(function() return t[1] end) end",
		"local t = setmetatable({}, {__lt = function() while true do end end}) table.sort({t, t, t})",
		"local t = setmetatable({}, {__tostring = function() while true do end end}) while true do pcall(tostring, t) end",
		"local t = setmetatable({}, {__concat = function(a, b) return a .. b end}) while true do pcall(function() return t .. t end) end",
		"while true do loadstring('return ' .. string.rep('{', 199) .. string.rep('}', 199)) end",
		"while true do loadstring(string.rep('x = 1 ', 1e5)) end",
		"return load(function() return 'x = 1 ' end)",
		"while true do pcall(error, string.rep('x', 1e5)) end",
		"for k in pairs(setmetatable({}, {})) do end while true do next({}) end",
		"while true do table.sort({3, 2, 1}, pcall) end",
	} {
		begun := processorTime()
		got := runWithin(t, 50*time.Millisecond, 256<<20, script)
		if !strings.Contains(got, errBudget.Error()) {
			t.Errorf("%s: ended with %.100s, want %s", script, got, errBudget)
		}
		if took := processorTime() - begun; took > 5*time.Second { // page faults of 256 MB take long on a busy machine
			t.Errorf("%s: took %v", script, took)
		}
	}
}

func TestSourcesThatNestTooDeeplyAreRefused(t *testing.T) {
	const n = 100_000
	for _, source := range []string{
		"return " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"return " + strings.Repeat("{", n) + strings.Repeat("}", n),
		"return " + strings.Repeat("-", 1) + strings.Repeat(" -", n) + "1",
		"return " + strings.Repeat("not ", n) + "1",
		"return " + strings.Repeat("#", n) + "x",
		"return " + strings.Repeat("2^", n) + "1",
		"return " + strings.Repeat("'x'..", n) + "1",
		"return " + strings.Repeat("1+", n) + "1",
		"return " + strings.Repeat("x and ", n) + "x",
		"return x" + strings.Repeat(".x", n),
		"return x" + strings.Repeat("[1]", n),
		"return x" + strings.Repeat("()", n),
		"return x" + strings.Repeat("'y'", n),
		"return x" + strings.Repeat("{}", n),
		strings.Repeat("do ", n) + strings.Repeat("end ", n),
		strings.Repeat("if x then ", n) + strings.Repeat("end ", n),
		"if x then " + strings.Repeat("elseif x then ", n) + "end",
		strings.Repeat("while x do ", n) + strings.Repeat("end ", n),
		strings.Repeat("repeat ", n) + strings.Repeat("until x ", n),
		strings.Repeat("function f() ", n) + strings.Repeat("end ", n),
		"return " + strings.Repeat("function() return ", n) + strings.Repeat(" end", n),
	} {
		got := runWithin(t, time.Minute, 1<<30, source)
		if got != "user_script:1: chunk has too many syntax levels" {
			t.Errorf("%.40s...: %.100s", source, got)
		}
	}
}

// TestLongSourcesAreNotTooDeep has sources that are long without nesting.
func TestLongSourcesAreNotTooDeep(t *testing.T) {
	const n = 3000
	for _, source := range []string{
		strings.Repeat("x = -1 y = 'a' .. 'b' f = {(1)} ", n),
		"local x = {" + strings.Repeat("-1, (2), {3}, 'a' .. 'b', not x, #'y', 2^2, ", n) + "}",
		"local x, f = nil, tostring\n" + strings.Repeat("f(-1)\nf'x'\nf{}\n", n),
		"local x = -1 " + strings.Repeat("if x == -1 then x = -1 elseif x == 2 then x = 1 else x = 2 end ", n),
		"local x = 1 " + strings.Repeat("for i = 1, 1 do x = x end while x == 0 do break end repeat until x ", n),
		"return " + strings.Repeat("-1 == -1 and ", n) + "1",
		"return " + strings.Repeat("-1 + ", n) + "1",
		strings.Repeat("-- ((((((((\n", n) + "--[[ ((((( ]] return [==[ (((( ]] ((( ]==] .. '((((\\'((' .. \"((((\\\"\"",
		"local t = {f = function(self) return self end} return t" + strings.Repeat(":f()", 150),
	} {
		if got := runWithin(t, time.Minute, 1<<30, source); got != "ended" {
			t.Errorf("%.60s...: %.200s", source, got)
		}
	}
}

// TestStacksStartNoGoroutines: gopher-lua derives a context for a new stack, which starts a
// goroutine until the context of the state is done.
func TestStacksStartNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	script := "for i = 1, 100 do pcall(error) coroutine.wrap(function() coroutine.yield() end)() end"
	if got := runWithin(t, time.Minute, 1<<30, script); got != "ended" {
		t.Fatal(got)
	}
	if after := runtime.NumGoroutine(); after > before+10 {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}
