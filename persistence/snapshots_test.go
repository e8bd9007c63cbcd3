package persistence

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// oneFault fails one operation that changes the disk, and none before it is armed.
type oneFault struct {
	left atomic.Int64 // until the fault; 0 is unarmed
}

func (f *oneFault) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpCreate, errorfs.OpLink, errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFileSync,
		errorfs.OpFileSyncData, errorfs.OpRename, errorfs.OpMkdirAll, errorfs.OpOpenDir, errorfs.OpOpen, errorfs.OpReuseForWrite:
	default:
		return nil
	}
	if f.left.Load() > 0 && f.left.Add(-1) == 0 {
		return syscall.ENOSPC
	}
	return nil
}

func (f *oneFault) String() string { return "one fault" }

// TestFailedSnapshotLeavesNoHalf fails each operation of a snapshot in turn: what
// is listed afterwards is complete and sound, and the next start sweeps the rest.
func TestFailedSnapshotLeavesNoHalf(t *testing.T) {
	failed := 0
	for k := int64(1); ; k++ {
		mem, fault := vfs.NewMem(), &oneFault{}
		s := openMemory(t, Options{FS: errorfs.Wrap(mem, fault), IdleAfter: -1})
		lsn := all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), []byte("v"), NoExpiry) })
		if err := s.commits.WaitDurable(lsn); err != nil {
			t.Fatal(err)
		}
		materialise(t, s)
		fault.left.Store(k)
		err := s.Snapshot("db/snapshots/a", nil)
		over := fault.left.Swap(0) > 0 // there are fewer operations than k
		if err != nil {
			failed++
		}
		list, listErr := s.Snapshots().List("db/snapshots")
		if listErr != nil || (err == nil) != (len(list) == 1) {
			t.Errorf("operation %d: snapshot: %v, listed: %+v, %v", k, err, list, listErr)
		}
		for _, n := range list {
			if r := checkStore(t, mem, "db/snapshots/"+n.Name); !r.Sound() {
				t.Errorf("operation %d: %q", k, r.Damage)
			}
		}
		if err := s.Close(); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("operation %d: close: %v", k, err)
		}
		s = openMemory(t, Options{FS: mem, IdleAfter: -1})
		if err := s.Snapshots().Sweep("db/snapshots"); err != nil {
			t.Fatal(err)
		}
		if names, err := mem.List("db/snapshots"); err == nil && len(names) != len(list) {
			t.Errorf("operation %d: after a sweep there are %q", k, names)
		}
		closeStore(t, s)
		if over {
			break
		}
	}
	if failed < 20 {
		t.Errorf("only %d operations failed a snapshot", failed)
	}
	t.Logf("%d operations failed a snapshot", failed)
}

func TestSnapshotsAreRemovedWholly(t *testing.T) {
	fs := vfs.NewMem()
	s := openMemory(t, Options{FS: fs})
	for i := range 3 {
		if err := s.Snapshot(fmt.Sprintf("snaps/%d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Snapshot("snaps/1", nil); err == nil {
		t.Error("a snapshot was overwritten")
	}
	if err := s.Snapshots().Remove("snaps/1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshots().Remove("snaps/1"); err == nil {
		t.Error("removed twice")
	}
	list, err := s.Snapshots().List("snaps")
	if err != nil || len(list) != 2 || list[0].Bytes == 0 {
		t.Errorf("left: %+v, %v", list, err)
	}
	if names, _ := fs.List("snaps"); len(names) != 2 {
		t.Errorf("left: %q", names)
	}
	closeStore(t, s)
}
