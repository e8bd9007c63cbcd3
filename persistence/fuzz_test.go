package persistence

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

// FuzzReplayRecord feeds foreign records to the replay: they may be refused but
// must not crash it.
func FuzzReplayRecord(f *testing.F) {
	var rec structures.Change
	rec.Op(format.OpKey, 2)
	rec.Uint(0)
	rec.Bytes([]byte("key"))
	format.RecordSet(&rec, []byte("v"), 1000)
	rec.Op(format.OpPatch, 2)
	rec.Uint(3)
	rec.Bytes([]byte("p"))
	rec.Op(format.OpDelete, 0)
	l := list.New()
	l.Push(nil, list.Tail, []byte("e"))
	format.RecordRestore(&rec, l, 0)
	l.Push(&rec, list.Head, []byte("e"))
	format.RecordMapping(&rec, 20, []uint32{0, 4})
	rec.Op(format.OpUser, 2)
	rec.String("u")
	rec.String("on")
	rec.Op(format.OpUser, 1)
	rec.String("u")
	rec.Op(format.OpConfiguration, 2)
	rec.String("d")
	rec.String("5")
	f.Add([]byte{format.OpUser, 0, format.OpUser, 3, 1, 'u', 0, 0})
	f.Add([]byte{format.OpConfiguration, 0, format.OpConfiguration, 3, 1, 'd', 0, 0})
	f.Add([]byte{format.OpMove, 0, format.OpMove, 3, 1, '7', 0, 0})
	f.Add(rec.Encoded())
	f.Add([]byte{format.OpKey, 2, 0, 0, format.OpPatch, 2, 8, 255, 255, 255, 255, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := openMemory(t, Options{IdleAfter: -1})
		defer closeStore(t, s)
		r := s.newReplay()
		for _, w := range r.workers {
			w.limit = 1 << 20
		}
		var set Shards
		set.AddAll()
		s.keyspace.Lock(&set, true) // replay runs before everything else; here the store is open
		err := r.recordApart(r.workers[0], b, 1)
		if err == nil {
			err = r.apply()
		}
		s.keyspace.Unlock(&set)
		if err != nil {
			return
		}
		materialise(t, s)
	})
}

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
			if tx.Restore(key, structures.Kind(kind), NoExpiry, payload) == nil {
				tx.Dump(nil, key)
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
