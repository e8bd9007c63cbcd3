package server

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
)

// testDisk is a device whose syncs a test holds up or fails, and which it fills.
type testDisk struct {
	mem    *vfs.MemFS
	full   atomic.Bool  // writes fail
	broken atomic.Bool  // syncs fail
	gate   sync.RWMutex // held by the test while syncs are to wait
	syncs  atomic.Int64 // that were begun
}

func (d *testDisk) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		d.syncs.Add(1)
		d.gate.RLock()
		defer d.gate.RUnlock()
		if d.broken.Load() {
			return syscall.EIO
		}
	case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpCreate, errorfs.OpFilePreallocate:
		if d.full.Load() {
			return syscall.ENOSPC
		}
	}
	return nil
}

func (d *testDisk) String() string { return "test disk" }

// newDiskRig opens a server on a disk of its own, under appendfsync always.
func newDiskRig(t *testing.T, d *testDisk) *rig {
	t.Helper()
	r := newRig(t, func(o *Options) {
		o.InMemory = false
		o.Store = func(s *persistence.Options) { s.FS, s.Dir = errorfs.Wrap(d.mem, d), "db" }
	})
	r.dial().want("CONFIG SET appendfsync always", "OK")
	return r
}

// eachDurableTransport runs a test under appendfsync always.
func eachDurableTransport(t *testing.T, test func(t *testing.T, r *rig, d *testDisk, dial func() *testClient)) {
	t.Helper()
	for _, name := range []string{"memory", "socket"} {
		t.Run(name, func(t *testing.T) {
			d := &testDisk{mem: vfs.NewMem()}
			r := newDiskRig(t, d)
			dial := r.dial
			if name == "socket" {
				addr := r.loopback()
				dial = func() *testClient { return r.dialTCP(addr) }
			}
			test(t, r, d, dial)
		})
	}
}

// hold makes syncs wait until the returned function is called.
func (d *testDisk) hold() (release func()) {
	d.gate.Lock()
	return d.gate.Unlock
}

func TestReplyWaitsForTheDevice(t *testing.T) {
	eachDurableTransport(t, func(t *testing.T, r *rig, d *testDisk, dial func() *testClient) {
		c, reader := dial(), dial()
		for range 20 {
			release := d.hold()
			before, sent := r.srv.store.Stats().LSN, r.sent()
			c.raw(encode("INCR", "n") + encode("INCR", "n"))
			r.until("both are journalled", func() bool { return r.srv.store.Stats().LSN >= before+2 })
			reader.quiet() // others go on meanwhile
			if r.sent() != sent+pong {
				t.Fatal("a write was acknowledged before its record was on the device")
			}
			at := r.srv.store.Commits().Synced()
			if at >= before+2 {
				t.Fatal("the device was not held up")
			}
			release()
			c.reply()
			c.reply()
			if now := r.srv.store.Commits().Synced(); now < before+2 {
				t.Fatalf("acknowledged at %d, on the device up to %d", before+2, now)
			}
		}
	})
}

// sent is how many bytes the server wrote to all clients.
func (r *rig) sent() int64 { return r.srv.stats.outputBytes.Load() }

const pong = int64(len("+PONG\r\n"))

// Neither the one who pushed nor the one who was served is told too early.
func TestServedClientWaitsForTheDeviceToo(t *testing.T) {
	eachDurableTransport(t, func(t *testing.T, r *rig, d *testDisk, dial func() *testClient) {
		waits, p, reader := dial(), dial(), dial()
		for range 20 {
			waits.raw(encode("BLPOP", "q", "0") + encode("ECHO", "behind"))
			r.blocked(1)
			release, sent := d.hold(), r.sent()
			p.send("RPUSH", "q", "a")
			r.blocked(0)
			reader.quiet()
			if r.sent() != sent+pong {
				t.Fatal("told before the record was on the device")
			}
			release()
			p.next("(int) 1")
			waits.next(`["q" "a"]`)
			waits.next(`"behind"`)
		}
	})
}

// classmate is another key for which readers wait as they do for key.
func (r *rig) classmate(key string) string {
	for n := 0; ; n++ {
		other := "other" + strconv.Itoa(n)
		if r.srv.store.Hash([]byte(other))>>48 == r.srv.store.Hash([]byte(key))>>48 {
			return other
		}
	}
}

// One that half closed while its reply waits for the device still gets it.
func TestServedClientThatHalfClosedGetsItsElement(t *testing.T) {
	eachDurableTransport(t, func(t *testing.T, r *rig, d *testDisk, dial func() *testClient) {
		waits, p := dial(), dial()
		waits.send("BLPOP", "q", "0")
		r.blocked(1)
		release := d.hold()
		p.send("RPUSH", "q", "a")
		r.blocked(0)
		waits.closeWrite()
		release()
		waits.next(`["q" "a"]`)
		waits.ended()
		p.next("(int) 1")
	})
}

func TestFailedSyncAcknowledgesNothing(t *testing.T) {
	eachDurableTransport(t, func(t *testing.T, r *rig, d *testDisk, dial func() *testClient) {
		c, waits, reader, late := dial(), dial(), dial(), dial()
		c.want("SET k old", "OK")
		waits.send("BLPOP", "q", "0")
		r.blocked(1)
		p := dial()
		p.quiet()
		late.quiet()
		d.broken.Store(true)
		release := d.hold()
		p.send("RPUSH", "q", "a")
		r.blocked(0)
		release()
		for _, lost := range []*testClient{p, waits} {
			if got, err := lost.read(); err == nil {
				t.Errorf("got %s, want the end of the connection", got)
			}
		}
		r.until("the store knows", func() bool { return r.srv.store.WriteError() != nil })
		got := late.do("SET", "k", "new")
		if !strings.HasPrefix(got, "(error) MISCONF ") {
			t.Errorf("SET: got %s, want MISCONF", got)
		}
		reader.want("GET k", `"old"`)
		unsynced := "(error) " + string(commands.ErrUnsynced)
		reader.want("LRANGE q 0 -1", unsynced)
		reader.want("DBSIZE", unsynced)
		reader.want("PING", "PONG")
		other := r.classmate("q") // its keys are told apart when the record that served the list was looked at, too
		r.until("another key of the class is read", func() bool { return reader.do("EXISTS", other) == "(int) 0" })
		if got := late.exec("SET k new", "PING"); !strings.Contains(got, "MISCONF") && !strings.Contains(got, "EXECABORT") {
			t.Errorf("EXEC: got %s, want MISCONF", got)
		}
		reader.want("GET k", `"old"`)
		reader.want("PUBLISH ch m", "(int) 0")
		d.broken.Store(false)
		r.until("the disk is written again", func() bool { return late.do("SET", "k", "newer") == "OK" })
		reader.want("GET k", `"newer"`)
		reader.want("LLEN q", "(int) 0")
	})
}

func TestFullDiskRefusesWritesAndLosesNothing(t *testing.T) {
	d := &testDisk{mem: vfs.NewMem()}
	var acknowledged int
	t.Run("fill", func(t *testing.T) {
		r := newDiskRig(t, d)
		for round := range 2 {
			c := r.dial()
			for range 20 {
				c.want("INCR n", "(int) "+strconv.Itoa(acknowledged+1))
				acknowledged++
			}
			d.full.Store(true)
			// The write that finds it out is not acknowledged; it may last.
			c.send("SET", "lost", strconv.Itoa(round))
			if got, err := c.read(); err == nil && !strings.HasPrefix(got, "(error) MISCONF") {
				t.Fatalf("SET on a full disk: got %s", got)
			}
			reader := r.dial()
			reader.want("GET n", `"`+strconv.Itoa(acknowledged)+`"`)
			d.full.Store(false)
			r.until("the disk is written again", func() bool {
				c := r.dial()
				defer c.nc.Close()
				c.send("SET", "found", "1")
				got, err := c.read()
				return err == nil && got == "OK"
			})
		}
	})
	r := newDiskRig(t, d)
	r.dial().want("GET n", `"`+strconv.Itoa(acknowledged)+`"`)
	r.dial().want("GET found", `"1"`)
}

// The session alone: nothing is written while the journal is behind, and
// nothing at all if it fails.
func TestSessionHoldsRepliesBackWhileTheJournalIsBehind(t *testing.T) {
	r := newRig(t)
	r.dial().want("CONFIG SET appendfsync always", "OK")
	s, e := r.handSession()
	defer s.Leave()
	e.unsaved = true
	if err := s.feedText(encode("SET", "k", "v") + encode("GET", "k")); err != nil || e.writes > 0 {
		t.Fatalf("got %v, %q", err, e.wrote)
	}
	for range 3 {
		if err := s.Resume(); err != nil || e.writes > 0 {
			t.Fatalf("got %v, %q", err, e.wrote)
		}
	}
	e.unsaved = false
	if err := s.Resume(); err != nil || string(e.wrote) != "+OK\r\n$1\r\nv\r\n" {
		t.Fatalf("got %v, %q", err, e.wrote)
	}
	e.failed = errors.New("no device")
	if err := s.feedText(encode("SET", "k", "w")); err == nil {
		t.Error("a failed write ended well")
	}
	if e.writes > 1 {
		t.Errorf("wrote %q", e.wrote)
	}
}

// Whatever a client is told under always outlives a crash: a reply waits for the
// records that it tells of, whoever made them.
func TestReaderWaitsForWhatItIsShown(t *testing.T) {
	shown := []struct {
		name, write, read, want string
	}{
		{"a value", "SET k new", "GET k", `"new"`},
		{"a deletion", "DEL gone", "EXISTS gone", "(int) 0"},
		{"an error", "DEL gone", "RENAME gone other", "(error) ERR no such key"},
		{"an expiry", "PEXPIREAT k 99999999999999", "PEXPIRETIME k", "(int) 99999999999999"},
		{"a list", "RPUSH l b", "LRANGE l 0 -1", `["a" "b"]`},
		{"a write that is refused", "SET other v", "SETNX other w", "(int) 0"},
		{"a number of keys", "SET one more", "DBSIZE", "(int) 6"},
		{"a flushed database", "FLUSHDB", "GET k", "(nil)"},
		{"an exchange of databases", "SWAPDB 0 1", "GET k", `"elsewhere"`},
	}
	eachDurableTransport(t, func(t *testing.T, r *rig, d *testDisk, dial func() *testClient) {
		for _, c := range shown {
			t.Run(c.name, func(t *testing.T) {
				writer, reader, others := dial(), dial(), dial()
				others.want("FLUSHALL", "OK")
				others.want("SELECT 1", "OK")
				others.want("SET k elsewhere", "OK")
				others.want("SELECT 0", "OK")
				others.want("MSET k old gone v sure v", "OK")
				others.want("RPUSH l a", "(int) 1")
				others.want("SET still v", "OK")
				reader.quiet()
				release := d.hold()
				before, sent := r.srv.store.Stats().LSN, r.sent()
				writer.raw(encode(strings.Fields(c.write)...))
				r.until("the write is journalled", func() bool { return r.srv.store.Stats().LSN > before })
				read := strings.Fields(c.read)
				name := strings.ToLower(read[0])
				calls := r.srv.stats.calls(name)
				reader.raw(encode(read...))
				r.until("the read has run", func() bool { return r.srv.stats.calls(name) > calls })
				others.quiet()
				if r.sent() != sent+pong {
					t.Error("a reader was shown what a crash can undo")
				}
				release()
				writer.reply()
				reader.next(c.want)
			})
		}
	})
}
