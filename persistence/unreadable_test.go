package persistence

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/text"
)

// TestWhatCannotBeReadIsNotOverwritten changes keys that are only on disk while
// the disk cannot be read: nothing may take their place as if they were missing.
func TestWhatCannotBeReadIsNotOverwritten(t *testing.T) {
	push := func(tx *Tx, key string, create func() *list.List, elems ...string) error {
		l, ch, ok, err := Edit(tx, []byte(key), create)
		if ok && err == nil {
			for _, e := range elems {
				l.Push(ch, list.Tail, []byte(e))
			}
		}
		return err
	}
	for name, change := range map[string]func(tx *Tx){
		"set":   func(tx *Tx) { tx.SetString([]byte("s"), []byte("new"), NoExpiry) },
		"patch": func(tx *Tx) { _ = tx.PatchString([]byte("s"), 1, []byte("new")) },
		"push":  func(tx *Tx) { _ = push(tx, "l", list.New, "new") },
		"replace": func(tx *Tx) {
			Replace(tx, []byte("l"), structures.Value(text.New([]byte("new"))), NoExpiry)
		},
		"delete":     func(tx *Tx) { tx.Delete([]byte("l")) },
		"expire":     func(tx *Tx) { tx.SetExpire([]byte("s"), 2) },
		"rename":     func(tx *Tx) { tx.Transfers().Rename([]byte("hot"), []byte("s")) },
		"move":       func(tx *Tx) { tx.Transfers().Move([]byte("both"), 1) },
		"copy":       func(tx *Tx) { tx.Transfers().Copy([]byte("hot"), 0, []byte("l"), true) },
		"after read": func(tx *Tx) { tx.Kind([]byte("l")); tx.SetString([]byte("hot"), []byte("new"), NoExpiry) },
		"flush":      func(tx *Tx) { tx.Kind([]byte("l")); tx.Databases().FlushAll() },
	} {
		disk := newFailingDisk(vfs.NewMem(), faultRead, -1, false)
		s := openMemory(t, Options{FS: disk, Databases: 2, IdleAfter: -1})
		all(s, 1, func(tx *Tx) {
			tx.SetString([]byte("s"), []byte("old"), NoExpiry)
			if err := push(tx, "l", list.New, "a", "b"); err != nil {
				t.Fatal(err)
			}
			tx.Select(1)
			tx.SetString([]byte("both"), []byte("cold"), NoExpiry)
		})
		materialise(t, s)
		flushed, err := s.files.Disk.Flush() // else it is read from Pebble's memory
		if err != nil {
			t.Fatal(err)
		}
		<-flushed
		s.eviction.Set(1, eviction.Spill, 5)
		for s.eviction.Spilled() < 3 {
			s.eviction.MakeRoom()
			materialise(t, s) // or it would not look again
		}
		s.eviction.Set(0, eviction.Spill, 5)
		all(s, 1, func(tx *Tx) {
			tx.SetString([]byte("hot"), []byte("hot"), NoExpiry)
			tx.SetString([]byte("both"), []byte("hot"), NoExpiry)
		})
		disk.arm(1)
		var failed error
		if lsn := all(s, 1, func(tx *Tx) { change(tx); failed = tx.Err() }); lsn > 0 || failed == nil {
			t.Errorf("%s: record %d, error %v; want no record, and an error", name, lsn, failed)
		}
		disk.mend(t, s)
		check := func() {
			t.Helper()
			all(s, 3, func(tx *Tx) {
				l, ok, err := View[*list.List](tx, []byte("l"))
				if !ok || err != nil || l.Len() != 2 {
					t.Errorf("%s: the list is %v, %v", name, ok, err)
				}
				for key, want := range map[string]string{"s": "old", "hot": "hot", "both": "hot"} {
					if b, _, err := tx.String([]byte(key)); string(b) != want || err != nil {
						t.Errorf("%s: %s is %q, %v, want %q", name, key, b, err, want)
					}
				}
				if n := tx.Databases().Size(0); n != 4 {
					t.Errorf("%s: DBSize %d, want 4", name, n)
				}
				tx.Select(1)
				if b, _, err := tx.String([]byte("both")); string(b) != "cold" || err != nil {
					t.Errorf("%s: in the other database: %q, %v", name, b, err)
				}
			})
		}
		check()
		materialise(t, s)
		closeStore(t, s)
		s = openMemory(t, Options{FS: disk, Databases: 2, IdleAfter: -1})
		check()
		closeStore(t, s)
	}
}
