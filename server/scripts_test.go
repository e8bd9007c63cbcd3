package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// endless starts a script that does not end and waits until it runs.
func (r *rig) endless(script string, keys ...string) *testClient {
	r.t.Helper()
	c := r.dial()
	c.send(append([]string{"EVAL", script, fmt.Sprint(len(keys))}, keys...)...)
	r.until("a script runs", func() bool { return r.srv.scripts.engine.Running() })
	return c
}

// eval runs a script without keys and compares its reply.
func (c *testClient) eval(script, want string) {
	c.t.Helper()
	if got := c.do("EVAL", script, "0"); got != want {
		c.t.Fatalf("%s: got %s, want %s", script, got, want)
	}
}

// late lets the running script run for too long.
func (r *rig) late() {
	r.t.Helper()
	r.until("the script is late", func() bool {
		r.clock.advance(6 * time.Second)
		return r.srv.scripts.busy.Load()
	})
}

func TestLateScriptIsNoSilence(t *testing.T) {
	const busy = "(error) BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	r := newRig(t)
	other, waiting, gate := r.dial(), r.dial(), r.dial()
	script := r.endless("while true do pcall(function() while true do end end) end", "k")
	waiting.send("SET", "k", "v")
	gate.send("EVAL", "return 1", "0")
	other.want("SET free v", "OK") // the script does not have its shard
	r.late()
	waiting.next(busy)
	gate.next(busy)
	other.want("GET free", busy)
	other.want("SCRIPT KILL", "OK")
	if got := script.reply(); !strings.HasPrefix(got, "(error) ERR Script killed by user with SCRIPT KILL... script: ") {
		t.Errorf("the script: got %s", got)
	}
	other.want("GET k", "(nil)")
	other.want("SCRIPT KILL", "(error) NOTBUSY No scripts in execution right now.")
	other.eval("return 1", "(int) 1")
}

func TestScriptThatHasWrittenIsNotKilled(t *testing.T) {
	r := newRig(t)
	r.endless("redis.call('SET', 'k', 1) while true do end")
	other := r.dial()
	r.late()
	if got := other.do("SCRIPT", "KILL"); !strings.HasPrefix(got, "(error) UNKILLABLE ") {
		t.Errorf("SCRIPT KILL: got %s", got)
	}
	const busy = "(error) BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	other.want("SHUTDOWN", busy)
	other.want("SHUTDOWN SAVE NOW FORCE", busy)
	other.send("SHUTDOWN", "NOSAVE")
	other.ended()
	<-r.srv.ShutdownRequested()
	// The end of the server ends it.
}

func TestScriptServesClientsThatWaitForKeysItDidNotDeclare(t *testing.T) {
	r := newRig(t)
	first, second, third := r.dial(), r.dial(), r.dial()
	first.send("BLPOP", "a", "x", "0")
	r.blocked(1)
	second.send("BLMOVE", "b", "c", "LEFT", "LEFT", "0")
	r.blocked(2)
	third.send("BLPOP", "c", "0")
	r.blocked(3)
	p := r.dial()
	p.eval("redis.call('RPUSH', 'a', 1) return redis.call('RPUSH', 'b', 2) + redis.call('LLEN', 'a')", "(int) 2")
	first.next(`["a" "1"]`)
	second.next(`"2"`)
	third.next(`["c" "2"]`)
	p.want("EXISTS a b c", "(int) 0")
}

func TestScriptChangesWatchedKeys(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	c.want("WATCH w", "OK")
	p.eval("return redis.call('SET', 'w', 1)", "OK")
	c.want("MULTI", "OK")
	c.want("PING", "QUEUED")
	c.want("EXEC", "(nil array)")
}

func TestEffectsOfAScriptAreOneRecord(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	before := r.srv.store.Stats().LSN
	c.eval("for i = 1, 100 do redis.call('SET', 'k' .. i, i) end return redis.call('DBSIZE')", "(int) 100")
	if got := r.srv.store.Stats().LSN - before; got != 1 {
		t.Errorf("a script of 100 writes: got %d records, want 1", got)
	}
	c.eval("redis.call('FLUSHALL') return #redis.call('KEYS', '*')", "(int) 0")
}

func TestTimeStandsStillInAScript(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.eval("local a = redis.call('TIME') for i = 1, 1000 do redis.call('PING') end "+
		"local b = redis.call('TIME') return a[1] == b[1] and a[2] == b[2]", "(int) 1")
}

func TestScriptIsShownToMonitorsBeforeItsCalls(t *testing.T) {
	r := newRig(t)
	m, c := r.dial(), r.dial()
	m.want("MONITOR", "OK")
	c.eval("return redis.call('SET', 'k', 'v')", "OK")
	if got := m.reply(); !strings.Contains(got, `"EVAL"`) {
		t.Errorf("first: got %s", got)
	}
	if got := m.reply(); !strings.Contains(got, `[0 lua] "SET" "k" "v"`) {
		t.Errorf("then: got %s", got)
	}
}

func TestScriptThatTakesTooMuchMemoryEnds(t *testing.T) {
	r := newRig(t)
	r.config("lua-memory-limit", "16mb")
	c := r.dial()
	for _, script := range []string{
		"return #string.rep('x', 2^30)",
		"local s = string.rep('x', 2^20) local t = {} for i = 1, 100 do t[i] = s .. i end return #t",
		"redis.call('SET', 'k', string.rep('x', 2^20)) local t = {} for i = 1, 100 do t[i] = redis.call('GET', 'k') end",
		"local k = {} for i = 1, 100 do k[i] = 'k' end return redis.call('MGET', unpack(k))",
	} {
		if got := c.do("EVAL", script, "0"); !strings.HasPrefix(got, "(error) ERR not enough memory: ") {
			t.Errorf("%s: got %s", script, got)
		}
		c.eval("return 1", "(int) 1")
	}
}

// A script that is cut does half of its work, and the transaction around it goes on.
func TestScriptsThatRunWhenTheServerIsClosedEnd(t *testing.T) {
	onDisk := onDisk(t.TempDir())
	r := newRig(t, onDisk)
	c := r.dial()
	c.send("MULTI")
	c.send("EVAL", "redis.call('SET', 'a', 1) for i = 1, 20000 do redis.call('PING') end redis.call('SET', 'b', 1)", "0")
	c.send("SET", "c", "1")
	c.send("EXEC")
	r.until("the script writes, or has", func() bool { return r.srv.scripts.engine.Running() || r.srv.store.Stats().LSN > 0 })
	if err := r.srv.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	newRig(t, onDisk).dial().want("MGET a b c", `["1" "1" "1"]`)
}

// Time that passes without looks at the script is the machine's and not the script's.
func TestShortScriptIsNotCutByAClosingServerOnAMachineThatStalls(t *testing.T) {
	onDisk := onDisk(t.TempDir())
	r := newRig(t, onDisk)
	r.endless("redis.call('SET', 'a', 1) for i = 1, 100000 do redis.call('PING') end redis.call('SET', 'b', 1)")
	closed := make(chan error, 1)
	go func() { closed <- r.srv.Close(context.Background()) }()
	<-r.srv.done.Done()
	for range 5 {
		r.clock.stall(time.Hour)
		r.clock.advance(scriptWatch)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	newRig(t, onDisk).dial().want("MGET a b", `["1" "1"]`)
}

// Close ends the script that has been running for too long, and not those that follow it.
func TestClosingServerDoesNotCutTheScriptAfterALateOne(t *testing.T) {
	onDisk := onDisk(t.TempDir())
	r := newRig(t, onDisk)
	c := r.dial()
	c.send("MULTI")
	c.send("EVAL", "while true do end", "0")
	c.send("EVAL", "for i = 1, 100000 do redis.call('PING') end redis.call('SET', 'b', 1)", "0")
	c.send("EXEC")
	r.until("a script runs", func() bool { return r.srv.scripts.engine.Running() })
	r.late()
	first := r.srv.scripts.engine.Current()
	r.dial().want("SCRIPT KILL", "OK")
	r.until("the next one runs", func() bool {
		now := r.srv.scripts.engine.Current()
		return now != nil && now != first
	})
	if err := r.srv.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	newRig(t, onDisk).dial().want("GET b", `"1"`)
}

func TestEndlessScriptsAreCutSoonAfterTheServerIsClosed(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.send("EVAL", "redis.call('SET', 'a', 1) while true do end", "0")
	r.until("the script runs", func() bool { return r.srv.scripts.engine.Running() })
	closed := make(chan error, 1)
	go func() { closed <- r.srv.Close(context.Background()) }()
	r.until("the server is closed", func() bool {
		r.clock.advance(scriptWatch)
		return len(closed) > 0
	})
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
