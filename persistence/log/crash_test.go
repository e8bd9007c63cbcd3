package log

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/structures/testscale"
)

// life does to a log what takes it through all that it does to its files. Errors are those of the disk.
func (w *world) life() error {
	var errs []error
	for i := range 60 {
		w.append()
		if i%3 == 0 {
			errs = append(errs, w.flush())
		}
		if i%5 == 0 {
			errs = append(errs, w.flush(), w.sync())
		}
		if i%16 == 15 {
			errs = append(errs, w.trim())
		}
		if i == 30 {
			errs = append(errs, w.checkpoint())
		}
	}
	return errors.Join(errs...)
}

// TestPowerFailsAtEachOperation takes the power away before each change of the disk, and opens what is left.
func TestPowerFailsAtEachOperation(t *testing.T) {
	crashes := 0
	for seed := range testscale.Rounds(uint64(6)) {
		w := newWorld(t, seed)
		w.hook = func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
				return nil
			}
			crashes++
			for _, percent := range []int{0, 30, 70, 100} {
				l, err := Open(w.configuration(w.crash(percent)))
				if err != nil {
					t.Fatalf("seed %d: power fails before %v of %s: %v", seed, op.Kind, op.Path, err)
				}
				w.verify(l, w.synced)
				l.Close()
			}
			return nil
		}
		if err := w.life(); err != nil {
			t.Fatal(err)
		}
		w.log.Close()
	}
	if crashes < 500/testscale.By {
		t.Errorf("%d crashes, want more", crashes)
	}
}

// failing has the changes of the disk fail from the nth on, or only that one. The first that did is in where.
type failing struct {
	err     error
	lasting bool
	left    int
	where   *errorfs.Op
}

func (f *failing) hook(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	f.left--
	if f.left == -1 {
		f.where = &op
	}
	if f.left == -1 || f.left < -1 && f.lasting {
		return f.err
	}
	return nil
}

// TestEachOperationFails has each change of the disk fail in turn, once or from then on until the log is
// repaired, and then the power.
func TestEachOperationFails(t *testing.T) {
	for _, mode := range []failing{{err: syscall.EIO}, {err: syscall.EIO, lasting: true}, {err: syscall.ENOSPC, lasting: true}} {
		failures := 0
		for n := 0; ; n += testscale.By {
			f := mode
			f.left = n
			w := newWorld(t, 5)
			w.hook = f.hook
			err := w.life()
			if f.where == nil {
				w.log.Close()
				break
			}
			failures++
			what := fmt.Sprintf("%v (lasting %v) in operation %d, %v of %s", f.err, f.lasting, n, f.where.Kind, f.where.Path)
			if err != nil && !errors.Is(err, f.err) {
				t.Fatalf("%s: %v", what, err)
			}
			f.lasting = false // the disk works again
			l, err := Open(w.configuration(w.crash(w.rand.IntN(101))))
			if err != nil {
				t.Fatalf("%s, then the power: %v", what, err)
			}
			w.verify(l, w.synced)
			l.Close()
			if err := w.repair(); err != nil {
				t.Fatalf("%s, and Repair too: %v", what, err)
			}
			w.append()
			if err := errors.Join(w.flush(), w.sync(), w.trim()); err != nil {
				t.Fatalf("%s, and after Repair: %v", what, err)
			}
			w.disk = w.crash(0)
			w.restart(w.next())
			w.log.Close()
			if t.Failed() {
				t.Fatal(what)
			}
		}
		if failures < 100/testscale.By {
			t.Errorf("%d operations failed, want more", failures)
		}
	}
}

// TestAFullDiskIsNoFailure has a segment that cannot be made: frames wait in memory until there is room.
func TestAFullDiskIsNoFailure(t *testing.T) {
	w := newWorld(t, 1)
	defer func() { w.log.Close() }()
	for _, kind := range []errorfs.OpKind{errorfs.OpCreate, errorfs.OpFilePreallocate, errorfs.OpFileWriteAt, errorfs.OpFileSync, errorfs.OpRename} {
		before := len(w.log.Segments())
		w.hook = func(op errorfs.Op) error {
			if op.Kind == kind && op.Offset == 0 && strings.HasPrefix(w.disk.PathBase(op.Path), sparePrefix) {
				return syscall.ENOSPC
			}
			return nil
		}
		for w.log.Written().Segment == w.log.End().Segment {
			w.append()
		}
		for range 2 {
			if err := w.flush(); !errors.Is(err, syscall.ENOSPC) || w.log.Err() != nil {
				t.Fatalf("%v of a segment: %v, failed: %v", kind, err, w.log.Err())
			}
			if err := w.sync(); err != nil || w.synced != w.flushed {
				t.Errorf("sync without room: %v", err)
			}
			w.append()
		}
		names, _ := w.disk.List("log")
		if len(names) != before {
			t.Errorf("%v of a segment fails: there are %q", kind, names)
		}
		w.hook = nil
		if err := errors.Join(w.flush(), w.sync()); err != nil {
			t.Fatal(err)
		}
		w.verify(w.log, w.next())
	}
}

// TestASegmentTakesWhatItNeedsOfADiskThatIsNearlyFull: what is left may be less than a segment, and is enough for the frames of deletions.
func TestASegmentTakesWhatItNeedsOfADiskThatIsNearlyFull(t *testing.T) {
	for _, c := range []struct {
		free      uint64 // in segments
		allocates bool
	}{{3, true}, {2, true}, {1, false}, {0, false}} {
		w := newWorld(t, 3)
		free := c.free * uint64(w.log.cfg.SegmentBytes)
		w.free = &free
		allocated := 0
		w.hook = func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFilePreallocate {
				allocated++
			}
			return nil
		}
		for before := w.log.End().Segment; w.log.End().Segment == before; {
			w.append()
			if err := w.flush(); err != nil {
				t.Fatalf("%d segments free: %v", c.free, err)
			}
		}
		if (allocated > 0) != c.allocates {
			t.Errorf("%d segments free: allocated %d times", c.free, allocated)
		}
		w.verify(w.log, w.next())
		w.log.Close()
	}
}

// TestADiskThatGoesOnFailingLeavesNoFiles repairs a log again and again while writes of frames fail.
func TestADiskThatGoesOnFailingLeavesNoFiles(t *testing.T) {
	w := newWorld(t, 2)
	defer func() { w.log.Close() }()
	w.append()
	w.hook = func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWriteAt && op.Offset >= HeadBytes {
			return syscall.EIO
		}
		return nil
	}
	w.flush()
	for range 10 {
		if err := w.repair(); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
	}
	if names, _ := w.disk.List("log"); len(names) > 1 {
		t.Errorf("there are %q", names)
	}
	w.hook = nil
	if err := w.repair(); err != nil {
		t.Fatal(err)
	}
	w.verify(w.log, w.next())
}

// TestANameThatIsNotSyncedIsNotLost has the process end when a segment has its name and the directory is not synced.
func TestANameThatIsNotSyncedIsNotLost(t *testing.T) {
	w := newWorld(t, 2)
	put(t, w.log, text(1, 10000))
	w.log.Append(1, text(2, 10000))
	w.hook = func(op errorfs.Op) error {
		if op.Kind == errorfs.OpOpenDir {
			return syscall.EIO
		}
		return nil
	}
	if _, err := w.log.Flush(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	w.hook = nil
	l := mustOpen(t, w.configuration(w.disk)) // the process before is gone
	put(t, l, text(3, 100))
	got, err := contents(mustOpen(t, w.configuration(w.crash(0))), Position{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, text(1, 10000), text(3, 100))
}

// TestASyncIsOfWhatWasWrittenBefore writes a frame while a sync is under way: it is not synced by that, and written
// again if it never is.
func TestASyncIsOfWhatWasWrittenBefore(t *testing.T) {
	w := newWorld(t, 2)
	defer func() { w.log.Close() }()
	put(t, w.log, text(1, 100))
	w.log.Append(1, text(2, 100))
	want, _ := w.log.Flush()
	w.synchronised = func() {
		w.synchronised = nil
		w.log.Append(1, text(3, 100))
		if end, err := w.log.Flush(); err != nil || !want.Before(end) {
			t.Errorf("written up to %v, %v", end, err)
		}
	}
	if got, err := w.log.Sync(); err != nil || got != want {
		t.Errorf("synced up to %v, %v, want %v", got, err, want)
	}
	f := failing{err: syscall.EIO}
	w.hook = f.hook
	if _, err := w.log.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("%v, want an error", err)
	}
	if err := w.log.Repair(nil); err != nil {
		t.Fatal(err)
	}
	got, err := contents(mustOpen(t, w.configuration(w.crash(0))), Position{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, text(1, 100), text(2, 100), text(3, 100))
}

// forgetful is a file system that takes for written what a sync has failed for, as systems do.
type forgetful struct {
	vfs.FS
	failing, clean bool
}

type forgetfulFile struct {
	vfs.File
	fs *forgetful
}

func (f *forgetful) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	return forgetfulFile{file, f}, err
}

func (f *forgetful) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.OpenReadWrite(name, c, opts...)
	return forgetfulFile{file, f}, err
}

func (f forgetfulFile) WriteAt(b []byte, off int64) (int, error) {
	f.fs.clean = false
	return f.File.WriteAt(b, off)
}

func (f forgetfulFile) SyncData() error {
	if f.fs.failing {
		f.fs.clean = true
		return syscall.EIO
	}
	if f.fs.clean {
		return nil
	}
	return f.File.SyncData()
}

// TestOpenTrustsNoSyncOfTheProcessBefore has a sync fail, the process end, and then the power.
func TestOpenTrustsNoSyncOfTheProcessBefore(t *testing.T) {
	disk := disktest.New()
	fs := &forgetful{FS: disk}
	cfg := small(fs)
	l := mustOpen(t, cfg)
	put(t, l, text(1, 100))
	l.Append(1, text(2, 5000))
	l.Flush()
	fs.failing = true
	if _, err := l.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	fs.failing = false
	next := mustOpen(t, cfg)
	cfg.FS, cfg.Synced = disk.CrashClone(vfs.CrashCloneCfg{}), map[uint64]int64{1: next.Synced().Offset}
	got, err := contents(mustOpen(t, cfg), Position{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, text(1, 100), text(2, 5000))
}

// TestOpeningFails has each operation of Open fail in turn: it can be tried again.
func TestOpeningFails(t *testing.T) {
	w := newWorld(t, 3)
	if err := w.life(); err != nil {
		t.Fatal(err)
	}
	w.flush()
	for n := 0; ; n++ {
		w.disk = w.crash(60)
		left := n
		w.hook = func(op errorfs.Op) error {
			if left--; left == -1 && op.Kind != errorfs.OpFileClose {
				return syscall.EIO
			}
			return nil
		}
		l, err := Open(w.configuration(w.fs()))
		if err == nil {
			l.Close()
		} else if !errors.Is(err, syscall.EIO) || AsDamage(err) != nil {
			t.Fatalf("operation %d fails: %v", n, err)
		}
		w.restart(w.synced)
		w.log.Close()
		if left >= 0 {
			if n < 20 {
				t.Errorf("Open does %d operations", n)
			}
			return
		}
	}
}
