package server

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// needsDatabases is the reply of a group of the level before several databases.
var needsDatabases = fmt.Sprintf("(error) ERR The group has level %d, and this needs level %d: VIGIL.CLUSTER UPGRADE at the leader raises it, once all members have a version that knows it",
	persistence.LevelDatabases-1, persistence.LevelDatabases)

// Calls about databases in a cluster of several are answered as Valkey 9.1.2 has answered them. Each call of the file begins with >, or 2> for
// another client, and the reply follows.
func TestDatabasesOfAClusterAnswerAsInValkey(t *testing.T) {
	f, err := os.Open("testdata/cluster-databases.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := newSlotsRig(t, "--cluster-databases", "4")
	clients := map[string]*testClient{"": r.dial(), "2": r.dial()}
	lines, calls := bufio.NewScanner(f), 0
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		who, call, ok := strings.Cut(lines.Text(), "> ")
		if !ok || clients[who] == nil || !lines.Scan() {
			t.Fatalf("not a call: %s", lines.Text())
		}
		if got := clients[who].do(strings.Fields(call)...); got != lines.Text() {
			t.Errorf("call %d, %s: got %s, want %s", calls, call, got, lines.Text())
		}
		calls++
	}
	if err := lines.Err(); err != nil || calls < 100 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// While members of a group may be of a version that looks for keys of slots in database 0 alone, there is no other one: neither for
// clients, whatever they selected before, nor for keys that other groups send.
func TestDatabasesWaitForTheLevelOfTheGroup(t *testing.T) {
	r := newSlotsRig(t, "--cluster-databases", "4")
	early := r.dial()
	early.want("SELECT 3", "OK")
	early.want("SET b v", "OK")
	frame := moved(t, r.srv, "b", 3)
	r.g.m.SetLevel(persistence.LevelTimed)
	c := r.dial()
	each(t, c, map[string]string{"SELECT 1": needsDatabases, "SELECT 0": "OK", "SELECT 4": "(error) ERR DB index is out of range", "MOVE b 1": needsDatabases,
		"COPY b b DB 1": needsDatabases, "COPY b {b} DB 0": "(int) 0", "EVAL return(redis.pcall('select','2')) 0": needsDatabases,
		"CLUSTER COUNTKEYSINSLOT 3300": "(int) 0", "CLUSTER SLOT-STATS SLOTSRANGE 3300 3300": `[[(int) 3300 ["key-count" (int) 0]]]`})
	each(t, early, map[string]string{"SET b new": needsDatabases, "GET b": needsDatabases, "EVAL return(redis.call('set','b','1')) 0": needsDatabases, "PING": "PONG"})
	if n := r.srv.databases(); n != 1 {
		t.Errorf("other groups are told of %d databases", n)
	}
	r.g.own.Store(new(slots.Set))
	if err := r.g.take(frame, func() bool { return true }); err == nil || !strings.Contains(err.Error(), "slot 3300 has keys in database 3") {
		t.Errorf("a key of database 3 comes: %v", err)
	}
	r.g.own.Store(nil)
	if err := r.g.remove(t.Context(), slotstest.Set(t, "3300"), func() bool { return true }); err != nil { // as members before do
		t.Error(err)
	}
	r.g.m.SetLevel(persistence.LevelDatabases)
	early.want("GET b", `"v"`)
	c.want("SELECT 1", "OK")
	if n := r.srv.databases(); n != 4 {
		t.Errorf("other groups are told of %d databases", n)
	}
}

// With one database, which is the default, calls that name another one are refused as in Redis, and other groups are told
// nothing, whatever the level.
func TestOneDatabaseIsTheDefault(t *testing.T) {
	r := newSlotsRig(t)
	for _, level := range []uint64{persistence.LevelTimed, persistence.LevelDatabases} {
		r.g.m.SetLevel(level)
		each(t, r.dial(), map[string]string{"SELECT 1": "(error) ERR SELECT is not allowed in cluster mode", "MOVE a x": "(error) ERR MOVE is not allowed in cluster mode",
			"COPY a {a} DB 1": "(error) ERR Copying to another database is not allowed in cluster mode", "CONFIG GET cluster-databases": `["cluster-databases" "1"]`})
		if n := r.srv.databases(); n != 1 {
			t.Errorf("level %d: other groups are told of %d databases", level, n)
		}
	}
}

// A client that watches or waits for a key of any database learns that its slot has gone, and the keys of all databases go from here.
func TestClientsOfAllDatabasesAreSentAway(t *testing.T) {
	r := newMovesRig(t, "--cluster-databases", "3")
	r.g.databases = 3
	c := r.dial()
	c.want("SELECT 2", "OK")
	c.want("SET b v", "OK")
	watcher, waiter := r.dial(), r.dial()
	watcher.want("SELECT 2", "OK")
	watcher.want("WATCH b", "OK")
	waiter.want("SELECT 1", "OK")
	waiter.send("BLPOP", "b", "0")
	r.until("a client waits", func() bool { return len(r.srv.blocked.All()) == 1 })
	r.begin(r.dial())
	r.given <- nil
	waiter.next(movedB)
	r.state(c, "success")
	watcher.want("MULTI", "OK")
	watcher.want("PING", queued)
	watcher.want("EXEC", "(nil array)")
	c.want("SET b v", movedB)
	if err := r.g.remove(t.Context(), slotstest.Set(t, "3300"), func() bool { return true }); err != nil {
		t.Error(err)
	}
	c.want("DBSIZE", "(int) 0")
	target := newShardsRig(t, "--cluster-databases", "3")
	target.g.own.Store(new(slots.Set))
	if err := target.g.take(r.sent, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	target.g.own.Store(nil)
	d := target.dial()
	d.want("DBSIZE", "(int) 0")
	d.want("SELECT 2", "OK")
	d.want("GET b", `"v"`)
}

// The checks before a server gives its slots or itself up see keys of all databases.
func TestKeysOfOtherDatabasesKeepSlots(t *testing.T) {
	r := newSlotsRig(t, "--cluster-databases", "3")
	c := r.dial()
	c.want("SELECT 2", "OK")
	c.want("SET b v", "OK")
	c.want("SELECT 0", "OK")
	for _, call := range []string{"CLUSTER DELSLOTS 3300", "CLUSTER FLUSHSLOTS", "CLUSTER RESET"} {
		if got := c.do(strings.Fields(call)...); !strings.HasPrefix(got, "(error) ERR") {
			t.Errorf("%s: %s", call, got)
		}
	}
	c.want("CLUSTER FLUSHSLOT 3300", "OK")
	c.want("CLUSTER DELSLOTS 3300", "OK")
}
