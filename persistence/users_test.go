package persistence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
)

func TestUsersLast(t *testing.T) {
	s := openMemory(t, Options{FS: vfs.NewMem(), IdleAfter: -1})
	reopen := func(when string, want map[string]string) {
		t.Helper()
		s = reopenTexts(t, s, Users, when, want)
	}
	all(s, 1, func(tx *Tx) {
		if tx.Texts(Users).Len() > 0 {
			t.Error("a new store has users")
		}
		tx.SetString([]byte("k"), []byte("1"), NoExpiry)
		tx.Texts(Users).Set("a", "on")
		tx.SetString([]byte("k"), []byte("2"), NoExpiry) // the operation in between is not about k
		tx.Texts(Users).Set("", "off")
		tx.Texts(Libraries).Set("a", "another thing of that name")
		if n := tx.Texts(Users).Bytes(); n != 6 || tx.Texts(Users).Len() != 2 {
			t.Errorf("%d bytes, want 6", n)
		}
	})
	reopen("set", map[string]string{"a": "on", "": "off"})
	all(s, 1, func(tx *Tx) {
		tx.Texts(Users).Delete("a")
		tx.Texts(Users).Set("c", strings.Repeat("x", bigRecord)) // a record in pieces
		tx.Texts(Libraries).Clear()
		tx.FlushAll()
	})
	reopen("deleted", map[string]string{"": "off", "c": strings.Repeat("x", bigRecord)})
	all(s, 1, func(tx *Tx) {
		tx.Texts(Users).Set("c", "y")
		tx.Texts(Users).Delete("")
		if n := tx.Texts(Users).Bytes(); n != 2 {
			t.Errorf("%d bytes, want 2", n)
		}
	})
	reopen("replaced", map[string]string{"c": "y"})
	wantTexts(t, "in the end", s.Texts(Libraries), map[string]string{})
	closeStore(t, s)
}

func TestUsersAreInSnapshots(t *testing.T) {
	fs := vfs.NewMem()
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	all(s, 1, func(tx *Tx) { tx.Texts(Users).Set("a", "on") })
	materialise(t, s)
	all(s, 1, func(tx *Tx) { tx.Texts(Users).Set("b", "off") })
	if err := s.Snapshot("copy", nil); err != nil {
		t.Fatal(err)
	}
	all(s, 1, func(tx *Tx) { tx.Texts(Users).Delete("a") })
	closeStore(t, s)
	if r := checkStore(t, fs, "copy"); !r.Sound() || r.Users != 1 || r.Libraries != 0 {
		t.Errorf("check of the snapshot: %+v", r)
	}
	s, err := Open(Options{FS: fs, Dir: "copy", IdleAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "snapshot", s.Texts(Users), map[string]string{"a": "on", "b": "off"})
	closeStore(t, s)
}

// TestDamagedUserIsFound changes each byte of a user in the object store.
func TestDamagedUserIsFound(t *testing.T) {
	for i := range len(format.AppendText(nil, "u", "on")) {
		fs := vfs.NewMem()
		s := openMemory(t, Options{FS: fs, IdleAfter: -1})
		all(s, 1, func(tx *Tx) { tx.Texts(Users).Set("u", "on") })
		materialise(t, s)
		b := format.AppendText(nil, "u", "on")
		b[i] ^= 1
		if err := s.files.Disk.DB.Set(format.AppendTextKey(nil, format.PrefixUser, "u"), b, pebble.Sync); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		if r := checkStore(t, fs, "db"); r.Sound() || !strings.Contains(fmt.Sprint(r.Damage), `user "u"`) {
			t.Errorf("byte %d: check found %q", i, r.Damage)
		}
		if _, err := Open(Options{FS: fs, Dir: "db", IdleAfter: -1}); err == nil || !strings.Contains(err.Error(), `user "u"`) {
			t.Errorf("byte %d: Open: %v", i, err)
		}
	}
}
