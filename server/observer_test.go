package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/internal/door"
)

func (r *rig) observe() *testClient {
	r.t.Helper()
	nc, err := door.Of(r.srv).DialObserver("looker")
	if err != nil {
		r.t.Fatalf("DialObserver: %v", err)
	}
	return newTestClient(r.t, nc)
}

func TestObserverIsLetInWhereOthersAreNot(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--requirepass", "secret", "--maxclients", "1") })
	owner := r.dial()
	owner.want("AUTH secret", "OK")
	refused := r.dial()
	refused.next("(error) ERR max number of clients reached")
	refused.ended()
	o := r.observe()
	o.want("DBSIZE", "(int) 0")
	if got := o.do("CLIENT", "LIST"); !strings.Contains(got, "name=looker") {
		t.Errorf("CLIENT LIST: got %s, want a client of that name", got)
	}
	owner.want("CLIENT PAUSE 100000 ALL", "OK")
	o.want("DBSIZE", "(int) 0")
}

func TestObserverChangesNothing(t *testing.T) {
	r := newRig(t)
	o := r.observe()
	refusal := func(name string) string {
		return "(error) NOPERM User observer has no permissions to run the '" + name + "' command"
	}
	o.want("SET k v", refusal("set"))
	o.want("FLUSHALL", refusal("flushall"))
	o.want("SCHED.NEXT s", refusal("sched.next"))
	o.want("MULTI", "OK")
	o.want("DEL k", refusal("del"))
	o.want("EXEC", "(error) EXECABORT Transaction discarded because of previous errors.")
	o.want("GET k", "(nil)")
}

// visit connects a visitor.
func (r *rig) visit() *testClient {
	r.t.Helper()
	nc, err := door.Of(r.srv).DialVisitor("looker")
	if err != nil {
		r.t.Fatalf("DialVisitor: %v", err)
	}
	return newTestClient(r.t, nc)
}

func TestVisitorSeesWhatItsUserMaySee(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--requirepass", "secret", "--maxclients", "1") })
	owner := r.dial()
	owner.want("AUTH secret", "OK")
	owner.want("MSET pub:1 a sec:1 b", "OK")
	owner.want("ACL SETUSER ann on >pw ~pub:* +@read +auth", "OK")
	owner.want("CLIENT PAUSE 100000 ALL", "OK")
	v := r.visit()
	v.want("GET pub:1", "(error) NOAUTH Authentication required.")
	v.want("AUTH ann wrong", "(error) WRONGPASS invalid username-password pair or user is disabled.")
	v.want("AUTH ann pw", "OK")
	v.want("GET pub:1", `"a"`)
	v.want("GET sec:1", "(error) NOPERM No permissions to access a key")
	v.want("INFO", "(error) NOPERM User ann has no permissions to run the 'info' command")
	if door.Of(r.srv).Open() {
		t.Error("a server with a password says that it is open")
	}
}

func TestVisitorChangesNothingWhateverItsUserMayDo(t *testing.T) {
	r := newRig(t)
	if !door.Of(r.srv).Open() {
		t.Error("a server without a password says that it is not open")
	}
	v := r.visit()
	refusal := func(name string) string {
		return "(error) NOPERM User default has no permissions to run the '" + name + "' command"
	}
	v.want("SET k v", refusal("set"))
	v.want("FLUSHALL", refusal("flushall"))
	if got := v.do("EVAL", "return redis.call('SET', 'k', 'v')", "0"); !strings.Contains(got, "no permissions to run the 'set' command") {
		t.Errorf("a script that writes: got %s", got)
	}
	v.want("MULTI", "OK")
	v.want("DEL k", refusal("del"))
	v.want("EXEC", "(error) EXECABORT Transaction discarded because of previous errors.")
	v.want("GET k", "(nil)")
}

func TestHealthTellsOfTheDisk(t *testing.T) {
	r := newRig(t)
	if err := r.srv.Health(); err != nil {
		t.Errorf("Health: got %v, want nil", err)
	}
	srv, err := Start(Options{InMemory: true, Config: testConfig(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(context.Background())
	if err := srv.Health(); !errors.Is(err, ErrLoading) {
		t.Errorf("Health before Load: got %v, want %v", err, ErrLoading)
	}
}

func TestHistoryIsTheLastHour(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	// rest lets steps pass. The cron takes a sample in the round in which a step is over.
	rest := func(steps int) { r.clock.advance(time.Duration(steps) * door.HistoryStep) }
	rest(1)
	begun, _ := door.Of(r.srv).History()
	for range 20 {
		c.want("GET nosuch", "(nil)")
	}
	c.want("SET k v", "OK")
	rest(2)
	all, at := door.Of(r.srv).History()
	if got := len(all) - len(begun); got != 2 {
		t.Fatalf("%d samples in two steps, want 2", got)
	}
	s := all[len(begun)]
	if s.Ops < 2 || s.Ops > 2.2 || s.HitRatio != 0 || s.Keys != 1 || s.Clients != 1 || s.Memory <= 0 || s.Input <= 0 {
		t.Errorf("the sample of 21 commands in 10 s is %+v", s)
	}
	if quiet := all[len(all)-1]; quiet.Ops != 0 || quiet.HitRatio != -1 || quiet.Micros != 0 {
		t.Errorf("the sample of a quiet step is %+v", quiet)
	}
	if late := r.clock.Now().Sub(at); late < 0 || late > door.HistoryStep {
		t.Errorf("the newest sample is %v old", late)
	}
	for range 30 {
		c.want("GET two arguments", "(error) ERR wrong number of arguments for 'get' command")
	}
	rest(1)
	all, _ = door.Of(r.srv).History()
	if s := all[len(all)-1]; s.Errors < 2.9 || s.Errors > 3.1 {
		t.Errorf("30 errors in 10 s gave %+v", s)
	}
	c.want("CONFIG RESETSTAT", "OK")
	c.want("PING", "PONG")
	rest(1)
	all, _ = door.Of(r.srv).History()
	if s := all[len(all)-1]; s.Ops < 0 || s.Ops > 1 || s.Input < 0 || s.Errors != 0 {
		t.Errorf("counters that were reset gave %+v", s)
	}
}

func TestHistoryForgetsWhatIsOlder(t *testing.T) {
	var srv Server
	now := time.Unix(1e9, 0)
	const steps = historyLength + 5
	counted := func(calls int64) func() totals { return func() totals { return totals{calls: calls} } }
	for i := range steps + 1 {
		srv.history.take(now, counted(int64(i*i)))
		srv.history.take(now.Add(door.HistoryStep-1), counted(1<<40)) // too early
		now = now.Add(door.HistoryStep)
	}
	all, at := door.Of(&srv).History()
	if len(all) != historyLength || !at.Equal(now.Add(-door.HistoryStep)) {
		t.Fatalf("%d samples up to %v, want %d up to %v", len(all), at, historyLength, now.Add(-door.HistoryStep))
	}
	for i, s := range all {
		if n := i + steps - historyLength; s.Ops != float32(2*n+1)/10 {
			t.Fatalf("sample %d: got %v commands a second, want %v", i, s.Ops, float32(2*n+1)/10)
		}
	}
	srv.history.take(now.Add(-time.Hour), counted(0)) // the clock was set back
	srv.history.take(now.Add(-time.Hour+door.HistoryStep), counted(10))
	if all, _ := door.Of(&srv).History(); all[historyLength-1].Ops != 1 {
		t.Errorf("after the clock was set back: got %+v", all[historyLength-1])
	}
}

func TestPercentilesAreThoseOfTheStep(t *testing.T) {
	counts := func(n map[time.Duration]int64) []int64 {
		all := make([]int64, histogramSize)
		for took, n := range n {
			all[bucketOf(took)] = n
		}
		return all
	}
	then := counts(map[time.Duration]int64{time.Microsecond: 1000, time.Millisecond: 5})
	now := counts(map[time.Duration]int64{time.Microsecond: 1000, time.Millisecond: 6})
	if p50, p99, p999 := timesSince(now, then); p50 < 1000 || p50 > 1040 || p99 != p50 || p999 != p50 {
		t.Errorf("one call of 1 ms: got %v, %v, %v us", p50, p99, p999)
	}
	// After a reset only what came since is there.
	if p50, _, p999 := timesSince(counts(map[time.Duration]int64{time.Microsecond: 998, time.Second / 2: 2}), then); p50 > 2 || p999 < 5e5 {
		t.Errorf("after a reset: got %v and %v us", p50, p999)
	}
	if p50, p99, p999 := timesSince(then, then); p50 != 0 || p99 != 0 || p999 != 0 {
		t.Errorf("no call: got %v, %v, %v us", p50, p99, p999)
	}
}
