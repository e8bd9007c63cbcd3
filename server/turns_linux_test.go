package server

import (
	"context"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence"
)

// stuck locks the shard of a key, so that a client who asks for it has a long
// turn until free is called.
func (r *rig) stuck(key string) (free func()) {
	r.t.Helper()
	var set persistence.Shards
	set.Add(r.srv.store.Hash([]byte(key)))
	tx := r.srv.store.NewTx()
	tx.Lock(&set, r.clock.Now().UnixMilli())
	return tx.Unlock
}

// oneLoop opens a server whose sockets are all served by one loop.
func oneLoop(t *testing.T) (r *rig, addr string) {
	t.Helper()
	r = newRig(t, func(o *Options) { o.Config = testConfig(t, "--io-threads", "1") })
	return r, r.loopback()
}

func TestLongTurnLeavesTheLoopToOthers(t *testing.T) {
	r, addr := oneLoop(t)
	slow, other := r.dialTCP(addr), r.dialTCP(addr)
	slow.want("SET k v", "OK")
	free := r.stuck("k")
	slow.raw(encode("GET", "k") + encode("ECHO", "behind"))
	for range 3 {
		other.want("PING", "PONG")
	}
	// One that needs the same shard waits for it, and nobody else does.
	third := r.dialTCP(addr)
	third.send("STRLEN", "k")
	other.want("PING", "PONG")
	free()
	slow.next(`"v"`)
	slow.next(`"behind"`)
	third.next("(int) 1")
}

func TestMessagesDuringALongTurnComeBehindItsReply(t *testing.T) {
	r, addr := oneLoop(t)
	slow, other := r.dialTCP(addr).hello3(), r.dialTCP(addr)
	slow.do("SUBSCRIBE", "ch")
	free := r.stuck("k")
	slow.send("GET", "k")
	other.want("PING", "PONG")
	other.want("PUBLISH ch m", "(int) 1")
	free()
	slow.next("(nil)")
	if got := slow.reply(); !strings.Contains(got, `"message" "ch" "m"`) {
		t.Errorf("got %s, want the message", got)
	}
}

func TestLeavingDuringALongTurn(t *testing.T) {
	r, addr := oneLoop(t)
	other := r.dialTCP(addr)
	for _, leave := range []func(c *testClient, id string){
		func(c *testClient, _ string) { c.nc.Close() },
		func(_ *testClient, id string) { other.want("CLIENT KILL ID "+id, "(int) 1") },
	} {
		slow := r.dialTCP(addr)
		id := slow.id()
		free := r.stuck("k")
		slow.send("SET", "k", "v")
		other.want("PING", "PONG")
		leave(slow, id)
		other.want("PING", "PONG")
		free()
		r.connected(1)
	}
	// The descriptors are free for others.
	r.dialTCP(addr).want("GET k", `"v"`)
}

func TestCloseWaitsForLongTurns(t *testing.T) {
	r, addr := oneLoop(t)
	slow, other := r.dialTCP(addr), r.dialTCP(addr)
	free := r.stuck("k")
	slow.send("SET", "k", "v")
	other.want("PING", "PONG")
	closed := make(chan error, 1)
	go func() { closed <- r.srv.Close(context.Background()) }()
	other.ended()
	select {
	case err := <-closed:
		t.Fatalf("Close ended before the turn: %v", err)
	default:
	}
	free()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
}

func TestLongTurnUnderAlwaysIsDurableFirst(t *testing.T) {
	r := newRig(t, onDisk(t.TempDir()))
	addr := r.loopback()
	slow, other := r.dialTCP(addr), r.dialTCP(addr)
	slow.want("CONFIG SET appendfsync always", "OK")
	for range 20 {
		free := r.stuck("k")
		slow.raw(encode("APPEND", "k", "v") + encode("SET", "other", "w"))
		other.want("PING", "PONG")
		free()
		slow.reply()
		slow.next("OK")
		if st := r.srv.store.Stats(); st.Synced < st.LSN {
			t.Fatalf("record %d was acknowledged, the device has %d", st.LSN, st.Synced)
		}
	}
	other.want("STRLEN k", "(int) 20")
}

// A client whose turns were long has the next one beside the loop, and comes
// back to it when one is short.
func TestHeavyClientsComeBackToTheLoop(t *testing.T) {
	r, addr := oneLoop(t)
	slow, other := r.dialTCP(addr), r.dialTCP(addr)
	for range 3 {
		free := r.stuck("k")
		slow.send("GET", "k")
		other.want("PING", "PONG")
		free()
		slow.next("(nil)")
		for range 3 {
			slow.want("PING", "PONG")
		}
	}
	// What the socket does not take at once is sent in turns too.
	big := strings.Repeat("x", 8<<20)
	slow.send("SET", "k", big)
	slow.next("OK")
	slow.send("GET", "k")
	other.want("PING", "PONG")
	if got := slow.reply(); len(got) != len(big)+2 {
		t.Fatalf("GET: %d bytes, want %d", len(got), len(big)+2)
	}
}
