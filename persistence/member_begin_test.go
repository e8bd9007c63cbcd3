package persistence

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A new store of a member begins with what the group says, which is asked once: the store keeps it.
func TestNewStoreBeginsAsItsGroupSays(t *testing.T) {
	fs, asked := vfs.NewMem(), 0
	secret, databases, wrong := [16]byte{7}, 0, errors.New("nobody answers")
	o := Options{FS: fs, Dir: "db", Databases: 4, Replicator: mute{}, Begin: func() ([16]byte, int, error) {
		asked++
		return secret, databases, wrong
	}}
	if _, err := Open(o); !errors.Is(err, wrong) {
		t.Fatalf("got %v, want %v", err, wrong)
	}
	wrong, databases = nil, 3
	if _, err := Open(o); !errors.Is(err, ErrMember) {
		t.Fatalf("a group with fewer databases: %v", err)
	}
	for _, databases = range []int{9, 9, 11} {
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if got, n := s.Member().Common(); got != secret || n != 9 || s.Databases() != 9 {
			t.Errorf("the store has %x, %d databases", got, n)
		}
		closeStore(t, s)
	}
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
	o.FS, databases = vfs.NewMem(), 0
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if s.Databases() != 4 {
		t.Errorf("%d databases, want 4", s.Databases())
	}
	all(s, 1, func(tx *Tx) {})
	if s.Member().KeysFrom(0) {
		t.Error("there are keys")
	}
	closeStore(t, s)
}
