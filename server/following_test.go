package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/disktest"
)

// rdbExpiring is a string that expires at a time in ms of less than 2^32.
func rdbExpiring(key, value string, at uint32) string {
	return "\xfc" + string([]byte{byte(at), byte(at >> 8), byte(at >> 16), byte(at >> 24), 0, 0, 0, 0}) + rdbString(key, value)
}

// A server that follows a master has the master's data in place of its own, and then what the stream makes of it.
func TestReplicaHasTheDataOfItsMaster(t *testing.T) {
	r := newRig(t)
	c, m := r.dial(), playMaster(t, nil)
	c.want("SET own 1", "OK")
	r.follows(m, c, "\xf5"+rdbText(library), rdbString("a", "1"), "\xfe\x03", rdbString("b", "2"))
	c.want("GET own", "(nil)")
	c.want("GET a", `"1"`)
	if libraries := c.do("FUNCTION", "LIST"); !strings.Contains(libraries, "doors") {
		t.Errorf("the functions are %s", libraries)
	}
	m.stream("INCR a", "SELECT 3", "APPEND b x", "MULTI", "RPUSH l 1 2 3", "LPOP l", "SELECT 0", "DEL nosuch", "EXEC", "HSET h f v", "PING")
	c.want("GET a", `"2"`)
	c.want("HGETALL h", `["f" "v"]`)
	c.want("SELECT 3", "OK")
	c.want("GET b", `"2x"`)
	c.want("LRANGE l 0 -1", `["2" "3"]`)
	m.stream("SELECT 3", "SWAPDB 0 3", "FLUSHDB", "EVAL return{redis.call('incr',KEYS[1])} 1 scripted", "XADD s 5-1 f v", "XGROUP CREATE s g 0",
		"XCLAIM s g c 0 5-1 TIME 1000 RETRYCOUNT 3 FORCE JUSTID LASTID 5-1", "PFADD p x")
	c.want("XPENDING s g", `[(int) 1 "5-1" "5-1" [["c" "1"]]]`)
	c.want("GET scripted", `"1"`)
	c.want("SELECT 0", "OK")
	c.want("GET b", `"2x"`)
	r.until("all is applied", func() bool { return c.replicationField("slave_repl_offset") == fmt.Sprint(m.sent) })
	for name, want := range map[string]string{"role": "slave", "master_link_status": "up", "master_replid": streamID,
		"slave_read_repl_offset": fmt.Sprint(m.sent), "master_port": m.port(), "slave_read_only": "1", "master_sync_in_progress": "0", "vigil_replication_error": ""} {
		if got := c.replicationField(name); got != want {
			t.Errorf("INFO replication: %s is %q, want %q", name, got, want)
		}
	}
	if n := strings.Count(c.do("INFO", "replication"), "connected_slaves:"); n != 1 {
		t.Errorf("INFO replication says %d times how many replicas there are", n)
	}
	c.want("ROLE", fmt.Sprintf(`["slave" "127.0.0.1" (int) %s "connected" (int) %d]`, m.port(), m.sent))
}

// What is expired looks absent, and stays for the stream until the master deletes it.
func TestReplicaLeavesExpiryToItsMaster(t *testing.T) {
	r := newRig(t)
	c, m := r.dial(), playMaster(t, nil)
	r.follows(m, c, rdbExpiring("over", "5", 1000), rdbString("k", "v"))
	now := r.clock.Now().UnixMilli()
	c.want("GET over", "(nil)")
	c.want("EXISTS over", "(int) 0")
	c.want("DBSIZE", "(int) 2")
	m.stream("INCR over", "HSET h f 1 g 2", fmt.Sprintf("HPEXPIREAT h %d FIELDS 1 f", now+500), fmt.Sprintf("SET soon 1 PXAT %d", now+500),
		fmt.Sprintf("PEXPIREAT k %d", now-500), "SETEX relative 10 v", "SET other v EX 20", "SET third v", "EXPIRE third 30")
	c.want("GET k", "(nil)")
	c.want("TTL relative", "(int) 10")
	c.want("TTL other", "(int) 20")
	c.want("TTL third", "(int) 30")
	r.clock.advance(time.Second)
	r.srv.cron.run(r.srv)
	c.want("GET soon", "(nil)")
	c.want("HGETALL h", `["g" "2"]`)
	c.want("HLEN h", "(int) 2")
	m.stream("INCR soon", "HINCRBY h f 5", "PERSIST k", "HPERSIST h FIELDS 1 f", "PERSIST soon", "PERSIST over")
	c.want("GET soon", `"2"`)
	c.want("GET over", `"6"`)
	c.want("GET k", `"v"`)
	c.want("HGETALL h", `["f" "6" "g" "2"]`)
	m.stream(fmt.Sprintf("PEXPIREAT soon %d", now), "DEL k over other third")
	c.want("DBSIZE", "(int) 3")
	c.want("REPLICAOF NO ONE", "OK")
	r.srv.cron.run(r.srv)
	c.want("DBSIZE", "(int) 2") // a master decides again
}

// A replica that becomes a master keeps the data and says which stream it was of.
func TestPromotedReplicaKeepsTheData(t *testing.T) {
	r := newRig(t, onDisk(t.TempDir()))
	c, m := r.dial(), playMaster(t, nil)
	r.follows(m, c, rdbString("a", "1"))
	m.stream("INCR a")
	if got := c.do("HELLO"); !strings.Contains(got, `"role" "replica"`) {
		t.Errorf("HELLO: %s", got)
	}
	c.want("SET a 5", "(error) READONLY You can't write against a read only replica.")
	c.want("REPLICAOF NO ONE", "OK")
	m.hangsUp()
	c.want("INCR a", "(int) 3")
	id := c.replicationField("master_replid")
	if len(id) != 40 || id == streamID || c.replicationField("master_replid2") != streamID || c.replicationField("second_repl_offset") != fmt.Sprint(m.sent+1) ||
		c.replicationField("master_repl_offset") != fmt.Sprint(m.sent+int64(len(encode("SELECT", "0")+encode("SET", "a", "3")))) {
		t.Errorf("after the promotion: %s", c.do("INFO", "replication"))
	}
	// Its data has changed since, so that it cannot go on with the stream.
	c.want("REPLICAOF 127.0.0.1 "+m.port(), "OK")
	m.give(rdbString("a", "7"))
	c.want("GET a", `"7"`)
}

// A command that fails stops the replication as a whole transaction, and it goes on from there when that is allowed.
func TestReplicaStopsBeforeACommandThatFails(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--rename-command", "EXEC", "") })
	c, m := r.dial(), playMaster(t, nil)
	r.follows(m, c, rdbString("a", "1"), rdbString("text", "x"))
	m.stream("SET b 1")
	good := m.sent
	m.feed(encode("MULTI") + encode("INCR", "a") + encode("RPUSH", "l", "half") + encode("INCR", "text") + encode("EXEC") + encode("SET", "behind", "1"))
	m.hangsUp()
	r.until("the replication has stopped", func() bool { return c.replicationField("vigil_replication_error") != "" })
	if e := c.replicationField("vigil_replication_error"); !strings.Contains(e, "INCR") || !strings.Contains(e, "not an integer") || !strings.Contains(e, "offset ") {
		t.Errorf("vigil_replication_error is %s", e)
	}
	for name, want := range map[string]string{"master_link_status": "down", "slave_repl_offset": fmt.Sprint(good)} {
		if got := c.replicationField(name); got != want {
			t.Errorf("INFO replication: %s is %q, want %q", name, got, want)
		}
	}
	c.want("MGET a l behind b", `["1" (nil) (nil) "1"]`)
	c.want("CONFIG SET replica-on-error continue", "OK")
	c.want("REPLICAOF 127.0.0.1 "+m.port(), "OK")
	m.goOn(good)
	m.stream("MULTI", "INCR a", "RPUSH l half", "INCR text", "EXEC", "NOSUCH x", "CONFIG SET maxmemory 1", "BLPOP l 0", "SET behind 1")
	c.want("MGET a l behind b", `["2" (nil) "1" "1"]`)
	c.want("EXISTS l", "(int) 0")
	c.want("CONFIG GET maxmemory", `["maxmemory" "0"]`)
	if got := c.replicationField("vigil_replication_passed"); got != "3" {
		t.Errorf("%s commands were passed over, want 3", got)
	}
}

// A synchronization that fails leaves the old data, the next one has everything in one step.
func TestOldDataStaysUntilTheNewIsWhole(t *testing.T) {
	r := newRig(t, onDisk(t.TempDir()))
	c, m := r.dial(), playMaster(t, nil)
	c.want("SET own 1", "OK")
	c.want("REPLICAOF 127.0.0.1 "+m.port(), "OK")
	for _, x := range [][2]string{{rdbBegin + rdbString("a", "1") + "\x7e", "corrupt"}, {rdbBegin + "\xfe\x20" + rdbString("a", "1") + rdbEnd, "database 32"},
		{rdbBegin + rdbString("a", "1") + rdbString("a", "2") + rdbEnd, "the key was there before"}, {rdbBegin + rdbString("a", "1") + "\xff12345678", "checksum"},
		{"NOTRDB123", "begins no RDB file"}} {
		r.log.clear()
		m.greet()
		m.write(fmt.Sprintf("+FULLRESYNC %s 1\r\n$%d\r\n%s", streamID, len(x[0]), x[0]))
		m.hangsUp()
		r.until("the log says "+x[1], func() bool { return r.log.has(x[1]) })
		c.want("GET own", `"1"`)
		c.want("EXISTS a", "(int) 0")
		c.want("REPLICAOF NO ONE", "OK") // so that the next try comes at once
		c.want("REPLICAOF 127.0.0.1 "+m.port(), "OK")
	}
	mark := strings.Repeat("M", 40)
	m.greet()
	m.write(fmt.Sprintf("\n\n+FULLRESYNC %s 1000\r\n\n$EOF:%s\r\n%s", streamID, mark, rdbBegin+rdbString("a", mark)+rdbEnd+mark))
	m.sent = 1000
	m.settled()
	c.want("GET a", `"`+mark+`"`)
	c.want("EXISTS own", "(int) 0")
}

// After any crash the replica goes on with PSYNC, and each command of the stream counts once.
func TestReplicaGoesOnAfterACrash(t *testing.T) {
	disk := disktest.New()
	open := func(fs *disktest.Disk, args ...string) *rig {
		return newRig(t, onDisk("store"), func(o *Options) {
			o.Config = testConfig(t, args...)
			o.Store = func(p *persistence.Options) { p.FS = fs }
		})
	}
	m := playMaster(t, nil)
	r := open(disk)
	r.follows(m, r.dial(), rdbString("n", "0"))
	begin := m.sent - int64(len(encode("REPLCONF", "GETACK", "*")))
	var crashes []*disktest.Disk
	const calls = 60
	unit := encode("INCR", "n") + encode("PING") + encode("REPLCONF", "GETACK", "*")
	for i := range calls {
		m.stream("INCR n", "PING")
		if i%20 == 8 {
			if err := r.srv.journal.WaitDurable(r.srv.store.Commits().Newest()); err != nil {
				t.Fatal(err)
			}
		}
		if i%20 == 10 {
			crashes = append(crashes, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(uint64(i), 1))}))
		}
	}
	for i, crashed := range crashes {
		m := playMaster(t, nil)
		r := open(crashed, "--replicaof", "127.0.0.1 "+m.port())
		c := r.dial()
		size, ack := int64(len(unit)), int64(len(encode("REPLCONF", "GETACK", "*")))
		asked := m.greet()
		var offset int64
		if _, err := fmt.Sscanf(asked, streamID+" %d", &offset); err != nil {
			t.Fatalf("crash %d: the follower asks for %s", i, asked)
		}
		m.sent = offset - 1
		done := max(0, m.sent-begin-ack) / size
		m.write("+CONTINUE\r\n")
		rest := (encode("REPLCONF", "GETACK", "*") + strings.Repeat(unit, calls))[m.sent-begin:]
		m.feed(rest)
		m.settled()
		c.want("GET n", fmt.Sprintf(`"%d"`, calls))
		if done == 0 {
			t.Errorf("crash %d: nothing of the stream was kept", i)
		}
	}
}

// A server whose configuration names no master any more is one itself, and so is not the replica of a stream.
func TestReplicaWithoutAMasterIsAMaster(t *testing.T) {
	dir := t.TempDir()
	func() {
		r := newRig(t, onDisk(dir))
		m := playMaster(t, nil)
		r.follows(m, r.dial(), rdbString("a", "1"))
		if err := r.srv.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}()
	r := newRig(t, onDisk(dir))
	c := r.dial()
	c.want("INCR a", "(int) 2")
	if got := c.replicationField("master_replid2"); got != streamID {
		t.Errorf("master_replid2 is %s", got)
	}
}

// Clients of a replica that wait for keys to read are served by the stream, and those that wait to change them are disconnected.
func TestStreamServesClientsThatWait(t *testing.T) {
	r := newRig(t)
	c, m := r.dial(), playMaster(t, nil)
	pops := r.dial()
	pops.send("BLPOP", "l", "0")
	r.until("a client waits", func() bool { return strings.Contains(c.do("INFO", "clients"), "blocked_clients:1") })
	r.follows(m, c)
	pops.ended()
	reads, hears, watches := r.dial(), r.dial(), r.dial()
	reads.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
	hears.want("SUBSCRIBE news", `["subscribe" "news" (int) 1]`)
	watches.want("WATCH k", "OK")
	watches.want("MULTI", "OK")
	watches.want("GET k", "QUEUED")
	r.until("a client waits", func() bool { return strings.Contains(c.do("INFO", "clients"), "blocked_clients:1") })
	m.stream("XADD s 7-1 f v", "PUBLISH news hello", "SET k 1")
	reads.next(`[["s" [["7-1" ["f" "v"]]]]]`)
	hears.next(`["message" "news" "hello"]`)
	watches.want("EXEC", "(nil array)")
	c.want("BLPOP l 1", "(error) READONLY You can't write against a read only replica.")
	c.want("VIGIL.IMPORT PATH x", "(error) ERR the directive import-dir says in which directory files may be, and it is empty")
}

// Memory, eviction and pauses are no matter of the stream, and a replica that may be written to is.
func TestStreamIsNotHeldBack(t *testing.T) {
	r := newRig(t)
	c, m := r.dial(), playMaster(t, nil)
	r.follows(m, c, rdbString("a", "1"))
	c.want("CONFIG SET maxmemory-policy allkeys-random maxmemory 1", "OK")
	c.want("CLIENT PAUSE 100000 WRITE", "OK")
	m.stream("SET b 1", "SET d 1")
	r.srv.cron.run(r.srv)
	c.want("DBSIZE", "(int) 3")
	c.want("CLIENT UNPAUSE", "OK")
	c.want("CONFIG SET maxmemory 0 replica-read-only no", "OK")
	c.want("SET own 1", "OK")
	m.stream("INCR own")
	c.want("GET own", `"2"`)
}

// With tls-replication the master has to be one of an authority, and the password goes to no log.
func TestReplicaConnectsWithTLS(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	a.make("master", nil)
	other.make("master", nil)
	r := newRig(t, func(o *Options) {
		o.Config = testConfig(t, "--tls-replication", "yes", "--tls-ca-cert-file", a.path("ca.crt"), "--masterauth", "geheim")
	})
	c := r.dial()
	m := playMaster(t, &tls.Config{Certificates: a.pair("master")})
	r.follows(m, c, rdbString("a", "1"))
	c.want("GET a", `"1"`)
	wrong := playMaster(t, &tls.Config{Certificates: other.pair("master")})
	c.want("REPLICAOF 127.0.0.1 "+wrong.port(), "OK")
	nc, err := wrong.l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = nc.(*tls.Conn).Handshake() // it fails
	_ = nc.Close()
	r.until("the log tells of the certificate", func() bool { return r.log.has("certificate") })
	for _, line := range r.log.all() {
		if strings.Contains(line, "geheim") {
			t.Errorf("the log has the password: %s", line)
		}
	}
}

// The configuration makes a server a replica from its start, and clients cannot change that by CONFIG SET.
func TestConfigurationMakesAReplica(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--replicaof", "127.0.0.1 1") })
	c := r.dial()
	c.want("SET k v", "(error) READONLY You can't write against a read only replica.")
	c.want("CONFIG SET replicaof no", "(error) ERR CONFIG SET failed (possibly related to argument 'replicaof') - can't set immutable config")
}
