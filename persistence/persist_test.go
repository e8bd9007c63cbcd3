package persistence

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/structures"
)

// TestExpiryThatWasChangedOutlivesACrash crashes after an expiry was set, moved or
// taken away, when the key with the old one is in the journal, and when it is under
// its own name.
func TestExpiryThatWasChangedOutlivesACrash(t *testing.T) {
	key := []byte("k")
	for name, change := range map[string]struct {
		do   func(*Tx)
		want int64
	}{
		"PERSIST": {func(tx *Tx) { tx.Persist(key) }, 0},
		"EXPIRE":  {func(tx *Tx) { tx.SetExpire(key, 2000) }, 2000},
		"SET":     {func(tx *Tx) { tx.SetString(key, []byte("w"), NoExpiry) }, 0},
	} {
		for _, stored := range []bool{false, true} {
			mem := disktest.New()
			s := openMemory(t, Options{FS: mem, Sync: SyncAlways, IdleAfter: -1})
			all(s, 1, func(tx *Tx) { tx.SetString(key, []byte("v"), Expiry(1000)) })
			if stored {
				materialise(t, s)
			}
			if err := s.commits.WaitDurable(all(s, 1, change.do)); err != nil {
				t.Fatal(err)
			}
			after := openMemory(t, Options{FS: mem.CrashClone(vfs.CrashCloneCfg{}), IdleAfter: -1})
			all(after, 2, func(tx *Tx) {
				if at, ok := tx.ExpireAt(key); !ok || at != change.want || tx.Kind(key) != structures.KindString {
					t.Errorf("%s, stored before: %v: expiry %d, %v, want %d", name, stored, at, ok, change.want)
				}
			})
			closeStore(t, after)
			closeStore(t, s)
		}
	}
}
