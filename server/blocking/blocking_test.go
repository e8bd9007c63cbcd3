package blocking

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
)

// client is a client that notes what it gets.
type client struct {
	name  string
	call  *Call
	got   []string
	after uint64 // what the last reply depends on
}

func (c *client) Blocked(call *Call) { c.call = call }

func (c *client) Answer(reply []byte, position uint64) {
	c.got, c.after = append(c.got, string(reply)), position
}

// room is the calls of a test, with a clock that goes when it is told to, and a keyspace of
// numbers: a call takes one from a key that has any. It is the Host, and the Runner.
type room struct {
	t     *testing.T
	calls Calls
	now   time.Duration
	// timers are those that have not fired, by the time at which they will.
	timers map[*time.Duration]func()
	keys   map[string]int
	ran    []string // clients whose calls were run again
	ended  []string
	paused bool
	panics string // the client whose call does
	undone int
	refuse func(*Call) error // see Outage
}

func newRoom(t *testing.T) *room {
	r := &room{t: t, timers: map[*time.Duration]func(){}, keys: map[string]int{}}
	r.calls.Open(r)
	return r
}

func (r *room) AfterFunc(d time.Duration, f func()) (stop func()) {
	at := r.now + d
	r.timers[&at] = f
	return func() { delete(r.timers, &at) }
}

func (r *room) Paused() bool { return r.paused }

func (r *room) Attend(k Key) { r.calls.Serve(k, r) }

func (r *room) Outage() func(*Call) error { return r.refuse }

func (r *room) Ended(c *Call, took time.Duration, failed bool) {
	r.ended = append(r.ended, fmt.Sprint(c.Client.(*client).name, " ", took, " ", failed))
}

func (r *room) Writable() bool { return true }

func (r *room) Exists(k Key) bool { return r.keys[k.Name] > 0 }

func (r *room) Rerun(k Key, c *Call) Outcome {
	who := c.Client.(*client).name
	if r.ran = append(r.ran, who); who == r.panics {
		return Broken
	}
	if r.keys[k.Name] == 0 && !c.removed {
		return Waits
	}
	r.keys[k.Name]--
	r.calls.Served(c, []byte("from "+k.Name), 7)
	return Served
}

func (r *room) Abandon() { r.undone++ }

// advance lets time pass, and fires the timers that are due, the earliest first.
func (r *room) advance(d time.Duration) {
	for end := r.now + d; ; {
		var next *time.Duration
		for at := range r.timers {
			if *at <= end && (next == nil || *at < *next) {
				next = at
			}
		}
		if next == nil {
			r.now = end
			return
		}
		f := r.timers[next]
		delete(r.timers, next)
		r.now = *next
		f()
	}
}

var pops = &commands.Command{Name: "POP"}

// block makes a client wait for keys.
func (r *room) block(name, keys string, wait commands.Wait) *client {
	for _, key := range strings.Fields(keys) {
		wait.Keys = append(wait.Keys, []byte(key))
	}
	if wait.Expired == nil {
		wait.Expired = func(r *commands.Reply) { r.Null() }
	}
	c := &client{name: name}
	call := &Call{Client: c, Command: pops, Args: CopyArgs(wait.Keys), Proto: 3}
	r.calls.Block(call, &wait)
	if c.call != call || r.calls.Of(c) != call {
		r.t.Fatalf("%s is not told what it waits for", name)
	}
	return c
}

func (r *room) push(key string, n int) {
	r.keys[key] += n
	r.calls.Serve(Key{0, key}, r)
}

func (r *room) want(what string, got []string, want string) {
	r.t.Helper()
	if s := strings.Join(got, ", "); s != want {
		r.t.Errorf("%s: got %q, want %q", what, s, want)
	}
}

// left checks that nothing is left of calls that have ended.
func (r *room) left() {
	r.t.Helper()
	if r.calls.Any() || r.calls.Count()+r.calls.KeyCount()+r.calls.Timed()+r.calls.Polled()+len(r.timers) > 0 {
		r.t.Errorf("%d calls, %d keys, %d polls and %d timers are left", r.calls.Count(), r.calls.KeyCount(), r.calls.Polled(), len(r.timers))
	}
}

func TestFirstComeFirstServed(t *testing.T) {
	r := newRoom(t)
	a, b := r.block("a", "k other", commands.Wait{Millis: 1000}), r.block("b", "k", commands.Wait{})
	c := r.block("c", "k", commands.Wait{})
	r.push("k", 2)
	r.push("other", 1) // for which nobody waits any more
	r.want("a", a.got, "from k")
	r.want("b", b.got, "from k")
	r.want("c", c.got, "")
	if a.after != 7 {
		t.Errorf("the reply depends on %d, want 7", a.after)
	}
	r.calls.Cancel(c.call)
	r.push("k", 1)
	r.want("a client that has left", c.got, "")
	r.want("calls", r.ran, "a, b")
	r.want("calls that ended without a result", r.ended, "")
	r.left()
}

func TestRivalsArePassedOver(t *testing.T) {
	r := newRoom(t)
	rivals := func(name string) commands.Wait { return commands.Wait{Rivals: []string{name}} }
	r.block("a", "k", rivals("x"))
	r.block("b", "k", rivals("x"))
	r.block("c", "k", rivals("y"))
	r.keys["k"] = 1
	r.calls.Serve(Key{0, "k"}, &greedy{r})
	r.want("calls that were run again", r.ran, "a, c") // there was nothing for a: neither is for b
}

// greedy finds nothing for any call.
type greedy struct{ *room }

func (g *greedy) Rerun(_ Key, c *Call) Outcome {
	g.ran = append(g.ran, c.Client.(*client).name)
	return Waits
}

func TestRemovalIsForThoseWhoWaitForIt(t *testing.T) {
	r := newRoom(t)
	pop := r.block("pop", "k", commands.Wait{Rivals: []string{"p"}})
	read := r.block("read", "k", commands.Wait{Removed: true, Rivals: []string{"r"}})
	if n := r.calls.RemovalCount(); n != 1 {
		t.Errorf("%d keys are waited for to be removed, want 1", n)
	}
	r.calls.Removed(0, []byte("unknown"))
	r.calls.Removed(0, []byte("k"))
	r.want("calls, before the locks are released", r.ran, "")
	r.calls.ServeRemoved()
	r.want("pop", pop.got, "")
	r.want("read", read.got, "from k")
	r.calls.ServeRemoved()
	r.want("calls", r.ran, "read")
}

func TestPanicEndsTheWaitWithoutReply(t *testing.T) {
	r := newRoom(t)
	a, b := r.block("a", "k", commands.Wait{}), r.block("b", "k", commands.Wait{})
	r.panics = "a"
	r.push("k", 1)
	r.want("a", a.got, "")
	r.want("b", b.got, "from k")
	if r.undone != 1 {
		t.Errorf("%d calls were abandoned, want 1", r.undone)
	}
	r.left()
}

func TestWaitEndsOnce(t *testing.T) {
	r := newRoom(t)
	a := r.block("a", "k", commands.Wait{Millis: 100})
	b := r.block("b", "k", commands.Wait{Millis: 200})
	c := r.block("c", "k", commands.Wait{Millis: 200})
	b.call.Silent = true
	if n := r.calls.Timed(); n != 3 {
		t.Errorf("%d calls have a time, want 3", n)
	}
	r.advance(150 * time.Millisecond)
	if !r.calls.Refuse(c.call, "ERR no") || r.calls.TimeOut(c.call) || r.calls.Cancel(c.call) {
		t.Error("a wait did not end once")
	}
	r.advance(time.Second)
	r.push("k", 3)
	r.want("a", a.got, "_\r\n")
	r.want("a client that wants no reply", b.got, "")
	r.want("c", c.got, "-ERR no\r\n")
	r.want("what ended", r.ended, "a 0s false, c 0s false, b 0s false")
	r.left()
}

func TestCallIsRunAgainAfterItsTime(t *testing.T) {
	r := newRoom(t)
	a := r.block("a", "k", commands.Wait{Again: 50})
	r.keys["k"] = 1 // as time alone makes a call find something
	r.advance(49 * time.Millisecond)
	r.want("before its time", a.got, "")
	r.paused = true
	r.advance(time.Millisecond)
	r.want("while nothing may run", a.got, "")
	r.paused = false
	r.advance(Round)
	r.want("a", a.got, "from k")
	r.left()
}

func TestPollLooksLessAndLessOften(t *testing.T) {
	r := newRoom(t)
	var looks []time.Duration
	so := false
	c := r.block("c", "", commands.Wait{Again: 10, Until: func() bool {
		looks = append(looks, r.now/time.Millisecond)
		return so
	}})
	r.advance(450 * time.Millisecond)
	if want := []time.Duration{10, 30, 70, 150, 250, 350, 450}; !slices.Equal(looks, want) {
		t.Errorf("looked after %d ms, want %d", looks, want)
	}
	so = true
	var running sync.WaitGroup
	done := make(chan struct{})
	ended := make(chan struct{})
	r.calls.Arm(c.call, func() { close(ended) })
	running.Go(func() { r.calls.RunPolls(done) })
	r.calls.Poll()
	<-ended
	close(done)
	running.Wait()
	r.want("c", c.got, "_\r\n")
	r.left()
}

func TestWorkOfACallThatHasEndedIsStopped(t *testing.T) {
	r := newRoom(t)
	c := r.block("c", "", commands.Wait{})
	stopped := 0
	r.calls.Arm(c.call, func() { stopped++ })
	r.calls.Cancel(c.call)
	r.calls.Arm(c.call, func() { stopped++ }) // it may end before
	if stopped != 2 {
		t.Errorf("stopped %d times, want 2", stopped)
	}
}

// A call such as BLMOVE changes its destination, for which others may wait in turn.
func TestShardsOfDestinationsAreAdded(t *testing.T) {
	r := newRoom(t)
	move := func(from, to string, shard uint64) *Call {
		c := &Call{Client: &client{}, Command: pops, Also: [][]byte{[]byte(from), []byte(to)}}
		c.Shards.Add(shard << 56)
		r.calls.Block(c, &commands.Wait{Keys: [][]byte{[]byte(from)}})
		return c
	}
	a, b := move("a", "b", 1), move("b", "c", 2)
	need := func(key string) (set persistence.Shards) {
		r.calls.Widen(&set, func(visit func([]byte)) { visit([]byte(key)) })
		return set
	}
	var one, both persistence.Shards
	one.Add(2 << 56)
	both.Add(1 << 56)
	both.Add(2 << 56)
	if got := need("a"); got != both {
		t.Error("a change of a needs other shards than those of both calls")
	}
	if got := need("b"); got != one {
		t.Error("a change of b needs other shards than those of the second call")
	}
	if got := need("c"); !got.Empty() {
		t.Error("a change of c needs shards, though nobody waits for it")
	}
	r.calls.Cancel(a)
	r.calls.Cancel(b)
	if got := need("a"); !got.Empty() {
		t.Error("calls that have ended need shards")
	}
}

func TestWaitsEndWhileThereIsAnOutage(t *testing.T) {
	r := newRoom(t)
	a, b := r.block("a", "k", commands.Wait{}), r.block("b", "k", commands.Wait{})
	r.calls.Watch()
	r.calls.Watch()
	r.advance(5 * Round)
	r.refuse = func(c *Call) error {
		if c == b.call {
			return nil
		}
		return commands.WireError("DOWN")
	}
	r.want("a, before it is looked at", a.got, "")
	r.advance(Round)
	r.want("a", a.got, "-DOWN\r\n")
	r.want("b", b.got, "")
	if len(r.timers) != 1 {
		t.Errorf("%d looks are due, want 1", len(r.timers))
	}
	r.calls.Cancel(b.call)
	r.advance(Round)
	r.left()
}
