package persistence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

// TestSnapshotAfterEachStartOpens takes snapshots of stores that have written
// little or nothing since they were opened: of those Pebble may have no manifest
// to copy.
func TestSnapshotAfterEachStartOpens(t *testing.T) {
	mem := disktest.New()
	for n := range 4 {
		s := openMemory(t, Options{FS: mem, IdleAfter: -1})
		dir := fmt.Sprint("copy", n)
		if err := s.Snapshot(dir, nil); err != nil {
			t.Fatalf("Snapshot: %v", err)
		}
		lsn := all(s, 1, func(tx *Tx) { tx.SetString([]byte(dir), []byte("v"), NoExpiry) })
		if err := s.commits.WaitDurable(lsn); err != nil {
			t.Fatalf("WaitDurable: %v", err)
		}
		crashed := mem.CrashClone(vfs.CrashCloneCfg{})
		closeStore(t, s)
		for i := range n + 1 {
			o := Options{FS: crashed, Dir: fmt.Sprint("copy", i)}
			c, err := Open(o)
			if err != nil {
				t.Fatalf("start %d, open %s: %v", n, o.Dir, err)
			}
			closeStore(t, c)
		}
		mem = crashed
	}
}

// TestSnapshotOfALogThatGrowsMeanwhileOpens writes to Pebble's log between the copies of two of
// its blocks. The log is the file of an older one, so the copy has an old block before a
// new one.
func TestSnapshotOfALogThatGrowsMeanwhileOpens(t *testing.T) {
	amid := &amidDisk{}
	fs := errorfs.Wrap(disktest.New(), amid)
	s := openMemory(t, Options{FS: fs, Sync: SyncAlways, IdleAfter: -1})
	write := func(key string, size int) {
		lsn := all(s, 1, func(tx *Tx) { tx.SetString([]byte(key), incompressible(size), NoExpiry) })
		if err := s.commits.WaitDurable(lsn); err != nil {
			t.Errorf("write %s: %v", key, err)
		}
		materialise(t, s) // Pebble's log has what passes write
	}
	for range 3 { // the third log is the file of the first one
		write("long", 200<<10)
		flushed, err := s.files.Disk.Flush()
		if err != nil {
			t.Fatal(err)
		}
		<-flushed
	}
	write("before", 10<<10)
	reads, disturbed := map[string]int{}, false
	if err := amid.during(func(op errorfs.Op) {
		if disturbed || op.Kind != errorfs.OpFileRead || !strings.HasSuffix(op.Path, ".log") {
			return
		}
		if reads[op.Path]++; reads[op.Path] == 2 {
			disturbed = true
			write("amid", 100<<10) // each block tells how far the log was synced before it
			write("amid", 100<<10)
		}
	}, func() error { return s.Snapshot("copy", nil) }); err != nil {
		t.Fatalf("Snapshot: %v", err)
	}
	if !disturbed {
		t.Fatal("the log was copied in one read")
	}
	closeStore(t, s)
	if r := checkStore(t, fs, "copy"); !r.Sound() {
		t.Errorf("the copy is damaged: %q", r.Damage)
	}
	c, err := Open(Options{FS: fs, Dir: "copy", IdleAfter: -1})
	if err != nil {
		t.Fatalf("open the copy: %v", err)
	}
	all(c, 1, func(tx *Tx) {
		if v, ok, err := tx.String([]byte("before")); len(v) != 10<<10 || !ok || err != nil {
			t.Errorf("what was recorded before: %d bytes, %v, %v", len(v), ok, err)
		}
	})
	closeStore(t, c)
}
