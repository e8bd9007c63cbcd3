package snapshot

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
)

func someOrigin() *Origin {
	return &Origin{Group: "b", Node: "2", Address: "127.0.0.1:7002", Whole: &Whole{Name: "monday", ID: "0123", Made: 5,
		Parts: []Part{{Group: "a", Slots: "0-5"}, {Group: "b", Slots: "6-9"}}}}
}

// Whatever byte of the note changes, and wherever it ends, the snapshot is damaged.
func TestDamagedOriginIsDamage(t *testing.T) {
	b, err := someOrigin().encode()
	if err != nil {
		t.Fatal(err)
	}
	const pinned = "vigil origin 1 crc32c "
	if !strings.HasPrefix(string(b), pinned) {
		t.Errorf("the file begins with %q, want %q", b[:len(pinned)], pinned)
	}
	for i := range b {
		bad := append([]byte(nil), b...)
		bad[i] ^= 1
		for _, text := range [][]byte{bad, b[:i]} {
			if _, err := decodeOrigin(text); !errors.Is(err, format.ErrCorrupt) {
				t.Fatalf("byte %d: %q: %v", i, text, err)
			}
		}
	}
	foreign := someOrigin()
	foreign.Group = "c" // which has no part
	if b, err = foreign.encode(); err != nil {
		t.Fatal(err)
	}
	if _, err := decodeOrigin(b); !errors.Is(err, format.ErrCorrupt) {
		t.Errorf("a group without a part: %v", err)
	}
}

// The note of a directory is what was written last, until it is removed.
func TestOriginIsWrittenReadAndRemoved(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("dir", 0o700); err != nil {
		t.Fatal(err)
	}
	o := someOrigin()
	if err := WriteOrigin(mem, "dir", o); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadOrigin(mem, "dir"); err != nil || !reflect.DeepEqual(got, o) {
		t.Errorf("got %+v, %v, want %+v", got, err, o)
	}
	if p := o.Part(); p == nil || p.Slots != "6-9" {
		t.Errorf("it is part %+v", p)
	}
	for range 2 {
		if err := RemoveOrigin(mem, "dir"); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadOrigin(mem, "dir"); got != nil || err != nil {
			t.Errorf("after it was removed: %+v, %v", got, err)
		}
	}
}
