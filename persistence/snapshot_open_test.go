package persistence

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestSnapshotAfterEachStartOpens takes snapshots of stores that have written
// little or nothing since they were opened: of those Pebble may have no manifest
// to copy.
func TestSnapshotAfterEachStartOpens(t *testing.T) {
	mem := vfs.NewCrashableMem()
	for n := range 4 {
		s := openMemory(t, Options{FS: mem, IdleAfter: -1})
		dir := fmt.Sprint("copy", n)
		if err := s.Snapshot(dir); err != nil {
			t.Fatalf("Snapshot: %v", err)
		}
		lsn := all(s, 1, func(tx *Tx) { tx.SetString([]byte(dir), []byte("v"), NoExpiry) })
		if err := s.WaitDurable(lsn); err != nil {
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
