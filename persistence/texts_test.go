package persistence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
)

func TestUsersAndDirectivesAreInSnapshots(t *testing.T) {
	kinds := []TextKind{Users, Directives}
	fs := vfs.NewMem()
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	each := func(do func(texts Texts)) {
		all(s, 1, func(tx *Tx) {
			for _, kind := range kinds {
				do(tx.Texts(kind))
			}
		})
	}
	each(func(texts Texts) { texts.Set("a", "on") })
	materialise(t, s)
	each(func(texts Texts) { texts.Set("b", "off") })
	if err := s.Snapshot("copy", nil); err != nil {
		t.Fatal(err)
	}
	each(func(texts Texts) { texts.Delete("a") })
	closeStore(t, s)
	if r := checkStore(t, fs, "copy"); !r.Sound() || r.Users != 1 || r.Directives != 1 || r.Libraries != 0 {
		t.Errorf("check of the snapshot: %+v", r)
	}
	s, err := Open(Options{FS: fs, Dir: "copy", IdleAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		wantTexts(t, "snapshot", s.Texts(kind), map[string]string{"a": "on", "b": "off"})
	}
	closeStore(t, s)
}

// Each byte of a user and of a directive is changed in the object store.
func TestDamagedTextsAreFound(t *testing.T) {
	for _, text := range []struct {
		kind   TextKind
		prefix byte
		what   string
	}{{Users, format.PrefixUser, `user "a"`}, {Directives, format.PrefixConfiguration, `directive "a"`}} {
		sound := format.AppendText(nil, "a", "on")
		for i := range sound {
			fs := vfs.NewMem()
			s := openMemory(t, Options{FS: fs, IdleAfter: -1})
			all(s, 1, func(tx *Tx) { tx.Texts(text.kind).Set("a", "on") })
			materialise(t, s)
			b := append([]byte(nil), sound...)
			b[i] ^= 1
			if err := s.files.Disk.DB.Set(format.AppendTextKey(nil, text.prefix, "a"), b, pebble.Sync); err != nil {
				t.Fatal(err)
			}
			closeStore(t, s)
			if r := checkStore(t, fs, "db"); r.Sound() || !strings.Contains(fmt.Sprint(r.Damage), text.what) {
				t.Errorf("byte %d: check found %q, want %s", i, r.Damage, text.what)
			}
			if _, err := Open(Options{FS: fs, Dir: "db", IdleAfter: -1}); err == nil || !strings.Contains(err.Error(), text.what) {
				t.Errorf("byte %d: Open: %v, want %s", i, err, text.what)
			}
		}
	}
}
