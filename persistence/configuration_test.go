package persistence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
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
		tx.FlushAll()
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

func TestConfigurationIsInSnapshots(t *testing.T) {
	fs := vfs.NewMem()
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	all(s, 1, func(tx *Tx) { tx.Texts(Directives).Set("a", "1") })
	materialise(t, s)
	all(s, 1, func(tx *Tx) { tx.Texts(Directives).Set("b", "2") })
	if err := s.Snapshot("copy", nil); err != nil {
		t.Fatal(err)
	}
	all(s, 1, func(tx *Tx) { tx.Texts(Directives).Delete("a") })
	closeStore(t, s)
	if r := checkStore(t, fs, "copy"); !r.Sound() || r.Directives != 1 || r.Users != 0 {
		t.Errorf("check of the snapshot: %+v", r)
	}
	s, err := Open(Options{FS: fs, Dir: "copy", IdleAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "snapshot", s.Texts(Directives), map[string]string{"a": "1", "b": "2"})
	closeStore(t, s)
}

// TestDamagedDirectiveIsFound changes each byte of a directive in the object store.
func TestDamagedDirectiveIsFound(t *testing.T) {
	for i := range len(format.AppendText(nil, "d", "5")) {
		fs := vfs.NewMem()
		s := openMemory(t, Options{FS: fs, IdleAfter: -1})
		all(s, 1, func(tx *Tx) { tx.Texts(Directives).Set("d", "5") })
		materialise(t, s)
		b := format.AppendText(nil, "d", "5")
		b[i] ^= 1
		if err := s.files.Disk.DB.Set(format.AppendTextKey(nil, format.PrefixConfiguration, "d"), b, pebble.Sync); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		if r := checkStore(t, fs, "db"); r.Sound() || !strings.Contains(fmt.Sprint(r.Damage), `directive "d"`) {
			t.Errorf("byte %d: check found %q", i, r.Damage)
		}
		if _, err := Open(Options{FS: fs, Dir: "db", IdleAfter: -1}); err == nil || !strings.Contains(err.Error(), `directive "d"`) {
			t.Errorf("byte %d: Open: %v", i, err)
		}
	}
}
