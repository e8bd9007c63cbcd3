package lsm

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
)

func open(t *testing.T, fs vfs.FS) (*pebble.DB, *fence.FS) {
	t.Helper()
	f := fence.New(fs, "db")
	db, err := Open("db", Options(f, disktest.Silent{}), f, func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	return db, f
}

// A new store has the meta that is given, one that has keys without a meta is damaged, and one of
// the first format is refused by name.
func TestMetaIsReadOrRefused(t *testing.T) {
	fresh, stored := format.Meta{Secret: [16]byte{1}}, format.Meta{Secret: [16]byte{2}, Next: 1, Phys: []uint32{0}}
	for _, c := range []struct {
		key    string
		value  []byte
		secret byte
		want   error
	}{
		{"", nil, 1, nil},
		{string(format.AppendMetaKey(nil)), stored.Append(nil), 2, nil},
		{string(format.AppendMetaKey(nil)), []byte{4, 0, 0, 0}, 0, format.ErrVersion},
		{"k", nil, 0, format.ErrCorrupt},
		{"m", nil, 0, format.ErrVersion},
	} {
		db, f := open(t, vfs.NewMem())
		if c.key != "" {
			if err := db.Set([]byte(c.key), c.value, pebble.Sync); err != nil {
				t.Fatal(err)
			}
		}
		m, err := ReadMeta(db, fresh)
		if !errors.Is(err, c.want) || err == nil && m.Secret[0] != c.secret {
			t.Errorf("key %q: got %v, %v; want %v", c.key, m, err, c.want)
		}
		if err := Close("db", db, f); err != nil {
			t.Error(err)
		}
	}
}

// A range has keys if one is in it; its end is not.
func TestAnyLooksBelowTheEnd(t *testing.T) {
	db, f := open(t, vfs.NewMem())
	if err := db.Set(format.AppendStagedKey(nil), nil, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		low, high string
		want      bool
	}{{"t", "u", true}, {"s", "t\x00\x00", false}, {"u", "v", false}} {
		if got, err := Any(db, []byte(c.low), []byte(c.high)); got != c.want || err != nil {
			t.Errorf("%q to %q: got %v, %v", c.low, c.high, got, err)
		}
	}
	if counts, err := StagedCount(db); !counts || err != nil {
		t.Errorf("StagedCount: %v, %v", counts, err)
	}
	if err := Close("db", db, f); err != nil {
		t.Error(err)
	}
}

// A panic is an error, makes the fence fall, and leaves nothing to be closed.
func TestPanicEndsAnInstance(t *testing.T) {
	db, f := open(t, vfs.NewMem())
	if err := f.Adopt(func(error) {}); err != nil {
		t.Fatal(err)
	}
	err := Guard(f, func() error { panic("unexpected") })
	if err == nil || !strings.Contains(err.Error(), "pebble panicked: unexpected") || f.Err() == nil {
		t.Errorf("got %v, the fence %v", err, f.Err())
	}
	if err := Close("db", db, f); err != nil {
		t.Errorf("close: %v", err)
	}
}

// A store has one owner; a copy without a file for the lock is read without making one.
func TestLockHasOneOwner(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := LockToRead(fs, "db")
	if err != nil {
		t.Fatal(err)
	}
	if names, err := fs.List("db"); len(names) != 0 || err != nil {
		t.Errorf("reading made %q, %v", names, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if lock, err = Lock(fs, "db"); err != nil {
		t.Fatal(err)
	}
	for name, again := range map[string]func(vfs.FS, string) (*pebble.Lock, error){"Lock": Lock, "LockToRead": LockToRead} {
		if _, err := again(fs, "db"); !errors.Is(err, ErrLocked) {
			t.Errorf("%s of a locked directory: got %v, want ErrLocked", name, err)
		}
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
}

// Buffers are a part of the memory that a store may take, within bounds.
func TestBuffersFollowTheLimit(t *testing.T) {
	if m, c := MemTableBytes(0), CacheBytes(0); m != MostMemTable || c != maxCache {
		t.Errorf("without a limit: %d, %d", m, c)
	}
	if m, c := MemTableBytes(1), CacheBytes(1); m != leastMemTable || c != minCache {
		t.Errorf("under the least limit: %d, %d", m, c)
	}
	if m, c := MemTableBytes(1<<40), CacheBytes(1<<40); m != MostMemTable || c != maxCache {
		t.Errorf("under a high limit: %d, %d", m, c)
	}
}

// A change returns an error if the instance did not write it, and one that fell is not asked again.
func TestChangesOfAFallenInstanceFail(t *testing.T) {
	var d Disk
	d.Init(nil)
	db, f := open(t, vfs.NewMem())
	if err := f.Adopt(func(error) {}); err != nil {
		t.Fatal(err)
	}
	d.DB = db
	d.SetFence(f)
	set := func() error {
		b := d.DB.NewBatch()
		return errors.Join(b.Set([]byte("k"), nil, nil), d.Apply(b, pebble.Sync))
	}
	if err := errors.Join(set(), d.SyncLog()); err != nil || d.Err() != nil {
		t.Errorf("got %v, %v", err, d.Err())
	}
	full := errors.New("no room")
	err := d.Change(func(*pebble.DB) error {
		f.Fall(full)
		return nil
	})
	if !errors.Is(err, full) {
		t.Errorf("a change amid which the fence fell: %v", err)
	}
	called := false
	err = d.Change(func(*pebble.DB) error {
		called = true
		return nil
	})
	if _, flush := d.Flush(); called || !errors.Is(err, full) || !errors.Is(set(), full) || !errors.Is(d.SyncLog(), full) || !errors.Is(flush, full) {
		t.Errorf("behind a fallen fence: called %v, %v", called, err)
	}
	next, g := open(t, vfs.NewMem())
	if err := g.Adopt(func(error) {}); err != nil {
		t.Fatal(err)
	}
	locked := 0
	former := d.Replace(next, g, func() func() { locked++; return func() { locked += 10 } })
	if former != db || d.DB != next || d.Fence() != g || locked != 11 || set() != nil {
		t.Errorf("replaced: %v, %v, locked %d", former == db, d.DB == next, locked)
	}
	if err := errors.Join(Close("db", db, f), Close("db", next, g)); err != nil {
		t.Error(err)
	}
}
