package persistence

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures/list"
)

func pushOne(t *testing.T, s *Store, key, elem string) {
	t.Helper()
	all(s, 1, func(tx *Tx) {
		l, ch, _, err := Edit(tx, []byte(key), list.New)
		if err != nil {
			t.Fatal(err)
		}
		l.Push(ch, list.Tail, []byte(elem))
	})
}

func listOf(t *testing.T, s *Store, key string) (elems []string) {
	t.Helper()
	all(s, 1, func(tx *Tx) {
		l, ok, err := View[*list.List](tx, []byte(key))
		if err != nil || !ok {
			t.Fatalf("read %s: %v, %v", key, ok, err)
		}
		for i := range l.Len() {
			e, _ := l.Index(i)
			elems = append(elems, string(e))
		}
	})
	return elems
}

// once is a context whose pass is disturbed at the first shard that has changes.
func once(t *testing.T, change func()) changing {
	return changing{t.Context(), func() {
		if f := change; f != nil {
			change = nil
			f()
		}
	}}
}

// TestReplayPassesOverAllThatAHeadContains changes a value twice after the mark of
// its shard is taken and before it is written.
func TestReplayPassesOverAllThatAHeadContains(t *testing.T) {
	for _, others := range []int{0, 500} { // more keys on disk: other look-ups
		fs := vfs.NewMem()
		s := openMemory(t, Options{FS: fs, IdleAfter: -1})
		setKeys(s, 0, others*format.ShardCount/8, []byte("v"))
		pushOne(t, s, "l", "a")
		materialise(t, s)
		pushOne(t, s, "l", "b")
		ctx := once(t, func() {
			pushOne(t, s, "l", "c")
			pushOne(t, s, "l", "d")
		})
		s.writer.Lock()
		err := errors.Join(s.writer.WriteShard(ctx, format.ShardOf(s.Hash([]byte("l")))), s.writer.Commit())
		s.writer.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		pushOne(t, s, "l", "e")
		abandon(t, s)
		s = openMemory(t, Options{FS: fs, IdleAfter: -1})
		if got, want := listOf(t, s, "l"), []string{"a", "b", "c", "d", "e"}; !slices.Equal(got, want) {
			t.Errorf("%d other keys: got %q, want %q", others, got, want)
		}
		closeStore(t, s)
	}
}

// TestMarkFollowsTheDeletionOfWhatWasNotWritten deletes a key while a pass is on
// its way to it: the pass finds nothing, and a crash must not lose the deletion
// alone, for the mark says that the key was dealt with.
func TestMarkFollowsTheDeletionOfWhatWasNotWritten(t *testing.T) {
	mem := disktest.New()
	s := openMemory(t, Options{FS: mem, IdleAfter: -1, Sync: SyncNever})
	key := []byte("k")
	lsn := all(s, 1, func(tx *Tx) { tx.SetString(key, []byte("v"), NoExpiry) })
	if err := s.commits.WaitDurable(lsn); err != nil {
		t.Fatal(err)
	}
	ctx := once(t, func() { all(s, 1, func(tx *Tx) { tx.Delete(key) }) })
	s.writer.Lock()
	err := errors.Join(s.writer.WriteShard(ctx, format.ShardOf(s.Hash(key))), s.writer.Commit())
	s.writer.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	closeStore(t, s)
	s = openMemory(t, Options{FS: crashed, IdleAfter: -1})
	last := s.Stats().LSN
	all(s, 1, func(tx *Tx) {
		if _, ok, _ := tx.String(key); ok != (last == lsn) {
			t.Errorf("record %d is the last, the key is there: %v", last, ok)
		}
	})
	closeStore(t, s)
}

func TestMarkBehindTheJournalIsDamage(t *testing.T) {
	fs := vfs.NewMem()
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	setKeys(s, 0, 10, []byte("v"))
	if err := s.files.Disk.DB.Set(format.AppendMarkKey(nil, 3), []byte{100, 0, 0, 0, 0, 0, 0, 0}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if _, err := Open(Options{FS: fs, Dir: "db"}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("open: got %v, want ErrCorrupt", err)
	}
}
