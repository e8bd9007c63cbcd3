package persistence

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/testscale"
)

func TestSpillBoundsMemoryAndLosesNothing(t *testing.T) {
	const less = min(2, testscale.By) // the store itself takes half a MiB
	const keys, bound = 20000 / less, 2 << 20 / less
	s := openMemory(t, Options{MaxMemory: bound, IdleAfter: -1})
	defer func() { closeStore(t, s) }()
	tx := s.NewTx()
	value := func(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%05d", i), 40) }
	highest := int64(0)
	for i := range keys {
		s.eviction.MakeRoom()
		setOne(s, tx, benchKey(nil, i), value(i))
		highest = max(highest, s.Memory())
	}
	if highest > 2*bound {
		t.Errorf("memory: got up to %d, want about %d", highest, bound)
	}
	if s.eviction.Over() {
		t.Error("OverMemory under eviction.Spill")
	}
	if st := s.Stats(); st.Spilled == 0 || st.Materialised == 0 {
		t.Errorf("nothing was spilled: %+v", st)
	}
	for i := range keys {
		s.eviction.MakeRoom()
		var set Shards
		key := benchKey(nil, i)
		set.Add(s.Hash(key))
		tx.Lock(&set, 1)
		if b, _, err := tx.String(key); !bytes.Equal(b, value(i)) || err != nil {
			t.Fatalf("key %d: got %.20q, %v", i, b, err)
		}
		tx.Commit()
		tx.Unlock()
	}
	all(s, 1, func(tx *Tx) {
		if n := tx.Databases().Size(0); n != keys {
			t.Errorf("DBSize: got %d, want %d", n, keys)
		}
	})
}

func TestPoliciesDeleteWhatTheyMay(t *testing.T) {
	for _, c := range []struct {
		name    string
		policy  eviction.Policy
		evicts  bool
		persist bool // keys without an expiry must survive
	}{
		{"noeviction", eviction.None, false, true},
		{"allkeys-lru", eviction.AllKeysLRU, true, false},
		{"allkeys-lfu", eviction.AllKeysLFU, true, false},
		{"allkeys-random", eviction.AllKeysRandom, true, false},
		{"volatile-lru", eviction.VolatileLRU, true, true},
		{"volatile-lfu", eviction.VolatileLFU, true, true},
		{"volatile-random", eviction.VolatileRandom, true, true},
		{"volatile-ttl", eviction.VolatileTTL, true, true},
		{"allkeys-lrm", eviction.AllKeysLRM, true, false},
		{"volatile-lrm", eviction.VolatileLRM, true, true},
	} {
		events := 0
		mem := vfs.NewMem()
		s := openMemory(t, Options{FS: mem, IdleAfter: -1, OnEvent: func(ev Event, _ int, _ []byte) {
			if ev == EventEvicted {
				events++
			}
		}})
		all(s, 1, func(tx *Tx) {
			for i := range 1000 {
				e := NoExpiry
				if i%2 == 0 {
					e = Expiry(1e6 + i)
				}
				tx.SetString(benchKey(nil, i), make([]byte, 100), e)
			}
		})
		bound := s.Memory() - 20000
		s.eviction.Set(bound, c.policy, 5)
		for range 4 {
			s.eviction.MakeRoom()
		}
		if got := s.eviction.Over(); got == c.evicts {
			t.Errorf("%s: Over: %v", c.name, got)
		}
		left := 0
		check := func() {
			left = 0
			all(s, 1, func(tx *Tx) {
				for i := range 1000 {
					if tx.Kind(benchKey(nil, i)) == structures.KindString {
						left++
					} else if i%2 == 1 && c.persist {
						t.Errorf("%s: deleted key %d, which has no expiry", c.name, i)
					}
				}
			})
		}
		check()
		if (left < 1000) != c.evicts || events != 1000-left {
			t.Errorf("%s: %d keys left, %d events", c.name, left, events)
		}
		before := left
		closeStore(t, s)
		s = openMemory(t, Options{FS: mem, IdleAfter: -1})
		if check(); left != before {
			t.Errorf("%s: %d keys after a restart, want %d", c.name, left, before)
		}
		closeStore(t, s)
	}
}

func TestReadOfExpiredKeyDeletesIt(t *testing.T) {
	mem := vfs.NewMem()
	s := openMemory(t, Options{FS: mem})
	key := []byte("k")
	all(s, 1, func(tx *Tx) { tx.SetString(key, []byte("v"), 10) })
	var changed []string
	all(s, 10, func(tx *Tx) {
		tx.OnChange = func(_ int, key []byte) { changed = append(changed, string(key)) }
		if _, ok, _ := tx.String(key); ok {
			t.Error("String at its expiry: there")
		}
		// What follows must not find the old value on replay either.
		if err := tx.PatchString(key, 3, []byte("x")); err != nil {
			t.Errorf("PatchString: %v", err)
		}
	})
	if len(changed) != 2 {
		t.Errorf("changed: got %q", changed)
	}
	closeStore(t, s)
	s = openMemory(t, Options{FS: mem})
	all(s, 1, func(tx *Tx) {
		if b, _, _ := tx.String(key); string(b) != "\x00\x00\x00x" {
			t.Errorf("after restart: got %q", b)
		}
	})
	closeStore(t, s)
}

// A reply under SyncAlways shows nothing that a crash undoes: that a key is not there because it was evicted waits for
// the record of that, by whatever policy.
func TestReaderWaitsForTheEvictionOfItsKey(t *testing.T) {
	for _, policy := range []eviction.Policy{eviction.AllKeysLRU, eviction.AllKeysLFU, eviction.AllKeysRandom, eviction.VolatileLRU, eviction.VolatileLFU, eviction.VolatileRandom, eviction.VolatileTTL} {
		tasks, key := map[string]Task{}, []byte("k")
		s := openMemory(t, Options{Sync: SyncAlways, IdleAfter: -1, Background: func(task Task) { tasks[task.Name] = task }})
		read := func() (there bool, seen uint64) {
			var set Shards
			set.Add(s.Hash(key))
			tx := s.NewTx()
			tx.Lock(&set, 1)
			there = tx.Kind(key) != structures.KindNone
			seen = tx.Seen()
			tx.Unlock()
			return there, seen
		}
		all(s, 1, func(tx *Tx) { tx.SetString(key, make([]byte, 100), 1e6) })
		tasks["commit"].Step(false)
		if there, seen := read(); !there || !s.commits.Confirmed(seen) {
			t.Errorf("policy %d: there %v, confirmed %v", policy, there, s.commits.Confirmed(seen))
		}
		s.eviction.Set(1, policy, 5)
		s.eviction.MakeRoom()
		s.eviction.Set(0, policy, 5)
		if there, seen := read(); there || s.commits.Confirmed(seen) {
			t.Errorf("policy %d: after the eviction there %v, confirmed %v", policy, there, s.commits.Confirmed(seen))
		}
		tasks["commit"].Step(false)
		if _, seen := read(); !s.commits.Confirmed(seen) {
			t.Errorf("policy %d: the reader waits though the device has the record", policy)
		}
		closeStore(t, s)
	}
}

// Blessed keys stay, also those that only the disk has told of since a start; all others go.
func TestBlessedKeyIsNotEvicted(t *testing.T) {
	disk := vfs.NewMem()
	s := openMemory(t, Options{FS: disk})
	all(s, 1, func(tx *Tx) {
		for i := range 300 {
			tx.SetString(benchKey(nil, i), bytes.Repeat([]byte("v"), 1000), NoExpiry)
			if i%100 == 0 {
				if changed, ok, err := tx.Bless(benchKey(nil, i), true); !changed || !ok || err != nil {
					t.Fatalf("bless: %v, %v, %v", changed, ok, err)
				}
			}
		}
	})
	materialise(t, s)
	all(s, 1, func(tx *Tx) { tx.SetString(benchKey(nil, 100), []byte("later"), NoExpiry) }) // what a replay does not look behind
	closeStore(t, s)
	s = openMemory(t, Options{FS: disk, IdleAfter: -1})
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		for i := range 300 {
			if _, ok, err := tx.String(benchKey(nil, i)); !ok || err != nil {
				t.Fatalf("key %d: %v, %v", i, ok, err)
			}
		}
	})
	s.eviction.Set(1, eviction.AllKeysRandom, 5)
	for range 10 {
		s.eviction.MakeRoom()
	}
	all(s, 1, func(tx *Tx) {
		found := map[string]bool{}
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			cursor = tx.Databases().ScanBlessed(cursor, 10, func(key []byte) { found[string(key)] = true })
		}
		for i := range 3 {
			if key := benchKey(nil, 100*i); !found[string(key)] {
				t.Errorf("%s is gone", key)
			}
		}
		if n := tx.Databases().Size(0); n != 3 || len(found) != 3 {
			t.Errorf("%d keys, and %d are blessed; want 3", n, len(found))
		}
	})
}

// Under LRM what is read all the time goes before what was changed last.
func TestReadsAreNoUsesUnderLRM(t *testing.T) {
	for policy, want := range map[eviction.Policy]int64{eviction.AllKeysLRU: 0, eviction.AllKeysLRM: 100, eviction.VolatileLRM: 100} {
		s := openMemory(t, Options{Policy: policy, MaxMemory: 1 << 30})
		all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), []byte("v"), NoExpiry) })
		all(s, 100_001, func(tx *Tx) {
			if _, _, err := tx.String([]byte("k")); err != nil {
				t.Fatal(err)
			}
			tx.Usage().Touch([]byte("k"))
			if idle, _ := tx.Usage().Idle([]byte("k")); idle != want {
				t.Errorf("policy %d: a read leaves %d s, want %d", policy, idle, want)
			}
			if err := tx.PatchString([]byte("k"), 0, []byte("w")); err != nil {
				t.Fatal(err)
			}
			if idle, _ := tx.Usage().Idle([]byte("k")); idle != 0 {
				t.Errorf("policy %d: a change leaves %d s", policy, idle)
			}
		})
		closeStore(t, s)
	}
}
