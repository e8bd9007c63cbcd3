package persistence

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestConfigurationLasts(t *testing.T) {
	s := openMemory(t, Options{FS: vfs.NewMem(), IdleAfter: -1})
	reopen := func(when string, want map[string]string) {
		t.Helper()
		s = reopenTexts(t, s, Directives, when, want)
	}
	all(s, 1, func(tx *Tx) {
		tx.SetString([]byte("k"), []byte("1"), NoExpiry)
		tx.Texts(Directives).Set("timeout", "5")
		tx.SetString([]byte("k"), []byte("2"), NoExpiry) // the operation in between is not about k
		tx.Texts(Directives).Set("hz", "")
		tx.Texts(Users).Set("timeout", "on")
		if v, ok := tx.Texts(Directives).Get("timeout"); v != "5" || !ok {
			t.Errorf("timeout is %q, %v", v, ok)
		}
	})
	reopen("set", map[string]string{"timeout": "5", "hz": ""})
	long := strings.Repeat("x", bigRecord) // a record in pieces
	all(s, 1, func(tx *Tx) {
		tx.Texts(Directives).Delete("timeout")
		tx.Texts(Directives).Set("of a later version", long)
		tx.Texts(Libraries).Clear()
		tx.Databases().FlushAll()
		if v, ok := tx.Texts(Directives).Get("timeout"); v != "" || ok {
			t.Errorf("timeout is %q, %v", v, ok)
		}
	})
	reopen("deleted", map[string]string{"hz": "", "of a later version": long})
	all(s, 1, func(tx *Tx) {
		tx.Texts(Directives).Set("hz", "20")
		tx.Texts(Directives).Delete("of a later version")
	})
	reopen("replaced", map[string]string{"hz": "20"})
	wantTexts(t, "in the end", s.Texts(Users), map[string]string{"timeout": "on"})
	closeStore(t, s)
}
