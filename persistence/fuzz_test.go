package persistence

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/structures"
)

// FuzzRestore feeds foreign payloads to Restore.
func FuzzRestore(f *testing.F) {
	f.Add(byte(structures.KindList), []byte{1, 0})
	f.Add(byte(structures.KindString), []byte("abc"))
	f.Add(byte(99), []byte{})
	s := openMemory(f, Options{IdleAfter: -1})
	f.Cleanup(func() { closeStore(f, s) })
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		all(s, 1, func(tx *Tx) {
			key := []byte("key")
			if tx.Transfers().Restore(key, structures.Kind(kind), NoExpiry, payload) == nil {
				tx.Transfers().Dump(nil, key)
			}
			tx.Delete(key)
		})
	})
}

// TestOtherStoresAreRefusedByName: a store of format 1, and one that lost its
// meta.
func TestOtherStoresAreRefusedByName(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       error
		text       string
	}{
		{"m", "\x01\x00\x00\x00", ErrVersion, "format 1, which vigil 0.1.0 wrote"},
		{"j\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", "", ErrCorrupt, "no meta"},
		{"m\x00\x00", "\x04\x00\x00\x00", ErrVersion, "format 4"},
	} {
		fs := vfs.NewMem()
		quiet := quietLog(fence.New(fs, "db"))
		db, err := pebble.Open("db", &pebble.Options{FS: fs, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Set([]byte(c.key), []byte(c.value), pebble.Sync), db.Close()); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the refusal changes nothing
			s, err := Open(Options{Dir: "db", FS: fs})
			if err == nil {
				closeStore(t, s)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("key %q: got %v, want %v with %q", c.key, err, c.want, c.text)
			}
		}
	}
}
