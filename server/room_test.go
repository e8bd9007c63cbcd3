package server

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
)

const crammedReserve = 1 << 20

// crammed is a disk on which there is room only as long as the reserve of the store is not there, once it is full.
type crammed struct {
	vfs.FS
	full atomic.Bool
	free atomic.Uint64
}

func (d *crammed) String() string { return "crammed disk" }

func (d *crammed) reserved() bool {
	info, err := d.FS.Stat("db/vigil-reserve")
	return err == nil && info.Size() == crammedReserve
}

func (d *crammed) MaybeError(op errorfs.Op) error {
	if (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileWriteAt) && d.full.Load() && d.reserved() {
		return syscall.ENOSPC
	}
	return nil
}

func (d *crammed) GetDiskUsage(string) (vfs.DiskUsage, error) {
	const total = 1 << 30
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: total, UsedBytes: total - d.free.Load()}, nil
}

// statfs keeps GetDiskUsage, which errorfs would pass on to what is inside of the disk.
type statfs struct {
	vfs.FS
	d *crammed
}

func (s statfs) GetDiskUsage(path string) (vfs.DiskUsage, error) { return s.d.GetDiskUsage(path) }

func (d *crammed) use(o *Options) {
	o.InMemory = false
	o.Store = func(s *persistence.Options) {
		s.FS, s.Dir, s.Reserve = statfs{errorfs.Wrap(d.FS, d), d}, "db", crammedReserve
	}
}

func newCrammed(free uint64) *crammed {
	d := &crammed{FS: vfs.NewMem()}
	d.free.Store(free)
	return d
}

// newCrammedRig is a server whose disk is full and whose reserve was given up.
func newCrammedRig(t *testing.T, fsync string) (*rig, *crammed) {
	d := newCrammed(1 << 29)
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--appendfsync", fsync) }, d.use)
	c := r.dial()
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		c.want("SET "+key+" v", "OK")
	}
	c.want("HSET h f v g v", "(int) 2")
	r.until("there is a reserve", d.reserved)
	d.free.Store(0)
	d.full.Store(true)
	r.dial().send("SET", "a", "v") // under always this ends the connection
	r.until("the reserve is given up", func() bool { return !d.reserved() && r.srv.store.DeleteError() == nil })
	return r, d
}

const misconf = "(error) MISCONF Errors writing to the AOF file: the store cannot be written"

// What only frees room is done on a full disk, under each policy, in transactions too. Whatever else would write is refused.
func TestOnlyDeletionsAreAcceptedOnAFullDisk(t *testing.T) {
	for _, fsync := range []string{"always", "everysec", "no"} {
		r, d := newCrammedRig(t, fsync)
		c := r.dial()
		for _, line := range []string{"SET a w", "APPEND a w", "EXPIRE a 100", "PERSIST a", "HDEL h f", "RENAME a z", "GETEX a EX 10",
			"GETSET a w", "COPY a z", "SWAPDB 0 1", "LPUSH l x", "DEBUG QUICKLIST"} {
			if got := c.do(strings.Fields(line)...); got != misconf && !strings.HasPrefix(got, "(error) ERR") {
				t.Errorf("%s: %s: got %s, want %s", fsync, line, got, misconf)
			}
		}
		if got := c.do("EVAL", "return redis.call('DEL', KEYS[1])", "1", "a"); !strings.HasPrefix(got, "(error) MISCONF") {
			t.Errorf("%s: DEL in a script: %s", fsync, got)
		}
		c.want("MULTI", "OK")
		c.want("DEL b", "QUEUED")
		c.want("SET b w", misconf)
		c.want("EXEC", "(error) EXECABORT Transaction discarded because of previous errors.")
		c.want("GET b", `"v"`)
		c.want("DEL a", "(int) 1")
		c.want("UNLINK b nosuch", "(int) 1")
		c.want("GETDEL c", `"v"`)
		c.want("MULTI", "OK")
		c.want("DEL d", "QUEUED")
		c.want("GET e", "QUEUED")
		c.want("EXEC", `[(int) 1 "v"]`)
		c.want("EXISTS a b c d e f", "(int) 2")
		c.want("FLUSHDB", "OK")
		c.want("DBSIZE", "(int) 0")
		c.want("FLUSHALL ASYNC", "OK")
		if got := c.do("INFO", "persistence"); !strings.Contains(got, `disk_free_bytes:0\r\ndisk_total_bytes:1073741824\r\n`) ||
			!strings.Contains(got, "aof_last_write_status:err") {
			t.Errorf("%s: INFO: %s", fsync, got)
		}
		d.full.Store(false)
		d.free.Store(1 << 29)
		r.until("there is room again", func() bool { return r.srv.store.WriteError() == nil })
		c.want("SET a again", "OK")
	}
}

// A row that frees writes, and nothing else does what DEL and FLUSHALL do: a new row is a decision.
func TestRowsThatFreeRoom(t *testing.T) {
	r := newRig(t)
	var free []string
	for _, c := range r.srv.table.All() {
		if c.Is(commands.Frees) {
			if free = append(free, c.Name); !c.Is(commands.Write) || c.Is(commands.DenyOOM) {
				t.Errorf("%s frees room, and its flags say otherwise", c.Name)
			}
		}
	}
	if got := strings.Join(free, " "); len(free) != 6 {
		t.Errorf("these free room: %s", got)
	}
}

// A leader that has come back without room deletes, and asks another member to lead, now and then.
func TestLeaderWithoutRoomDeletesAndYields(t *testing.T) {
	d := newCrammed(0)
	r, g := newGroupRig(t, d.use)
	c := r.dial()
	c.want("SET k v", misconf)
	c.want("DEL k", "(int) 0")
	handed := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.handed
	}
	r.clock.advance(time.Second)
	r.until("the leadership is given away", func() bool { return handed() == 1 })
	r.clock.advance(2 * time.Minute)
	if handed() != 1 {
		t.Errorf("it was given away %d times", handed())
	}
	r.clock.advance(4 * time.Minute)
	r.until("the leadership is given away again", func() bool { return handed() == 2 })
	d.free.Store(1 << 29)
	r.until("there is room again", func() bool { return r.srv.store.WriteError() == nil })
	c.want("SET k v", "OK")
}
