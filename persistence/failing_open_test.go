package persistence

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/structures/testscale"
)

// compactionsFS is a file system that counts the tables made by compactions.
type compactionsFS struct {
	vfs.FS
	made int
}

func (c *compactionsFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if category == "pebble-compaction" {
		c.made++
	}
	return c.FS.Create(name, category)
}

// uncompacted returns the disk of a store with so many tables that Pebble compacts
// them before it is open: it waits for one compaction then.
func uncompacted(t *testing.T) *disktest.Disk {
	t.Helper()
	mem := disktest.New()
	s := openMemory(t, Options{FS: mem, Dir: "db", IdleAfter: -1})
	all(s, 1, func(tx *Tx) { tx.SetString([]byte("key"), []byte("value"), NoExpiry) })
	materialise(t, s)
	closeStore(t, s)
	o := s.files.Options(fence.New(mem, "db"))
	o.FS, o.EventListener, o.DisableAutomaticCompactions = mem, nil, true
	db, err := pebble.Open("db", o)
	if err != nil {
		t.Fatal(err)
	}
	it, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	it.First()
	for range 8 { // what there is already, again and again
		if err := db.Set(it.Key(), it.Value(), pebble.Sync); err != nil {
			t.Fatal(err)
		}
		if err := db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	// The log has something: Open flushes it, and looks for compactions then.
	if err := db.Set(it.Key(), it.Value(), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	left := mem.CrashClone(vfs.CrashCloneCfg{})
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return left
}

// TestOpenEndsThoughTheDiskFailsWhileItCompacts fails each operation of an opening, and
// all after it. Open waits for the compaction, which must not wait for Open.
func TestOpenEndsThoughTheDiskFailsWhileItCompacts(t *testing.T) {
	left := uncompacted(t)
	open := func(k int) (ops, compactions int) {
		count := &compactionsFS{FS: left.CrashClone(vfs.CrashCloneCfg{})}
		disk := newFailingDisk(count, faultFull, k, false)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s, err := Open(Options{FS: disk, Dir: "db", IdleAfter: -1})
			ops, _ = disk.count()
			if err == nil {
				_ = s.Close()
			}
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatalf("open hangs after operation %d failed", k)
		}
		return ops, count.made
	}
	ops, compactions := open(-1)
	if compactions == 0 {
		t.Fatal("nothing was compacted, so this test shows nothing")
	}
	for k := 1; k <= ops; k += testscale.By {
		open(k)
	}
}
