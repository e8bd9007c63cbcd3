package persistence

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/wal"
)

// amidDisk calls a function at operations of the disk, but not at those that the function makes.
type amidDisk struct {
	f    atomic.Pointer[func(op errorfs.Op)] // nil is none
	busy atomic.Bool
}

func (a *amidDisk) MaybeError(op errorfs.Op) error {
	if a.f.Load() == nil || !a.busy.CompareAndSwap(false, true) {
		return nil
	}
	defer a.busy.Store(false)
	if f := a.f.Load(); f != nil {
		(*f)(op)
	}
	return nil
}

func (a *amidDisk) String() string { return "amid operations" }

// during calls f at operations of the disk while do is run. Afterwards no call of it is under way.
func (a *amidDisk) during(f func(op errorfs.Op), do func() error) error {
	a.f.Store(&f)
	err := do()
	a.f.Store(nil)
	for !a.busy.CompareAndSwap(false, true) {
		runtime.Gosched()
	}
	a.busy.Store(false)
	return err
}

// crashes returns what a crash at each operation that changes a disk leaves of it, while do is run.
func (a *amidDisk) crashes(disk *disktest.Disk, do func() error) (left []*disktest.Disk, err error) {
	err = a.during(func(op errorfs.Op) {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			left = append(left, disk.CrashClone(vfs.CrashCloneCfg{}))
		}
	}, do)
	return left, err
}

// segmented is a store with segments that are full soon, without tasks of its own but that of the journal.
type segmented struct {
	*Store
	t    *testing.T
	disk *disktest.Disk
	amid amidDisk
	n    int // keys s0 to s<n-1> are on the device
}

func openSegmented(t *testing.T) *segmented {
	t.Helper()
	s := &segmented{t: t, disk: disktest.New()}
	s.Store = openMemory(t, Options{FS: errorfs.Wrap(s.disk, &s.amid), Sync: SyncAlways, IdleAfter: -1, SegmentBytes: 8 << 10})
	t.Cleanup(func() { closeStore(t, s.Store) })
	return s
}

// add writes a key that fills most of a segment, and has it on the device.
func (s *segmented) add() {
	s.t.Helper()
	lsn := all(s.Store, 1, func(tx *Tx) { tx.SetString(fmt.Appendf(nil, "s%d", s.n), incompressible(2000+s.n), NoExpiry) })
	if err := s.commits.WaitDurable(lsn); err != nil {
		s.t.Error(err)
	}
	s.n++
}

// land writes the values of the newest key's shard to the object store, and does not cut the journal.
func (s *segmented) land() {
	s.t.Helper()
	landShards(s.t, s.Store, format.ShardOf(s.Hash(fmt.Appendf(nil, "s%d", s.n-1))), 1)
}

// has opens a store, which must be sound and have the first keys up to one, or more of them.
func (s *segmented) has(fs vfs.FS, dir string, least int) {
	s.t.Helper()
	c, err := Open(Options{FS: fs, Dir: dir, IdleAfter: -1, SegmentBytes: 8 << 10})
	if err != nil {
		s.t.Fatalf("open %s: %v", dir, err)
	}
	defer closeStore(s.t, c)
	all(c, 1, func(tx *Tx) {
		n := 0
		for i := range s.n {
			b, ok, err := tx.String(fmt.Appendf(nil, "s%d", i))
			if ok && (i != n || string(b) != string(incompressible(2000+i))) || err != nil {
				s.t.Fatalf("%s: key %d is there with %d bytes, of those before only %d: %v", dir, i, len(b), n, err)
			}
			if ok {
				n++
			}
		}
		if n < least {
			s.t.Fatalf("%s has %d keys, want %d", dir, n, least)
		}
	})
}

// amidst calls f at each operation of the disk while do is run.
func (s *segmented) amidst(f func(op errorfs.Op), do func() error) {
	s.t.Helper()
	if err := s.amid.during(f, do); err != nil {
		s.t.Fatal(err)
	}
}

// The files that a pass drops are there until the device has it that the log begins behind them: each operation of the
// pass may be the last one.
func TestSegmentsStayUntilTheLogBeginsBehindThem(t *testing.T) {
	s := openSegmented(t)
	for range 12 {
		s.add()
	}
	before, _ := s.files.Log.Size()
	crashes, err := s.amid.crashes(s.disk, func() error { return s.passes.Materialise(t.Context()) })
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := s.files.Log.Size(); before < 5 || after != 1 || len(crashes) < 10 {
		t.Errorf("%d files became %d in %d operations", before, after, len(crashes))
	}
	for _, disk := range append(crashes, s.disk.CrashClone(vfs.CrashCloneCfg{})) {
		s.has(disk, "db", s.n)
	}
}

// A pass keeps the file of the first chunk behind it, wherever in a file that is.
func TestLogBeginsWithTheChunkBehindAPass(t *testing.T) {
	s := openSegmented(t)
	for range 8 {
		s.add()
		if err := s.passes.Materialise(once(t, func() {
			for range 4 {
				s.add()
			}
		})); err != nil {
			t.Fatal(err)
		}
		if files, _ := s.files.Log.Size(); files > 5 {
			t.Errorf("%d files are left for four chunks and the one before", files)
		}
		s.has(s.disk.CrashClone(vfs.CrashCloneCfg{}), "db", s.n)
	}
}

// A snapshot has no value whose record it lacks, though values are written while it is made.
func TestValuesOfASnapshotAreNotAheadOfItsLog(t *testing.T) {
	s := openSegmented(t)
	s.add()
	calls := 0
	s.amidst(func(op errorfs.Op) {
		// Both parts of the copy begin with their directory.
		if op.Kind == errorfs.OpMkdirAll && strings.HasPrefix(op.Path, "copy") {
			calls++
			s.add()
			s.land()
		}
	}, func() error { return s.Snapshot("copy", nil) })
	if calls < 2 {
		t.Errorf("the snapshot was disturbed %d times", calls)
	}
	s.has(s.disk, "copy", 1)
}

// betweenParts makes a snapshot, and calls f once when it has what the object store has, and nothing of the log.
func (s *segmented) betweenParts(f func()) {
	s.t.Helper()
	s.amidst(func(op errorfs.Op) {
		if op.Kind == errorfs.OpStat && strings.Contains(op.Path, "copy.part/MANIFEST-") && f != nil {
			if _, err := s.disk.Stat("copy.part/log"); err == nil {
				s.t.Error("the log is copied already")
			}
			f()
			f = nil
		}
	}, func() error { return s.Snapshot("copy", nil) })
	if f != nil {
		s.t.Error("the snapshot was not disturbed")
	}
}

// A pass that ends while a snapshot is made takes no files of the log from it.
func TestPassAmidASnapshotLeavesItsSegments(t *testing.T) {
	s := openSegmented(t)
	for range 6 {
		s.add()
	}
	s.betweenParts(func() {
		for range 6 {
			s.add()
		}
		materialise(t, s.Store)
	})
	if files, _ := s.files.Log.Size(); files != 1 {
		t.Errorf("%d files are left when the snapshot is made", files)
	}
	s.has(s.disk, "copy", 6)
}

// The mark of a snapshot claims the log of the snapshot, to its last byte: what is damaged there is not taken for torn.
func TestMarkOfASnapshotClaimsItsLog(t *testing.T) {
	s := openSegmented(t)
	s.add()
	s.betweenParts(func() {
		for range 6 {
			s.add()
		}
	})
	mark, _, err := wal.ReadMark(s.disk, "copy")
	if err != nil {
		t.Fatal(err)
	}
	name := newestSegment(storeFiles(t, s.disk, "copy"))
	b := disktest.ReadFile(t, s.disk, "copy/"+name)
	number := uint64(0)
	if _, err := fmt.Sscanf(name, "log/%d", &number); err != nil {
		t.Fatal(err)
	}
	if got := mark.Segments(); number < 3 || len(got) != 1 || got[number] != int64(len(b)) {
		t.Errorf("claimed is %v of %s, which has %d bytes", got, name, len(b))
	}
	b[len(b)-1] ^= 1
	disktest.WriteFile(t, s.disk, "copy/"+name, b)
	if c, err := Open(Options{FS: s.disk, Dir: "copy"}); wal.AsDamage(err) == nil {
		t.Errorf("the last byte is wrong: %v", err)
		_ = c.Close()
	}
}
