package persistence

import (
	"runtime"
	"testing"
	"time"
)

// After a lull what is changed is stored, and Pebble keeps none of it in memory; a pass that
// other writes are behind leaves it there.
func TestLullLeavesNothingInMemtables(t *testing.T) {
	var now int64
	steps := map[string]Task{}
	s := openMemory(t, Options{IdleAfter: time.Second, Sync: SyncAlways, Now: func() int64 { return now },
		Background: func(t Task) { steps[t.Name] = t }})
	defer closeStore(t, s)
	steps["materialise"].Step(true)
	flushes := s.files.Disk.DB.Metrics().Flush.Count
	all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), make([]byte, 1<<20), NoExpiry) })
	steps["commit"].Step(true)
	steps["materialise"].Step(true) // the lull begins
	if now = 999; s.commits.Length.Bytes() == 0 {
		t.Fatal("stored before the lull")
	}
	if steps["materialise"].Step(true); s.commits.Length.Bytes() == 0 {
		t.Fatal("stored before the lull was long enough")
	}
	now = 1000
	if steps["materialise"].Step(true); s.commits.Length.Bytes() > 0 {
		t.Fatalf("%d bytes of the journal after a lull", s.commits.Length.Bytes())
	}
	for end := time.Now().Add(time.Minute); s.files.Disk.DB.Metrics().Flush.Count == flushes; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("not flushed; memtables have %d bytes", s.files.Disk.DB.Metrics().MemTable.Size)
		}
	}
}
