package persistence

import (
	"runtime"
	"testing"
	"time"
)

// After a lull what is changed is stored, and Pebble keeps none of it in memory; a pass that
// other writes are behind leaves it there.
func TestLullLeavesNothingInMemtables(t *testing.T) {
	s := openMemory(t, Options{IdleAfter: time.Second, Sync: SyncAlways}) // its clock stands, so that no lull is seen by itself
	defer closeStore(t, s)
	flushes := s.files.Disk.DB.Metrics().Flush.Count
	all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), make([]byte, 1<<20), NoExpiry) })
	if err := s.commits.WaitDurable(s.commits.Journal.Newest()); err != nil {
		t.Fatal(err)
	}
	s.materialiseStep(&lull{lsn: s.commits.Journal.Newest(), since: -999})
	if s.commits.Length.Bytes() == 0 {
		t.Fatal("stored before the lull was long enough")
	}
	s.materialiseStep(&lull{lsn: s.commits.Journal.Newest(), since: -1000})
	if n := s.commits.Length.Bytes(); n > 0 {
		t.Fatalf("%d bytes of the journal after a lull", n)
	}
	for end := time.Now().Add(time.Minute); s.files.Disk.DB.Metrics().Flush.Count == flushes; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("not flushed; memtables have %d bytes", s.files.Disk.DB.Metrics().MemTable.Size)
		}
	}
}
