package persistence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

// TestClientsAndBackgroundAgree lets clients move units between counters in
// transactions while everything that runs in the background does: the sum stays,
// and every client finds its own writes.
func TestClientsAndBackgroundAgree(t *testing.T) {
	const clients, rounds, counters = 4, 400, 50
	var now atomic.Int64
	now.Store(1000)
	mem := vfs.NewMem()
	s := openMemory(t, Options{FS: mem, Databases: 2, IdleAfter: -1, Now: now.Load, JournalBound: 1 << 16})
	all(s, 1000, func(tx *Tx) {
		for i := range counters {
			tx.SetString(fmt.Appendf(nil, "n%d", i), make([]byte, 100), NoExpiry)
		}
	})
	var work sync.WaitGroup
	for c := range clients {
		work.Go(func() { moveUnits(t, s, uint64(c), rounds, counters, &now) })
	}
	stop := make(chan struct{})
	var background sync.WaitGroup
	background.Go(func() { churn(t, s, &now, stop) })
	work.Wait()
	close(stop)
	background.Wait()
	checkSum := func() {
		all(s, now.Load(), func(tx *Tx) {
			sum := 0
			for i := range counters {
				b, _, err := tx.String(fmt.Appendf(nil, "n%d", i))
				if err != nil {
					t.Fatalf("read: %v", err)
				}
				sum += len(b)
			}
			if sum != counters*100 {
				t.Fatalf("sum of counters: got %d, want %d", sum, counters*100)
			}
		})
	}
	checkSum()
	closeStore(t, s)
	s = openMemory(t, Options{FS: mem, Databases: 2})
	checkSum()
	closeStore(t, s)
}

func moveUnits(t *testing.T, s *Store, seed uint64, rounds, counters int, now *atomic.Int64) {
	r := rand.New(rand.NewPCG(seed, 9))
	tx := s.NewTx()
	for i := range rounds {
		a := fmt.Appendf(nil, "n%d", r.IntN(counters))
		b := fmt.Appendf(nil, "n%d", r.IntN(counters))
		own := fmt.Appendf(nil, "own:%d:%d", seed, i%20)
		brief := fmt.Appendf(nil, "brief:%d", i)
		var set Shards
		for _, k := range [][]byte{a, b, own, brief} {
			set.Add(s.Hash(k))
		}
		s.eviction.MakeRoom()
		tx.Lock(&set, now.Load())
		tx.Select(0)
		if from, _, _ := tx.String(a); len(from) > 0 && string(a) != string(b) {
			tx.SetString(a, from[1:], NoExpiry)
			to, _, _ := tx.String(b)
			tx.SetString(b, append(to[:len(to):len(to)], 0), NoExpiry)
		}
		tx.Select(1)
		l, ch, _, err := Edit(tx, own, list.New)
		if err != nil {
			t.Errorf("Edit: %v", err)
		} else {
			l.Push(ch, list.Tail, fmt.Appendf(nil, "%d", i))
			if l.Len() > 3 {
				l.Pop(ch, list.Head)
			}
			if last, _ := l.Index(l.Len() - 1); string(last) != fmt.Sprint(i) {
				t.Errorf("own list ends with %s, want %d", last, i)
			}
		}
		tx.SetString(brief, own, Expiry(now.Load()+1))
		lsn := tx.Commit()
		tx.Unlock()
		s.commits.Throttle()
		if i%50 == 0 {
			if err := s.commits.WaitDurable(lsn); err != nil {
				t.Errorf("WaitDurable: %v", err)
			}
		}
	}
}

func churn(t *testing.T, s *Store, now *atomic.Int64, stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		now.Add(1)
		s.eviction.Set(int64(i%3)*4096, eviction.Spill, 3)
		s.eviction.MakeRoom()
		s.ExpireCycle(now.Load(), 1e6)
		s.Stats()
		if i%5 == 0 {
			if err := s.passes.Materialise(t.Context()); err != nil {
				t.Errorf("materialise: %v", err)
			}
		}
		if i%20 == 1 {
			if err := s.passes.Reload(); err != nil {
				t.Errorf("reload: %v", err)
			}
		}
		if i%20 == 2 {
			if err := s.Snapshot(fmt.Sprintf("snapshot%d", i), nil); err != nil {
				t.Errorf("snapshot: %v", err)
			}
		}
	}
}

func TestSnapshotHoldsWhatWasRecorded(t *testing.T) {
	mem := vfs.NewMem()
	s := openMemory(t, Options{FS: mem, IdleAfter: -1})
	all(s, 1, func(tx *Tx) { tx.SetString([]byte("a"), []byte("1"), NoExpiry) })
	materialise(t, s)
	all(s, 1, func(tx *Tx) { tx.SetString([]byte("b"), []byte("2"), NoExpiry) })
	if err := s.Snapshot("copy", nil); err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	if err := s.Snapshot("copy", nil); err == nil {
		t.Fatal("snapshot over another one: no error")
	}
	all(s, 1, func(tx *Tx) { tx.SetString([]byte("c"), []byte("3"), NoExpiry) })
	closeStore(t, s)
	c, err := Open(Options{Dir: "copy", FS: mem})
	if err != nil {
		t.Fatalf("open copy: %v", err)
	}
	all(c, 1, func(tx *Tx) {
		a, _, _ := tx.String([]byte("a"))
		b, _, _ := tx.String([]byte("b"))
		if string(a)+string(b) != "12" || tx.Kind([]byte("c")) != structures.KindNone || tx.Databases().Size(0) != 2 {
			t.Errorf("copy holds %q, %q and %d keys", a, b, tx.Databases().Size(0))
		}
	})
	closeStore(t, c)
}

func TestDirectoryHasOneStore(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("open twice: got %v, want ErrLocked", err)
	}
	closeStore(t, s)
	if s, err = Open(Options{Dir: dir}); err != nil {
		t.Fatalf("open after close: %v", err)
	}
	closeStore(t, s)
}

func TestDatabasesAreAddedButNeverLost(t *testing.T) {
	mem := vfs.NewMem()
	s := openMemory(t, Options{FS: mem, Databases: 2})
	all(s, 1, func(tx *Tx) {
		tx.SetString([]byte("gone"), nil, NoExpiry)
		tx.Databases().Flush(0)
		tx.SetString([]byte("a"), []byte("1"), NoExpiry)
	})
	closeStore(t, s)
	s = openMemory(t, Options{FS: mem, Databases: 5})
	all(s, 1, func(tx *Tx) {
		tx.Select(4)
		tx.SetString([]byte("b"), []byte("2"), NoExpiry)
	})
	closeStore(t, s)
	s = openMemory(t, Options{FS: mem, Databases: 1})
	if s.Databases() != 5 {
		t.Errorf("databases: got %d, want 5", s.Databases())
	}
	all(s, 1, func(tx *Tx) {
		for db, want := range []int{1, 0, 0, 0, 1} {
			if n := tx.Databases().Size(db); n != want {
				t.Errorf("DBSize(%d): got %d, want %d", db, n, want)
			}
		}
	})
	closeStore(t, s)
}
