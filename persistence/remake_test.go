package persistence

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/structures/list"
)

// giveUp does random operations to a store, and gives them up.
func giveUp(t testing.TB, s *Store, m *model, r *rand.Rand) {
	t.Helper()
	var set Shards
	set.AddAll()
	tx, doomed := s.NewTx(), m.clone()
	tx.Lock(&set, m.now)
	for range 1 + r.IntN(8) {
		doomed.step(t, r, tx)
	}
	newest := s.commits.Journal.Newest()
	if tx.Abandon() && s.commits.Journal.Newest() != newest {
		t.Fatalf("record %d is the newest after Abandon, want %d", s.commits.Journal.Newest(), newest)
	}
	tx.Unlock()
	checkAccounts(t, s)
}

// counted adds one to a counter, or gives that up.
func counted(tx *Tx, key string, doomed bool) {
	b, _, _ := tx.String([]byte(key))
	n, _ := strconv.Atoi(string(b))
	tx.SetString([]byte(key), []byte(strconv.Itoa(n+1)), NoExpiry)
	if doomed {
		tx.Abandon()
	} else {
		tx.Commit()
	}
	tx.Unlock()
}

// TestOthersGoOnWhileMemoryIsMadeAnew counts in some goroutines, one of them with long
// transactions, while others give up theirs, and passes, sweeps and evictions are made.
func TestOthersGoOnWhileMemoryIsMadeAnew(t *testing.T) {
	s := openMemory(t, Options{FS: vfs.NewMem(), Databases: 1, IdleAfter: -1, JournalBound: 1 << 10})
	const writers, rounds = 4, 150
	var wg, background sync.WaitGroup
	var over atomic.Bool
	shardsOf := func(tx *Tx, keys ...string) *Shards {
		var set Shards
		for _, key := range keys {
			set.Add(s.Hash([]byte(key)))
		}
		return &set
	}
	for w := range writers {
		wg.Go(func() {
			tx := s.NewTx()
			for i := range rounds {
				own, shared := fmt.Sprint("own", w), fmt.Sprint("shared", i%3)
				tx.Lock(shardsOf(tx, own, shared), 1000)
				tx.Delete([]byte(shared))
				counted(tx, own, false)
			}
		})
		wg.Go(func() {
			tx := s.NewTx()
			for i := range rounds / 10 {
				own, shared := fmt.Sprint("own", w), fmt.Sprint("shared", i%3)
				tx.Lock(shardsOf(tx, own, shared), 1000)
				tx.SetString([]byte(shared), []byte("doomed"), NoExpiry)
				counted(tx, own, true)
			}
		})
	}
	lost := 0
	wg.Go(func() {
		tx := s.NewTx()
		one := func(i int) {
			defer func() {
				if recover() != nil { // another one has torn memory, amid this
					lost++
					tx.Abandon()
					tx.Unlock()
				}
			}()
			tx.LockLong(shardsOf(tx, "long"), 1000)
			b, _, _ := tx.String([]byte("long"))
			tx.SetString([]byte("long"), append(b[:len(b):len(b)], 'x'), NoExpiry)
			tx.Extend(shardsOf(tx, fmt.Sprint("shared", i%3)))
			tx.SetString([]byte(fmt.Sprint("shared", i%3)), nil, NoExpiry)
			tx.Commit()
			tx.Unlock()
		}
		for i := range rounds {
			one(i)
		}
	})
	for _, work := range []func(){
		func() { _ = s.passes.Materialise(s.ctx) },
		func() { s.ExpireCycle(1000, time.Millisecond) },
		func() { _ = s.passes.Reload() },
		func() { s.Stats() },
	} {
		background.Go(func() {
			for !over.Load() {
				work()
			}
		})
	}
	wg.Wait()
	over.Store(true)
	background.Wait()
	check := func() {
		t.Helper()
		all(s, 1000, func(tx *Tx) {
			for w := range writers {
				if b, _, _ := tx.String([]byte(fmt.Sprint("own", w))); string(b) != strconv.Itoa(rounds) {
					t.Errorf("own%d: got %s, want %d", w, b, rounds)
				}
			}
			if b, _, _ := tx.String([]byte("long")); len(b) != rounds-lost {
				t.Errorf("long: got %d, want %d", len(b), rounds-lost)
			}
			for i := range 3 {
				if b, _, _ := tx.String([]byte(fmt.Sprint("shared", i))); len(b) > 0 {
					t.Errorf("shared%d: got %s of a transaction that was given up", i, b)
				}
			}
		})
		checkAccounts(t, s)
	}
	check()
	fs := s.opts.FS
	closeStore(t, s)
	s = openMemory(t, Options{FS: fs, Databases: 1})
	check()
	closeStore(t, s)
}

// TestMemoryIsMadeAnewOnceTheDiskWorks gives up a transaction while the disk fails: reads get
// an error, and what was committed once the disk works again.
func TestMemoryIsMadeAnewOnceTheDiskWorks(t *testing.T) {
	for _, policy := range []SyncPolicy{SyncAlways, SyncEverySecond, SyncNever} {
		disk := new(fullDisk)
		s := openMemory(t, Options{FS: errorfs.Wrap(vfs.NewMem(), disk), Databases: 1, Sync: policy, IdleAfter: -1})
		push := func(tx *Tx) {
			l, ch, _, err := Edit(tx, []byte("l"), list.New)
			if err != nil {
				t.Fatal(err)
			}
			l.Push(ch, list.Tail, []byte("x"))
		}
		length := func() (n int, err error) {
			all(s, 1, func(tx *Tx) {
				v, ok, _ := View[*list.List](tx, []byte("l"))
				if err = tx.Err(); ok {
					n = v.Len()
				}
			})
			return n, err
		}
		all(s, 1, push)
		if err := s.commits.WaitDurable(s.commits.Newest()); err != nil {
			t.Fatal(err)
		}
		disk.full.Store(true)
		all(s, 1, push) // the disk does not get this one now
		if err := s.commits.WaitDurable(s.commits.Newest()); err == nil {
			t.Fatal("a write was durable on a full disk")
		}
		tx, set := s.NewTx(), new(Shards)
		set.AddAll()
		tx.Lock(set, 1)
		push(tx)
		tx.Abandon()
		tx.Commit()
		tx.Unlock()
		if n, err := length(); err == nil {
			t.Errorf("%v: while memory cannot be made anew the list has %d elements, want an error", policy, n)
		}
		disk.full.Store(false)
		s.commits.Journal.Signal()
		for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
			n, err := length()
			if err == nil {
				if n != 2 {
					t.Errorf("%v: the list has %d elements, want 2", policy, n)
				}
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v: still %v", policy, err)
			}
		}
		closeStore(t, s)
	}
}

// TestReaderWaitsForWhatMemoryWasMadeOf gives up a transaction under SyncAlways: a reply that
// depends on records from before still has to wait for them.
func TestReaderWaitsForWhatMemoryWasMadeOf(t *testing.T) {
	s := openMemory(t, Options{Databases: 1, Sync: SyncAlways, IdleAfter: -1})
	defer closeStore(t, s)
	lsn := all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), []byte("v"), NoExpiry) })
	tx, set := s.NewTx(), new(Shards)
	set.Add(s.Hash([]byte("k")))
	tx.Lock(set, 1)
	tx.Delete([]byte("k"))
	tx.Abandon()
	if b, _, _ := tx.String([]byte("k")); string(b) != "v" {
		t.Errorf("got %q", b)
	}
	if got := tx.Seen(); got < lsn {
		t.Errorf("the reader waits for record %d, want %d", got, lsn)
	}
	tx.Unlock()
}

// TestNothingIsMadeAnewForWhatChangedNothing abandons a transaction that has only found a key
// to be expired, which stays deleted.
func TestNothingIsMadeAnewForWhatChangedNothing(t *testing.T) {
	s := openMemory(t, Options{Databases: 1, IdleAfter: -1})
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		tx.SetString([]byte("k"), []byte("v"), NoExpiry)
		tx.SetString([]byte("over"), []byte("v"), 10)
	})
	tx, set := s.NewTx(), new(Shards)
	set.AddAll()
	tx.Lock(set, 20)
	if b, ok, _ := tx.String([]byte("k")); !ok || string(b) != "v" {
		t.Errorf("got %q, %v", b, ok)
	}
	if _, ok, _ := tx.String([]byte("over")); ok {
		t.Error("the key is not over")
	}
	before := s.commits.Journal.Newest()
	if tx.Abandon() {
		t.Error("memory was made anew")
	}
	if got := s.commits.Journal.Newest(); got != before+1 {
		t.Errorf("the newest record is %d, want that of the expiry, %d", got, before+1)
	}
	tx.Unlock()
}
