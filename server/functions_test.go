package server

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// load creates a library of one function.
func (c *testClient) load(name, function, body string) {
	c.t.Helper()
	code := fmt.Sprintf("#!lua name=%s\nlocal n = 0\nredis.register_function('%s', function(keys, args) %s end)", name, function, body)
	if got := c.do("FUNCTION", "LOAD", "REPLACE", code); got != `"`+name+`"` {
		c.t.Fatalf("FUNCTION LOAD %s: got %s", name, got)
	}
}

func TestLateFunctionIsShownAndKilled(t *testing.T) {
	const busy = "(error) BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
	r := newRig(t)
	other, caller := r.dial(), r.dial()
	other.load("lib", "spin", "while true do pcall(function() while true do end end) end")
	other.load("sum", "count", "n = n + 1 return n")
	other.want("FCALL count 0", "(int) 1")
	other.want("FCALL count 0", "(int) 2")
	caller.send("FCALL", "spin", "1", "k", "a")
	r.until("the function runs", func() bool { return r.srv.scripts.engine.Running() })
	r.late()
	other.want("GET k", busy)
	other.want("SCRIPT KILL", busy)
	got := other.do("FUNCTION", "STATS")
	if want := `["running_script" ["name" "spin" "command" ["FCALL" "spin" "1" "k" "a"] "duration_ms" (int) `; !strings.HasPrefix(got, want) {
		t.Errorf("FUNCTION STATS: got %s", got)
	}
	other.want("FUNCTION KILL", "OK")
	if got := caller.reply(); !strings.HasPrefix(got, "(error) ERR Script killed by user with FUNCTION KILL... script: spin") {
		t.Errorf("the function: got %s", got)
	}
	// The state of the interpreter is a new one.
	other.want("FCALL count 0", "(int) 1")
	other.want("FCALL count 0", "(int) 2")
}

func TestFunctionIsNotKilledAsAScriptNorAScriptAsAFunction(t *testing.T) {
	r := newRig(t)
	r.endless("while true do end")
	other := r.dial()
	r.late()
	const busy = "(error) BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	other.want("FUNCTION KILL", busy)
	other.want("FUNCTION STATS", busy)
	other.want("SCRIPT KILL", "OK")
}

func TestLibraryThatTakesTooLongIsNotLoaded(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.load("lib", "f", "return 1")
	c.send("FUNCTION", "LOAD", "REPLACE", "#!lua name=lib\nwhile true do end")
	r.until("the library is loaded", func() bool { return r.srv.scripts.engine.Running() })
	r.until("it took too long", func() bool {
		r.clock.advance(100 * time.Millisecond)
		return !r.srv.scripts.engine.Running()
	})
	c.next("(error) ERR Error registering functions: FUNCTION LOAD timeout")
	c.want("FCALL f 0", "(int) 1") // what was there before
}

func TestFailedLoadChangesNothing(t *testing.T) {
	r := newRig(t)
	r.config("lua-memory-limit", "16mb")
	c := r.dial()
	c.load("lib", "f", "return 1")
	c.load("other", "g", "return 2")
	before, lsn := c.do("FUNCTION", "LIST", "WITHCODE"), r.srv.store.Stats().LSN
	for _, code := range []string{
		"#!lua name=lib\nredis.register_function('f', function() return 2 end) redis.nosuch()",
		"#!lua name=lib\nredis.register_function('g', function() return 2 end)",
		"#!lua name=lib\nredis.register_function('f', function() return 2 end) while true do redis.x = 1 end",
		"#!lua name=lib\nlocal s = 'x' while true do s = s .. s end",
		"#!lua name=lib\nlocal function f() return f() + 1 end f()",
		"#!lua name=lib\nlocal n = 'x' for i = 1, 15 do n = n .. n end for i = 1, 100 do redis.register_function(n .. i, function() end) end",
		"#!lua name=lib\n" + strings.Repeat("(", 100000),
		"#!lua name=lib\n--" + strings.Repeat("x", 1<<20),
	} {
		if got := c.do("FUNCTION", "LOAD", "REPLACE", code); !strings.HasPrefix(got, "(error) ERR ") {
			t.Errorf("%.100s: got %s", code, got)
		}
		c.want("FCALL f 0", "(int) 1")
	}
	if after := c.do("FUNCTION", "LIST", "WITHCODE"); after != before {
		t.Errorf("FUNCTION LIST: got %s, was %s", after, before)
	}
	if got := r.srv.store.Stats().LSN; got != lsn {
		t.Errorf("record %d follows %d", got, lsn)
	}
}

func TestLibrariesAreBounded(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	padding := strings.Repeat(" ", 1<<20-200)
	for i := range 40 {
		code := fmt.Sprintf("#!lua name=l%d\nredis.register_function('f%d', function() end)%s", i, i, padding)
		got := c.do("FUNCTION", "LOAD", code)
		if i == 31 {
			if got != "(error) ERR the libraries of functions take more than 32 MiB" {
				t.Errorf("library %d: got %s", i, got)
			}
			return
		}
		if strings.HasPrefix(got, "(error)") {
			t.Fatalf("library %d: got %s", i, got)
		}
	}
}

func TestErrorsOfScriptsAreCountedOnce(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	for script, want := range map[string]string{
		"return {err='MY fault'}":                                     "errorstat_MY:count=1",
		"return redis.error_reply('MY fault')":                        "errorstat_MY:count=1",
		"return {1, {err='MY fault'}, {err='MY fault'}}":              "errorstat_MY:count=2",
		"error({err='MY fault'})":                                     "errorstat_MY:count=1",
		"return redis.call('SELECT', 99)":                             "errorstat_ERR:count=1",
		"return redis.pcall('SELECT', 99)":                            "errorstat_ERR:count=1",
		"return {redis.pcall('SELECT', 99)}":                          "errorstat_ERR:count=1",
		"pcall(redis.call, 'SELECT', 99) return {err='MY fault'}":     "errorstat_ERR:count=1\r\nerrorstat_MY:count=1",
		"redis.pcall('SELECT', 99) return redis.pcall('SELECT', 100)": "errorstat_ERR:count=2",
	} {
		c.want("CONFIG RESETSTAT", "OK")
		c.do("EVAL", script, "0")
		if got, want := c.do("INFO", "errorstats"), fmt.Sprintf("%q", "# Errorstats\r\n"+want+"\r\n"); got != want {
			t.Errorf("%s: got %s, want %s", script, got, want)
		}
	}
}

func TestLibraryThatKeepsMuchBeginsAnew(t *testing.T) {
	r := newRig(t)
	r.config("lua-memory-limit", "16mb")
	c := r.dial()
	code := "#!lua name=lib\nlocal kept = {} redis.register_function('keep', function() kept[#kept+1] = string.rep('x', 2^20) .. #kept return #kept end)"
	if got := c.do("FUNCTION", "LOAD", "REPLACE", code); got != `"lib"` {
		t.Fatal(got)
	}
	last := 0
	r.until("the library begins anew", func() bool {
		var n int
		if _, err := fmt.Sscanf(c.do("FCALL", "keep", "0"), "(int) %d", &n); err != nil || n != 1 && n != last+1 {
			t.Fatalf("after %d came %d, %v", last, n, err)
		}
		runtime.GC()
		c.want("SCRIPT FLUSH", "OK") // the new state of scripts is no excuse
		c.eval("return 1", "(int) 1")
		r.clock.advance(scriptWatch)
		again := n <= last
		last = n
		return again
	})
}

func TestMemoryOfAScriptIsGivenBackOnce(t *testing.T) {
	r := newRig(t)
	r.config("lua-memory-limit", "64mb")
	c := r.dial()
	c.eval("return #string.rep('x', 100000)", "(int) 100000")
	if r.srv.scripts.engine.TookMuch() {
		t.Error("a small script took much")
	}
	c.eval("local t = {} for i = 1, 60 do t[i] = string.rep('x', 2^20) .. i end return #t", "(int) 60")
	if !r.srv.scripts.engine.TookMuch() || r.srv.scripts.engine.TookMuch() {
		t.Error("a large script took nothing, or twice")
	}
}
