package server

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The replica of a leader gets a change when the group has committed it, and then as a whole; so does a consumer of changes.
func TestReplicasOfALeaderGetWhatIsCommitted(t *testing.T) {
	r, g := newGroupRig(t)
	c := r.dial()
	c.want("SET k v", "OK")
	f := r.follower(t, "capa", "psync2")
	f.send("PSYNC", "?", "-1")
	f.sync()
	o := r.consumer()
	c.want("SET k w", "OK")
	f.expect("SELECT 0", "SET k w")
	o.want(`[[(int) 0 ["SET" "k" "w"]]]`)

	f.send("REPLCONF", "ACK", fmt.Sprint(f.offset))
	for _, want := range []string{"vigil_replicas:1\\r\\n", fmt.Sprintf("vigil_stream_id:%s\\r\\nvigil_stream_offset:%d\\r\\n", f.id, f.offset), ",port=0,state=online,offset="} {
		r.until("INFO has "+want, func() bool { return strings.Contains(c.do("INFO", "replication"), want) })
	}
	g.holdBack(true)
	for _, call := range []string{"MULTI", "SET k x", "RPUSH l a", "EXEC", "PUBLISH news a"} {
		c.send(strings.Fields(call)...)
	}
	r.until("the change is recorded", func() bool { return r.srv.store.Commits().Unsynced() == 1 })
	other := r.dial()
	other.want("PUBLISH news b", "(int) 0") // it is behind nothing, and waits behind what the stream has
	o.want("[]")
	if b := f.waits(); b != "" {
		t.Fatalf("the replica has %q, which is not committed", b)
	}
	g.holdBack(false)
	f.expect("MULTI", "SET k x", "RPUSH l a", "EXEC")
	f.until("PUBLISH", nil)
	f.until("PUBLISH", nil)
	o.want(`[[(int) 0 ["SET" "k" "x"]] [(int) 0 ["RPUSH" "l" "a"]]]`)
	if f.offset != r.srv.source.Offset() {
		t.Errorf("the replica has %d bytes, the stream %d", f.offset, r.srv.source.Offset())
	}
	g.receive(0, []byte("news"), []byte("of another member"))
	f.expect("PUBLISH news of another member")
	r.clock.advance(time.Minute)
	r.srv.source.Tick()
	f.expect("PING")
}

// waits returns what has come of the stream that was not read.
func (f *follower) waits() string {
	f.t.Helper()
	b, err := f.in.Peek(f.in.Buffered())
	if err != nil {
		f.t.Error(err)
	}
	return string(b)
}

// With its leadership a member loses its stream, also what was committed: another leader has another one. What no other member
// has was never told.
func TestStreamOfALeaderEndsWithItsLeadership(t *testing.T) {
	r, g := newGroupRig(t)
	c := r.dial()
	f := r.follower(t, "capa", "psync2")
	f.send("PSYNC", "?", "-1")
	f.sync()
	c.want("SET k v", "OK")
	f.expect("SELECT 0", "SET k v")
	o := r.consumer()
	g.holdBack(true)
	c.send("SET", "k", "lost")
	r.until("the change is recorded", func() bool { return r.srv.store.Commits().Unsynced() == 1 })
	g.amid = func() { // it does not lead for long, but nobody knows yet
		late := r.follower(t)
		late.send("PSYNC", "?", "-1")
	}
	g.depose()
	g.amid = nil
	f.ended()
	const follows = "(error) ERR only the leader of a group has "
	c = r.dial()
	if got := c.do("VIGIL.CHANGES", "FROM", o.at); !strings.HasPrefix(got, follows) {
		t.Errorf("VIGIL.CHANGES of a follower: %s", got)
	}
	for _, call := range []string{"PSYNC ? -1", "SYNC", "VIGIL.CHANGES NOW"} {
		if got := c.do(strings.Fields(call)...); !strings.HasPrefix(got, follows) {
			t.Errorf("%s of a follower: %s", call, got)
		}
	}
	g.elect()
	c = r.dial()
	c.want("GET k", `"v"`)
	if got := c.do("VIGIL.CHANGES", "FROM", o.at); !strings.HasPrefix(got, "(error) GONE ") {
		t.Errorf("a position of the leadership before: %s", got)
	}
	again := r.follower(t, "capa", "psync2")
	r.clock.advance(time.Minute) // passes begin with some time between them
	again.send("PSYNC", f.id, fmt.Sprint(f.offset+1))
	if again.sync(); again.id == f.id {
		t.Error("the stream has its former name")
	}
	c.want("SET k w", "OK")
	again.expect("SELECT 0", "SET k w")
}

// A member exports what its group has committed, whether it leads or not.
func TestMembersExportWhatIsCommitted(t *testing.T) {
	dir := t.TempDir()
	r, g := newGroupRig(t, func(o *Options) { o.Config = testConfig(t, "--import-dir", dir) })
	to := newRig(t, func(o *Options) { o.Config = testConfig(t, "--import-dir", dir) })
	c := r.dial()
	c.want("SET k v", "OK")
	c.want("HSET h f w", "(int) 1")
	if got := r.exported(c, "a.rdb", "FOR", "redis7.4"); !strings.Contains(got, `"keys" (int) 2`) {
		t.Error(got)
	}
	g.depose()
	c = r.dial()
	if got := r.exported(c, "b.rdb", "FOR", "redis7.4"); !strings.Contains(got, `"keys" (int) 2`) {
		t.Error(got)
	}
	m := to.dial()
	for _, file := range []string{"a.rdb", "b.rdb"} {
		m.want("FLUSHALL", "OK")
		to.imported(m, file)
		m.want("GET k", `"v"`)
		m.want("HGETALL h", `["f" "w"]`)
		m.want("DBSIZE", "(int) 2")
	}
}
