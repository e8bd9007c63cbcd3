package persistence

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
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
		tx.Databases().FlushAll()
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
