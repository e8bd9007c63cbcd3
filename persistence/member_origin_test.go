package persistence

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/persistence/snapshot"
)

func someOrigin() *snapshot.Origin {
	return &snapshot.Origin{Group: "b", Node: "2", Address: "127.0.0.1:7002", Whole: &snapshot.Whole{Name: "monday", ID: "0123", Made: 5,
		Parts: []snapshot.Part{{Group: "a", Slots: "0-5"}, {Group: "b", Slots: "6-9"}}}}
}

// A snapshot says of what it is a part, a store that is made of it too, until that is dropped.
func TestSnapshotsSayOfWhatTheyAre(t *testing.T) {
	mem := vfs.NewMem()
	s := openMemory(t, Options{FS: mem, IdleAfter: -1})
	o := someOrigin()
	if err := errors.Join(s.Snapshot("snaps/part", o), s.Snapshot("snaps/plain", nil)); err != nil {
		t.Fatal(err)
	}
	found, err := s.Snapshots().List("snaps")
	if err != nil || len(found) != 2 || !reflect.DeepEqual(found[0].Origin, o) || found[1].Origin != nil {
		t.Fatalf("listed: %+v, %v", found, err)
	}
	if want := "part 2 of 2 of the cluster snapshot monday (0123): slots 6-9, made at 127.0.0.1:7002"; o.String() != want {
		t.Errorf("got %s, want %s", o, want)
	}
	r, err := Restore(Options{FS: mem, Dir: "new"}, "snaps/part", func(string, int64, int64) {})
	if err != nil || !reflect.DeepEqual(r.Origin, o) {
		t.Fatalf("restored: %+v, %v", r, err)
	}
	m := member.New(member.Config{FS: mem, Dir: "new", Durable: new(journal.Durability)})
	if got, err := m.Origin(); err != nil || !reflect.DeepEqual(got, o) {
		t.Errorf("the new store is of %+v, %v", got, err)
	}
	for range 2 { // what was interrupted is done again
		if err := m.DropOrigin(); err != nil {
			t.Error(err)
		}
	}
	if got, err := m.Origin(); err != nil || got != nil {
		t.Errorf("after it was dropped: %+v, %v", got, err)
	}
}

// A snapshot with a damaged note is damaged.
func TestDamagedOriginIsFound(t *testing.T) {
	mem := vfs.NewMem()
	s := openMemory(t, Options{FS: mem, IdleAfter: -1})
	if err := s.Snapshot("snaps/a", someOrigin()); err != nil {
		t.Fatal(err)
	}
	foreign := someOrigin()
	foreign.Group = "c" // which has no part
	if err := snapshot.WriteOrigin(mem, "snaps/a", foreign); err != nil {
		t.Fatal(err)
	}
	if r := checkStore(t, mem, "snaps/a"); r.Sound() || !strings.Contains(r.Damage[0], "ORIGIN") {
		t.Errorf("found: %q", r.Damage)
	}
	if _, err := Restore(Options{FS: mem, Dir: "new"}, "snaps/a", func(string, int64, int64) {}); !errors.Is(err, ErrDamaged) {
		t.Errorf("restored: %v", err)
	}
	if found, err := s.Snapshots().List("snaps"); err != nil || len(found) != 1 || found[0].Origin != nil {
		t.Errorf("listed: %+v, %v", found, err)
	}
}
