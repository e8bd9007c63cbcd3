package server

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/disktest"
)

const readOnlyReplica = "(error) READONLY You can't write against a read only replica."

// ack is how a played master asks what was applied.
var ack = encode("REPLCONF", "GETACK", "*")

// A group follows a master by its leader, and each member has the data; the next leader goes on where the data is.
func TestAGroupFollowsAMaster(t *testing.T) {
	c := newCouple(t, nil, nil)
	admin, m := c.dial(), playMaster(t, nil)
	admin.want("SET old 1", "OK")
	waiting := c.dial()
	waiting.send("BLPOP", "q", "0")
	c.until("the client waits", func() bool { return strings.Contains(admin.do("INFO", "clients"), "blocked_clients:1") })
	c.follows(m, admin, rdbString("a", "1"), "\xf5"+rdbText(library), "\xfe\x03", rdbString("b", "2"))
	waiting.ended()
	m.stream("INCR a", "RPUSH l x y", "SELECT 3", "SET c 3")
	for _, at := range []*rig{c.rig, c.follower} {
		o := at.dial()
		o.want("MGET old a", `[(nil) "2"]`)
		o.want("LRANGE l 0 -1", `["x" "y"]`)
		o.want("SELECT 3", "OK")
		o.want("MGET b c", `["2" "3"]`)
		o.want("SET k v", readOnlyReplica)
		at.has("replicaof", "127.0.0.1 "+m.port())
		if r := at.srv.store.Replicated(); r != (persistence.Replicated{Follows: true, ID: streamID, Offset: r.Offset, DB: 3}) {
			t.Errorf("the data is that of %+v", r)
		}
	}
	role := fmt.Sprintf(`["slave" "127.0.0.1" (int) %s "connected" (int) %d]`, m.port(), m.sent)
	c.until("ROLE is "+role, func() bool { return admin.do("ROLE") == role }) // what asks for the offset counts a moment later
	for name, want := range map[string]string{"role": "slave", "master_port": m.port(), "master_link_status": "up", "connected_slaves": "0"} {
		if got := admin.replicationField(name); got != want {
			t.Errorf("INFO replication: %s is %q, want %q", name, got, want)
		}
	}
	c.follower.dial().want("REPLICAOF NO ONE", "(error) READONLY REPLICAOF is for the leader of a group: VIGIL.CLUSTER STATUS shows it")
	admin.want("VIGIL.CLUSTER UNSHARE replicaof", "(error) ERR 'replicaof' ends with REPLICAOF NO ONE")
	admin.want("REPLICAOF 127.0.0.1 "+m.port(), "OK Already connected to specified master")

	sent := m.sent - int64(len(ack)) // what has no effect comes again
	c.fail()
	m.log = c.follower.log.all
	m.goOn(sent)
	m.stream("SELECT 0", "INCR a")
	admin = c.follower.dial()
	admin.want("GET a", `"3"`)
	admin.want("CONFIG SET timeout 70", "OK")
	if got := admin.do("FUNCTION", "LIST"); !strings.Contains(got, "knock") { // a member has the libraries when it leads
		t.Errorf("FUNCTION LIST: %s", got)
	}
	admin.want("SET k v", readOnlyReplica)
	admin.want("REPLICAOF NO ONE", "OK")
	m.hangsUp()
	c.follower.has("replicaof", "")
	admin.want("SET k v", "OK")
	admin.want("GET a", `"3"`)
	admin.want("ROLE", `["master" (int) 0 []]`)
	if r := c.follower.srv.store.Replicated(); r.Follows || r.ID2 != streamID {
		t.Errorf("the data of a master is that of %+v", r)
	}
	c.other.depose()
	c.other.elect()
	c.follower.dial().want("SET k w", "OK")
}

// What a leader has applied and its group has not committed comes again.
func TestAGroupGoesOnWithWhatItHasCommitted(t *testing.T) {
	r, g := newGroupRig(t)
	c, m := r.dial(), playMaster(t, nil)
	r.follows(m, c, rdbString("a", "1"))
	m.stream("INCR a")
	sent := m.sent - int64(len(ack))
	r.until("the change is committed", func() bool { return r.srv.store.Commits().Unsynced() == 0 })
	g.holdBack(true)
	m.feed(encode("INCR", "a"))
	r.until("the change is recorded", func() bool { return r.srv.store.Commits().Unsynced() == 1 })
	g.depose()
	m.hangsUp()
	if now := r.srv.store.Replicated(); now.Offset != sent {
		t.Errorf("%d bytes of the stream are applied, want %d", now.Offset, sent)
	}
	g.elect()
	m.goOn(sent)
	m.stream("INCR a", "INCR a")
	r.dial().want("GET a", `"4"`)
}

// The data of a group stays as it is when its leader changes before the master's has come.
func TestAGroupThatLosesItsLeaderBeginsAnew(t *testing.T) {
	c := newCouple(t, nil, nil)
	admin, m := c.dial(), playMaster(t, nil)
	admin.want("SET old 1", "OK")
	m.log = c.log.all
	admin.want("REPLICAOF 127.0.0.1 "+m.port(), "OK")
	m.greet()
	m.write(fmt.Sprintf("+FULLRESYNC %s 5\r\n$1000\r\n%s", streamID, rdbBegin+rdbString("a", "1")))
	c.until("a part of the file has come", func() bool { return admin.replicationField("master_sync_in_progress") == "1" })
	admin.want("GET old", `"1"`)
	c.fail()
	m.log = c.follower.log.all
	m.give(rdbString("a", "2"))
	c.follower.dial().want("MGET old a", `[(nil) "2"]`)
	if r := c.rig.srv.store.Replicated(); r.Follows {
		t.Errorf("a member that was replaced has the data of %+v", r)
	}
}

// A part of a master's data is shown to nobody. It is replaced when all has come, or removed when the group is a master again.
func TestNobodySeesAPartOfAMastersData(t *testing.T) {
	for _, end := range []string{"the rest comes", "a client ends it", "a crash"} {
		disk := disktest.New()
		open := func(g *testGroup, fs *disktest.Disk) *rig {
			return newRig(t, g.join, onDisk("store"), func(o *Options) { o.Store = func(p *persistence.Options) { p.FS = fs } })
		}
		g := newTestGroup(t)
		r := open(g, disk)
		g.elect()
		c, m := r.dial(), playMaster(t, nil)
		m.log = r.log.all
		queued := r.dial()
		queued.want("MULTI", "OK")
		queued.want("GET a", "QUEUED")
		c.want("SET a part", "OK")
		var lsn uint64
		r.texts(func(tx *persistence.Tx) {
			tx.Texts(persistence.Directives).Set(replicaOf, "127.0.0.1 "+m.port())
			tx.SetReplicated(persistence.Incomplete())
		})
		if lsn = r.srv.store.Commits().Newest(); r.srv.store.Commits().WaitDurable(lsn) != nil {
			t.Fatal("it is not committed")
		}
		r.srv.recallConfiguration()
		c.want("GET a", "(error) LOADING Redis is loading the dataset in memory")
		queued.want("EXEC", "(error) EXECABORT Transaction discarded because of: LOADING Redis is loading the dataset in memory")
		for _, call := range []string{"SET a b", "DBSIZE", "KEYS *", "FLUSHALL", "SCAN 0"} {
			if got := c.do(strings.Fields(call)...); !strings.HasPrefix(got, "(error) LOADING") {
				t.Errorf("%s: %s", call, got)
			}
		}
		if err := r.srv.Health(); err != ErrLoading {
			t.Errorf("Health: %v", err)
		}
		if _, err := r.srv.Export(t.Context(), ExportOptions{Path: "-", For: "redis7.4"}, nil); err != errExportPart {
			t.Errorf("Export: %v", err)
		}
		c.want("PING", "PONG")
		if end == "a crash" {
			g = newTestGroup(t)
			r = open(g, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}))
			r.dial().want("GET a", "(error) LOADING Redis is loading the dataset in memory")
			end = "the rest comes"
		} else {
			g.depose()
		}
		g.elect()
		c = r.dial()
		if m.log = r.log.all; end == "the rest comes" {
			m.give(rdbString("b", "1"))
			c.want("MGET a b", `[(nil) "1"]`)
			c.want("SET a b", readOnlyReplica)
			continue
		}
		m.greet()
		c.want("REPLICAOF NO ONE", "OK")
		m.hangsUp()
		c.want("DBSIZE", "(int) 0")
		c.want("SET a b", "OK")
	}
}

// A leader imports a file for its group.
func TestAGroupImportsAFile(t *testing.T) {
	file := rdbBegin + "\xf5" + rdbText(library) + rdbString("a", "new") + rdbString("b", "new") + "\xfe\x01" + rdbString("a", "new") + rdbEnd
	for _, c := range []struct{ rule, a, kept, other, status string }{
		{"FAIL", `"old"`, `"old"`, `"old"`, "there are keys already"},
		{"SKIP", `"old"`, `"old"`, `"new"`, "kept: 1 keys"},
		{"REPLACE", `"new"`, `"old"`, `"new"`, "done"},
		{"REPLACE-ALL", `"new"`, "(nil)", `"new"`, "done"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "dump.rdb"), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		o := newCouple(t, []string{"--import-dir", dir}, []string{"--import-dir", dir})
		admin := o.dial()
		for _, call := range []string{"SET a old", "SET kept old"} {
			admin.want(call, "OK")
		}
		if c.rule == "FAIL" {
			admin.want("SELECT 1", "OK")
			admin.want("SET a old", "OK")
		}
		if status := o.imported(admin, "dump.rdb", "ON-CONFLICT", c.rule); !strings.Contains(status, c.status) {
			t.Errorf("%s: status %s: no %s", c.rule, status, c.status)
		}
		for _, at := range []*rig{o.rig, o.follower} {
			d := at.dial()
			d.want("GET a", c.a)
			d.want("GET kept", c.kept)
			d.want("SELECT 1", "OK")
			d.want("GET a", c.other)
		}
		if got := admin.do("FUNCTION", "LIST"); strings.Contains(got, "knock") != (c.rule != "FAIL") {
			t.Errorf("FUNCTION LIST: %s", got)
		}
		o.follower.dial().want("VIGIL.IMPORT PATH dump.rdb", "(error) ERR an import into a group is for the member that leads it: VIGIL.CLUSTER STATUS shows the leader")
	}
}
