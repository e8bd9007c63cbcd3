package persistence

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
)

// Moves that are to be made are there after restarts, and in snapshots, until they are over.
func TestMovesLastUntilTheyAreOver(t *testing.T) {
	fs := vfs.NewMem()
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	all(s, 1, func(tx *Tx) {
		tx.Texts(Moves).Set("1", "there 0-5")
		tx.Texts(Moves).Set("2", "")
		tx.Texts(Directives).Set("1", "another kind")
		if names := slices.Sorted(tx.Texts(Moves).Names()); fmt.Sprint(names) != "[1 2]" {
			t.Errorf("the moves are %q", names)
		}
	})
	s = reopenTexts(t, s, Moves, "set", map[string]string{"1": "there 0-5", "2": ""})
	if err := s.Snapshot("copy", nil); err != nil {
		t.Fatal(err)
	}
	all(s, 1, func(tx *Tx) {
		tx.Texts(Moves).Delete("1")
		tx.Databases().FlushAll() // of keys
	})
	s = reopenTexts(t, s, Moves, "over", map[string]string{"2": ""})
	wantTexts(t, "in the end", s.Texts(Directives), map[string]string{"1": "another kind"})
	closeStore(t, s)
	if r := checkStore(t, fs, "copy"); !r.Sound() || r.Moves != 2 {
		t.Errorf("check of the snapshot: %+v", r)
	}
}

// TestDamagedMoveIsFound changes each byte of a move in the object store.
func TestDamagedMoveIsFound(t *testing.T) {
	for i := range len(format.AppendText(nil, "7", "x")) {
		fs := vfs.NewMem()
		s := openMemory(t, Options{FS: fs, IdleAfter: -1})
		all(s, 1, func(tx *Tx) { tx.Texts(Moves).Set("7", "x") })
		materialise(t, s)
		b := format.AppendText(nil, "7", "x")
		b[i] ^= 1
		if err := s.files.Disk.DB.Set(format.AppendTextKey(nil, format.PrefixMove, "7"), b, pebble.Sync); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		if r := checkStore(t, fs, "db"); r.Sound() || !strings.Contains(fmt.Sprint(r.Damage), `move "7"`) {
			t.Errorf("byte %d: check found %q", i, r.Damage)
		}
		if _, err := Open(Options{FS: fs, Dir: "db", IdleAfter: -1}); err == nil || !strings.Contains(err.Error(), `move "7"`) {
			t.Errorf("byte %d: Open: %v", i, err)
		}
	}
}
