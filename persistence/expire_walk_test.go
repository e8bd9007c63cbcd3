package persistence

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence/format"
)

// keysOf returns n keys of one shard.
func keysOf(s *Store, shard, n int) (keys []string) {
	for i := 0; len(keys) < n; i++ {
		if key := fmt.Sprint("key", i); format.ShardOf(s.Hash([]byte(key))) == shard {
			keys = append(keys, key)
		}
	}
	return keys
}

// The cycle does not walk over keys that have time left: it knows when the first of
// them expires.
func TestCycleComesWhenTheFirstKeyExpires(t *testing.T) {
	s := openMemory(t, Options{InMemory: true})
	defer closeStore(t, s)
	keys := keysOf(s, 0, 20)
	all(s, 1, func(tx *Tx) {
		for i, key := range keys {
			tx.SetString([]byte(key), nil, Expiry(1000+10*i))
		}
	})
	tb := s.keyspace.Table(0, 0)
	for now := int64(0); now < 1200; now += 5 {
		want := 0
		if now >= 1000 && now%10 == 0 {
			want = 1
		}
		if n := s.ExpireCycle(now, time.Second); n != want {
			t.Fatalf("at %d: %d keys expired, want %d", now, n, want)
		}
		if now < 1190 && (tb.NextExpiry <= now || tb.NextExpiry > now+1000) {
			t.Fatalf("at %d: comes again at %d", now, tb.NextExpiry)
		}
	}
	all(s, 1200, func(tx *Tx) { tx.SetString([]byte(keys[0]), nil, 1300) })
	if tb.NextExpiry != 1300 || s.ExpireCycle(1300, time.Second) != 1 {
		t.Errorf("a new expiry is not seen: comes at %d", tb.NextExpiry)
	}
}

// A walk over a large table is interrupted. What happens behind it meanwhile is not
// forgotten.
func TestExpiryThatIsGivenBehindTheWalkIsSeen(t *testing.T) {
	for name, meanwhile := range map[string]func(s *Store, tx *Tx, key string){
		"set":    func(_ *Store, tx *Tx, key string) { tx.SetString([]byte(key), []byte("long enough"), 50) },
		"same":   func(_ *Store, tx *Tx, key string) { tx.SetString([]byte(key), nil, 50) },
		"expire": func(_ *Store, tx *Tx, key string) { tx.SetExpire([]byte(key), 50) },
		"list": func(_ *Store, tx *Tx, key string) {
			tx.Delete([]byte(key))
			compactKinds["list"].grow(tx, key, 0)
			tx.SetExpire([]byte(key), 50)
		},
		"in another database": func(s *Store, tx *Tx, key string) {
			tx.Select(1)
			tx.SetString([]byte(key), nil, 50)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openMemory(t, Options{InMemory: true, Databases: 2})
			defer closeStore(t, s)
			keys := keysOf(s, 0, 30)
			all(s, 1, func(tx *Tx) {
				for _, key := range keys {
					tx.SetString([]byte(key), nil, 1000)
				}
				tx.SetExpire([]byte(keys[0]), 5) // which makes the cycle come
			})
			w := &s.sweeper
			if _, _, done := w.Walk(10, 15); done {
				t.Fatal("30 keys are walked over in one hold of 15 slots")
			}
			behind := 0
			for _, key := range keys {
				if s.Hash([]byte(key)) < w.Cursor() {
					all(s, 10, func(tx *Tx) { meanwhile(s, tx, key) })
					behind++
				}
			}
			for done := false; !done; {
				_, _, done = w.Walk(10, 1000)
			}
			left := 0
			all(s, 10, func(tx *Tx) {
				for db := range 2 {
					tx.Select(db)
					for _, key := range keys {
						if at, ok := tx.ExpireAt([]byte(key)); ok && at == 50 {
							left++
						}
					}
				}
			})
			w.Forget()
			if n := s.ExpireCycle(60, time.Second); n != left || left < behind-1 { // one may have been over
				t.Errorf("%d of %d keys expired", n, left)
			}
		})
	}
}

// The walk goes on in another table when databases are swapped, and knows nothing of
// the keys behind it there.
func TestSwapDuringTheWalkHidesNoExpiry(t *testing.T) {
	s := openMemory(t, Options{InMemory: true, Databases: 2})
	defer closeStore(t, s)
	keys := keysOf(s, 0, 30)
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(s.Hash([]byte(a)), s.Hash([]byte(b))) })
	const early = 5 // of database 1, the first that the walk meets
	all(s, 1, func(tx *Tx) {
		for db := range 2 {
			tx.Select(db)
			for i, key := range keys {
				expiry := Expiry(1000)
				if db == 1 && i < early {
					expiry = 50
				}
				tx.SetString([]byte(key), nil, expiry)
			}
			tx.SetExpire([]byte(keys[early]), 5)
		}
	})
	s.ExpireCycle(10, time.Second) // database 1 is known to expire at 50
	all(s, 10, func(tx *Tx) { tx.SetString([]byte(keys[early]), nil, 11) })
	w := &s.sweeper
	w.Forget()
	if _, _, done := w.Walk(12, 15); done {
		t.Fatal("30 keys are walked over in one hold of 15 slots")
	}
	all(s, 12, func(tx *Tx) { tx.Databases().Swap(0, 1) })
	for done := false; !done; {
		_, _, done = w.Walk(12, 1000)
	}
	w.Forget()
	if n := s.ExpireCycle(60, time.Second); n != early {
		t.Errorf("%d keys expired, want %d", n, early)
	}
}
