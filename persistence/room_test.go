package persistence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/reserve"
	"github.com/vigildb/vigil/persistence/wal"
)

// smallDisk is a disk of a certain size in memory, on which other files may be.
type smallDisk struct {
	vfs.FS
	mu    sync.Mutex
	total int64 // guarded by mu
	other int64 // guarded by mu
}

func (d *smallDisk) usedLocked() (n int64) {
	for _, dir := range []string{"db", "db/log"} {
		names, err := d.FS.List(dir)
		if err != nil {
			continue
		}
		for _, name := range names {
			if info, err := d.FS.Stat(d.FS.PathJoin(dir, name)); err == nil && !info.IsDir() {
				n += info.Size()
			}
		}
	}
	return n + d.other
}

func (d *smallDisk) free() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(0, d.total-d.usedLocked())
}

// fill adds other files until so much is free.
func (d *smallDisk) fill(free int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.other = 0
	d.other = d.total - d.usedLocked() - free
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	free := uint64(d.free())
	return vfs.DiskUsage{AvailBytes: free, TotalBytes: uint64(d.total), UsedBytes: uint64(d.total) - free}, nil
}

func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return d.file(f, err)
}

func (d *smallDisk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(old, name, c)
	return d.file(f, err)
}

func (d *smallDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.OpenReadWrite(name, c, o...)
	return d.file(f, err)
}

func (d *smallDisk) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &smallFile{f, d}, nil
}

type smallFile struct {
	vfs.File
	d *smallDisk
}

func (f *smallFile) Write(b []byte) (int, error) {
	if int64(len(b)) > f.d.free() {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(b)
}

func (f *smallFile) WriteAt(b []byte, off int64) (int, error) {
	info, err := f.File.Stat()
	if err == nil && off+int64(len(b))-info.Size() > f.d.free() {
		err = syscall.ENOSPC
	}
	if err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, off)
}

const (
	smallTotal   = 128 << 20
	smallReserve = 4 << 20
)

// roomRig is a store on a small disk whose room task the test steps.
type roomRig struct {
	t    *testing.T
	disk *smallDisk
	s    *Store
	room Task
	stop chan struct{}
	done sync.WaitGroup
	mu   sync.Mutex
	log  []string // guarded by mu
}

func newRoomRig(t *testing.T, policy SyncPolicy) *roomRig {
	r := &roomRig{t: t, disk: &smallDisk{FS: disktest.New(), total: smallTotal}}
	r.open(policy)
	t.Cleanup(func() {
		r.disk.fill(smallTotal / 2)
		r.close()
	})
	return r
}

func (r *roomRig) open(policy SyncPolicy) {
	r.t.Helper()
	r.stop = make(chan struct{})
	s, err := Open(Options{FS: r.disk, Dir: "db", Databases: 1, Sync: policy, Reserve: smallReserve, IdleAfter: -1, Logf: r.logf, Background: r.background})
	if err != nil {
		r.t.Fatal(err)
	}
	r.s = s
}

// background makes the steps of a task when they are due, those of the room apart.
func (r *roomRig) background(task Task) {
	if task.Name == "room" {
		r.room = task
		return
	}
	r.done.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-task.Wake:
				task.Step(false)
			case <-tick.C:
				task.Step(task.Period > 0)
			case <-r.stop:
				return
			}
		}
	})
}

func (r *roomRig) close() {
	if r.s == nil {
		return
	}
	if err := r.s.Close(); err != nil {
		r.t.Errorf("close: %v", err)
	}
	close(r.stop)
	r.done.Wait()
	r.s = nil
}

func (r *roomRig) logf(level int, format string, args ...any) {
	if level < LevelWarn {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

// said counts the lines of the log with a text.
func (r *roomRig) said(text string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.log {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (r *roomRig) until(what string, so func() bool) {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); {
		if time.Now().After(end) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.t.Fatalf("%s: not within 20 s; %d bytes are free, the log:\n%s", what, r.disk.free(), strings.Join(r.log, "\n"))
		}
		wait := time.NewTimer(time.Millisecond)
		<-wait.C
	}
}

func (r *roomRig) has(name string) bool {
	_, err := r.disk.Stat(r.disk.PathJoin("db", name))
	return err == nil
}

var roomNoise = rand.NewChaCha8([32]byte{1})

// set writes a key with bytes that do not compress, del deletes one.
func (r *roomRig) set(key string, size int) {
	value := make([]byte, size)
	_, _ = roomNoise.Read(value)
	all(r.s, 0, func(tx *Tx) { tx.SetString([]byte(key), value, 0) })
}

func (r *roomRig) del(key string) (there bool) {
	all(r.s, 0, func(tx *Tx) { there = tx.Delete([]byte(key)) })
	return there
}

func (r *roomRig) exists(key string) (there bool) {
	all(r.s, 0, func(tx *Tx) {
		var err error
		if _, there, err = tx.String([]byte(key)); err != nil {
			r.t.Error(err)
		}
	})
	return there
}

// fillUp writes until the disk is full and the store says so.
func (r *roomRig) fillUp(free int64) (keys int) {
	r.t.Helper()
	r.disk.fill(free)
	for ; r.s.WriteError() == nil && keys < 3000; keys++ {
		r.set(fmt.Sprintf("k%d", keys), 32<<10)
		if err := r.s.commits.WaitDurable(r.s.commits.Newest()); err != nil {
			break
		}
	}
	r.until("the reserve is given up", func() bool { return errors.Is(r.s.WriteError(), ErrFull) && r.s.DeleteError() == nil })
	return keys
}

// On a full disk the reserve is given up: deletions are on the device, under each policy, and the store is as it was
// when there is room.
func TestReserveIsForDeletionsOnAFullDisk(t *testing.T) {
	for _, policy := range []SyncPolicy{SyncAlways, SyncEverySecond, SyncNever} {
		r := newRoomRig(t, policy)
		if r.room.Step(true); !r.has(reserve.Name) {
			t.Fatal("there is no reserve")
		}
		n := r.fillUp(2 << 20)
		if r.has(reserve.Name) || r.said("The reserve is given up") != 1 {
			t.Errorf("policy %d: the reserve is there: %v; the log: %q", policy, r.has(reserve.Name), r.log)
		}
		r.room.Step(true)
		if !errors.Is(r.s.DiskError(), ErrFull) || r.has(reserve.Name) {
			t.Errorf("policy %d: without room the store says %v, and the reserve is there: %v", policy, r.s.DiskError(), r.has(reserve.Name))
		}
		if !r.del("k0") {
			t.Errorf("policy %d: k0 is not there", policy)
		}
		if err := r.s.commits.WaitDurable(r.s.commits.Newest()); err != nil {
			t.Fatalf("policy %d: the deletion: %v", policy, err)
		}
		for i := 1; i < n; i++ {
			r.s.DeleteError() // as the server asks before each
			r.del(fmt.Sprintf("k%d", i))
		}
		r.until("the deletions free room", func() bool { return r.disk.free() > smallReserve })
		r.disk.fill(smallTotal / 2)
		r.room.Step(true)
		if err := r.s.WriteError(); err != nil || !r.has(reserve.Name) || r.said("the reserve of 4194304 bytes is taken") != 1 {
			t.Errorf("policy %d: with room: %v; the log: %q", policy, err, r.log)
		}
		r.set("after", 10)
		if err := r.s.commits.WaitDurable(r.s.commits.Newest()); err != nil {
			t.Errorf("policy %d: %v", policy, err)
		}
	}
}

// A kill while the reserve is given up loses nothing that was synced, and the store starts without it, for deletions only.
func TestKillWhileTheReserveIsGivenUp(t *testing.T) {
	r := newRoomRig(t, SyncAlways)
	r.room.Step(true)
	r.fillUp(2 << 20)
	r.del("k0")
	if err := r.s.commits.WaitDurable(r.s.commits.Newest()); err != nil {
		t.Fatal(err)
	}
	killed := r.disk.FS.(*disktest.Disk).CrashClone(vfs.CrashCloneCfg{})
	r.disk.fill(smallTotal / 2)
	r.close()
	r.disk.FS = killed
	r.disk.fill(3 << 20)
	r.open(SyncAlways)
	if err := r.s.WriteError(); !errors.Is(err, ErrFull) {
		t.Errorf("after the start: %v, want %v", err, ErrFull)
	}
	if r.exists("k0") || !r.exists("k1") {
		t.Errorf("k0 is there: %v, k1: %v", r.exists("k0"), r.exists("k1"))
	}
	r.del("k1")
	if err := r.s.commits.WaitDurable(r.s.commits.Newest()); err != nil {
		t.Error(err)
	}
	r.disk.fill(smallTotal / 2)
	if r.room.Step(true); r.s.WriteError() != nil {
		t.Errorf("with room: %v", r.s.WriteError())
	}
}

// A start on a full disk gives the reserve up: Pebble has to write what its log holds. Without one it fails, and is no
// damage.
func TestStartOnAFullDisk(t *testing.T) {
	for _, withFile := range []bool{true, false} {
		r := newRoomRig(t, SyncAlways)
		if r.set("k", 1<<20); withFile {
			r.room.Step(true)
		}
		if err := r.s.commits.WaitDurable(r.s.commits.Newest()); err != nil {
			t.Fatal(err)
		}
		killed := r.disk.FS.(*disktest.Disk).CrashClone(vfs.CrashCloneCfg{})
		r.close()
		r.disk.FS = killed
		r.disk.fill(0)
		if !withFile {
			_, err := Open(Options{FS: r.disk, Dir: "db", Databases: 1, Reserve: smallReserve})
			if !IsFull(err) || wal.AsDamage(err) != nil {
				t.Errorf("without a reserve: %v", err)
			}
			continue
		}
		r.open(SyncAlways)
		if err := r.s.WriteError(); !errors.Is(err, ErrFull) || r.has(reserve.Name) || !r.exists("k") {
			t.Errorf("with a reserve: %v, it is there: %v, k is there: %v", err, r.has(reserve.Name), r.exists("k"))
		}
	}
}

// The warning of a disk that is nearly full comes once each time.
func TestNearlyFullDiskIsLoggedOnce(t *testing.T) {
	r := newRoomRig(t, SyncAlways)
	if free, total := r.s.Space(); free == 0 || total != smallTotal {
		t.Errorf("after the start %d of %d bytes are free", free, total)
	}
	r.room.Step(true) // takes the reserve
	for i, step := range []struct{ percent, warned, eased int }{
		{90, 0, 0}, {94, 0, 0}, {95, 1, 0}, {99, 1, 0}, {94, 1, 0}, {96, 1, 0}, {93, 1, 0}, {92, 1, 1}, {94, 1, 1}, {95, 2, 1},
	} {
		r.disk.fill(smallTotal - int64(step.percent)*smallTotal/100 - 1)
		r.room.Step(true)
		warned, eased := r.said("% full: "), r.said("% full now: ")
		if warned != step.warned || eased != step.eased {
			t.Errorf("step %d, %d %%: warned %d times, want %d; eased %d times, want %d", i, step.percent, warned, step.warned, eased, step.eased)
		}
		if free, _ := r.s.Space(); int64(free) != r.disk.free() {
			t.Errorf("%d bytes are free, want %d", free, r.disk.free())
		}
	}
}

// A close without room names how many acknowledged changes are lost.
func TestCloseOnAFullDiskCountsWhatIsLost(t *testing.T) {
	for _, policy := range []SyncPolicy{SyncAlways, SyncEverySecond, SyncNever} {
		r := newRoomRig(t, policy)
		r.disk.fill(0)
		close(r.stop) // nothing is written before the end
		r.done.Wait()
		for i := range 25 {
			r.set(fmt.Sprintf("k%d", i), 1000)
		}
		err := r.s.Close()
		r.s = nil
		var lost *Lost
		if known := errors.As(err, &lost); known != (policy != SyncAlways) || known && lost.Changes != 25 || !IsFull(err) {
			t.Errorf("policy %d: %v", policy, err)
		}
	}
}
