package main

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// handsOver makes a server hand over to another one, and waits until that is the master and the other its replica.
func handsOver(t *testing.T, from, to *process, call string) {
	t.Helper()
	wantReply(t, dial(t, from), call, "OK")
	for end := time.Now().Add(30 * time.Second); ; {
		info := dial(t, from).do(t, "INFO replication")
		if strings.Contains(info, "role:slave") && strings.Contains(info, "master_link_status:up") && strings.Contains(info, "master_failover_state:no-failover") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no hand-over within 30 s: %s\n%s\n%s", info, from.out, to.out)
		}
	}
	if info := dial(t, to).do(t, "INFO replication"); !strings.Contains(info, "role:master") {
		t.Fatal(info)
	}
}

// A master hands over to its replica and gets its role back, while a client writes: no write that was acknowledged is lost, and nobody
// gets all of the data a second time.
func TestMasterHandsOverAndTakesBack(t *testing.T) {
	t.Parallel()
	args := []string{"--repl-diskless-sync-delay", "0"}
	a, b := launch(t, append(args, "--dir", t.TempDir())...), launch(t, append(args, "--dir", t.TempDir())...)
	ca, cb := dial(t, a), dial(t, b)
	_, portA, _ := net.SplitHostPort(a.addr)
	_, portB, _ := net.SplitHostPort(b.addr)
	for call, want := range map[string]string{
		"FAILOVER":                              "ERR FAILOVER requires connected replicas.",
		"FAILOVER ABORT":                        "ERR No failover in progress.",
		"FAILOVER TIMEOUT 0":                    "ERR FAILOVER timeout must be greater than 0",
		"FAILOVER TO 127.0.0.1 1 FORCE":         "ERR FAILOVER requires connected replicas.",
		"FAILOVER NOSUCH":                       "ERR syntax error",
		"PSYNC " + noStream + " 1 FAILOVER":     "ERR PSYNC FAILOVER can't be sent to a master.",
		"REPLICAOF 127.0.0.1 " + portB + " now": "ERR wrong number of arguments for 'replicaof' command",
	} {
		wantReply(t, ca, call, want)
	}
	wantReply(t, cb, "REPLICAOF 127.0.0.1 "+portA, "OK")
	n := 0
	for end := time.Now().Add(30 * time.Second); !strings.Contains(ca.do(t, "INFO replication"), "state=online"); {
		if time.Now().After(end) {
			t.Fatalf("no replica within 30 s:\n%s", b.out)
		}
	}
	wantReply(t, ca, "FAILOVER TO 127.0.0.1 "+portB+" FORCE", "ERR FAILOVER with force option requires both a timeout and target HOST and IP.")
	wantReply(t, ca, "FAILOVER TO 127.0.0.1 "+portA, "ERR FAILOVER target HOST and PORT is not a replica.")
	wantReply(t, cb, "FAILOVER", "ERR FAILOVER is not valid when server is a replica.")
	wantReply(t, cb, "PSYNC "+noStream+" 1 FAILOVER", "ERR PSYNC FAILOVER replid must match my replid.")
	master, other := a, b
	for round, call := range []string{"FAILOVER TO 127.0.0.1 " + portB, "FAILOVER"} {
		done, wrote := make(chan struct{}), make(chan int)
		writer := dial(t, master)
		n++
		wantReply(t, writer, "INCR n", fmt.Sprint(n)) // one at least is written before the hand-over
		go func(n int) {                              // ends at the first call that the server refuses, or with done
			for {
				select {
				case <-done:
				default:
					if writer.do(t, "INCR n") == fmt.Sprint(n+1) {
						n++
						continue
					}
				}
				wrote <- n
				return
			}
		}(n)
		handsOver(t, master, other, call)
		close(done)
		n = <-wrote
		if got := dial(t, other).do(t, "GET n"); got != fmt.Sprint(n) {
			t.Errorf("hand-over %d: n is %s, want %d", round, got, n)
		}
		master, other = other, master
	}
	for _, c := range []*client{ca, cb} {
		stats := c.do(t, "INFO stats")
		if full := map[*client]string{ca: "sync_full:1\r\n", cb: "sync_full:0\r\n"}[c]; !strings.Contains(stats, full) || !strings.Contains(stats, "sync_partial_ok:1\r\n") {
			t.Errorf("want %q and one that is partial: %s", full, stats)
		}
	}
	// A replica that has not everything gets no role, and the master writes again.
	b.freeze(t)
	wantReply(t, ca, "SET k v", "OK")
	wantReply(t, ca, "FAILOVER TIMEOUT 50", "OK")
	wantReply(t, ca, "SET k w", "OK") // when the time is over
	wantReply(t, ca, "FAILOVER", "OK")
	wantReply(t, ca, "FAILOVER", "ERR FAILOVER already in progress.")
	wantReply(t, ca, "REPLICAOF NO ONE", "ERR REPLICAOF not allowed while failing over.")
	wantReply(t, ca, "FAILOVER ABORT", "OK")
	wantReply(t, ca, "SET k x", "OK")
	if role := ca.do(t, "ROLE"); !strings.HasPrefix(role, "[master ") {
		t.Errorf("ROLE: %s", role)
	}
	// By force it gets it all the same, when the time is over and it can be reached: both have the same data then, which is that of the new master.
	wantReply(t, ca, "FAILOVER TO 127.0.0.1 "+portB+" TIMEOUT 50 FORCE", "OK")
	awaitInfo(t, a, "role:slave", "master_failover_state:failover-in-progress")
	if got := ca.do(t, "SET k lost"); !strings.HasPrefix(got, "READONLY ") {
		t.Errorf("a write amid a forced hand-over: %s", got)
	}
	b.signal(t, syscall.SIGCONT)
	awaitInfo(t, a, "role:slave", "master_link_status:up", "master_failover_state:no-failover")
	awaitInfo(t, b, "role:master", "state=online")
	wantReply(t, cb, "SET k new", "OK")
	wantReply(t, cb, "WAIT 1 20000", "1")
	for _, key := range []string{"k", "n"} {
		if got, want := ca.do(t, "GET "+key), cb.do(t, "GET "+key); got != want {
			t.Errorf("%s is %s at the former master, %s at the new one", key, got, want)
		}
	}
}

// awaitInfo waits until INFO replication of a server has some texts.
func awaitInfo(t *testing.T, p *process, texts ...string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		info := dial(t, p).do(t, "INFO replication")
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(info, text) }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q is not there within 30 s: %s\n%s", texts, info, p.out)
		}
	}
}

const noStream = "0123456789012345678901234567890123456789"
