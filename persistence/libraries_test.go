package persistence

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
)

func wantTexts(t *testing.T, when string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", when, got, want)
	}
}

// reopenTexts checks texts of a store, those that it has after a start, and those after another one when they
// are written. It returns the store of that.
func reopenTexts(t *testing.T, s *Store, kind TextKind, when string, want map[string]string) *Store {
	t.Helper()
	o := Options{FS: s.opts.FS, IdleAfter: -1}
	wantTexts(t, when, s.Texts(kind), want)
	closeStore(t, s)
	s = openMemory(t, o)
	wantTexts(t, when+", reopened", s.Texts(kind), want)
	materialise(t, s)
	closeStore(t, s)
	s = openMemory(t, o)
	wantTexts(t, when+", materialised", s.Texts(kind), want)
	return s
}

func TestLibrariesLast(t *testing.T) {
	s := openMemory(t, Options{FS: vfs.NewMem(), IdleAfter: -1})
	reopen := func(when string, want map[string]string) {
		t.Helper()
		s = reopenTexts(t, s, Libraries, when, want)
	}
	all(s, 1, func(tx *Tx) {
		tx.SetString([]byte("k"), []byte("1"), NoExpiry)
		tx.Texts(Libraries).Set("a", "one")
		tx.SetString([]byte("k"), []byte("2"), NoExpiry) // the operation in between is not about k
		tx.Texts(Libraries).Set("b", "two")
	})
	reopen("set", map[string]string{"a": "one", "b": "two"})
	all(s, 1, func(tx *Tx) {
		if v, _, err := tx.String([]byte("k")); string(v) != "2" || err != nil {
			t.Errorf("k: got %q, %v", v, err)
		}
		tx.Texts(Libraries).Delete("a")
		tx.Texts(Libraries).Set("c", strings.Repeat("x", bigRecord)) // a record in pieces
		tx.Databases().FlushAll()
	})
	reopen("deleted", map[string]string{"b": "two", "c": strings.Repeat("x", bigRecord)})
	all(s, 1, func(tx *Tx) {
		tx.Texts(Libraries).Clear()
		tx.Texts(Libraries).Set("b", "three")
	})
	reopen("flushed", map[string]string{"b": "three"})
	all(s, 1, func(tx *Tx) { tx.Texts(Libraries).Clear() })
	reopen("empty", map[string]string{})
	if lsn := all(s, 1, func(tx *Tx) { tx.Texts(Libraries).Clear() }); lsn != 0 {
		t.Errorf("deleting nothing made record %d", lsn)
	}
	closeStore(t, s)
}

func TestLibrariesAreInSnapshots(t *testing.T) {
	fs := vfs.NewMem()
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	all(s, 1, func(tx *Tx) { tx.Texts(Libraries).Set("a", "one") })
	materialise(t, s)
	all(s, 1, func(tx *Tx) { tx.Texts(Libraries).Set("b", "two") })
	if err := s.Snapshot("copy", nil); err != nil {
		t.Fatal(err)
	}
	all(s, 1, func(tx *Tx) { tx.Texts(Libraries).Clear() })
	closeStore(t, s)
	if r := checkStore(t, fs, "copy"); !r.Sound() || r.Libraries != 1 {
		t.Errorf("check of the snapshot: %+v", r)
	}
	s, err := Open(Options{FS: fs, Dir: "copy", IdleAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "snapshot", s.Texts(Libraries), map[string]string{"a": "one", "b": "two"})
	closeStore(t, s)
}

// TestDamagedLibraryIsFound changes each byte of a library in the object store.
func TestDamagedLibraryIsFound(t *testing.T) {
	for i := range len(format.AppendText(nil, "a", "one")) {
		fs := vfs.NewMem()
		s := openMemory(t, Options{FS: fs, IdleAfter: -1})
		all(s, 1, func(tx *Tx) { tx.Texts(Libraries).Set("a", "one") })
		materialise(t, s)
		b := format.AppendText(nil, "a", "one")
		b[i] ^= 1
		if err := s.files.Disk.DB.Set(format.AppendTextKey(nil, format.PrefixLibrary, "a"), b, pebble.Sync); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		if r := checkStore(t, fs, "db"); r.Sound() || !strings.Contains(fmt.Sprint(r.Damage), `library "a"`) {
			t.Errorf("byte %d: check found %q", i, r.Damage)
		}
		if _, err := Open(Options{FS: fs, Dir: "db", IdleAfter: -1}); err == nil || !strings.Contains(err.Error(), `library "a"`) {
			t.Errorf("byte %d: Open: %v", i, err)
		}
	}
}
