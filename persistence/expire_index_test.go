package persistence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/slab"
	"github.com/vigildb/vigil/structures/testscale"
)

// spillAll writes all values under their own keys and drops nearly all of them from memory: MakeRoom looks at random places, and
// when it has found none a few times it does not look again before the next pass.
func spillAll(t testing.TB, s *Store) {
	t.Helper()
	s.eviction.Set(1, eviction.Spill, 5)
	for range 10 {
		materialise(t, s)
		for before := int64(-1); s.Stats().Spilled != before; s.eviction.MakeRoom() {
			before = s.Stats().Spilled
		}
	}
	s.eviction.Set(0, eviction.Spill, 5)
}

// cycles runs n rounds as the server does in a tenth of a second each.
func cycles(t testing.TB, s *Store, now int64, n int) (expired int) {
	t.Helper()
	for range n {
		expired += s.ExpireCycle(now, 25*time.Millisecond)
		if err := s.commits.AwaitSync(s.commits.Journal.Newest()); err != nil {
			t.Fatal(err)
		}
	}
	return expired
}

// entry is what the index has of a key.
type entry struct {
	phys uint32
	hash uint64
}

// indexed are the entries of the index with the earliest time of each.
func indexed(t testing.TB, s *Store) (entries map[entry]int64, lists int) {
	t.Helper()
	entries = map[entry]int64{}
	it, err := s.files.Disk.DB.NewIter(&pebble.IterOptions{
		LowerBound: format.AppendGroup(nil, format.PrefixExpiry), UpperBound: format.AppendGroupEnd(nil, format.PrefixExpiry)})
	if err != nil {
		t.Fatal(err)
	}
	for it.First(); it.Valid(); it.Next() {
		lists++
		phys, at, _, err := format.SplitExpiryKey(it.Key())
		if err != nil {
			t.Fatal(err)
		}
		_, _, list, err := expiry.Next(s.files.Disk.DB, phys, slices.Clone(it.Key()), nil, math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(list, func(a, b format.Expiring) int {
			if a.Hash < b.Hash {
				return -1
			}
			return 0
		}) {
			t.Errorf("list at %d is not in the order of hashes", at)
		}
		for _, e := range list {
			k := entry{phys, e.Hash}
			if old, ok := entries[k]; !ok || at < old {
				entries[k] = at
			}
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return entries, lists
}

// expiryOnDisk is the expiry of a key for which there must be an entry, 0 if
// there need not be any: its deletion, or its next head, is still to be written.
func expiryOnDisk(s *Store, phys uint32, hash uint64, key []byte, ofHead int64) int64 {
	sh := &s.keyspace.Shard[format.ShardOf(hash)]
	sh.Mu.Lock()
	defer s.keyspace.UnlockShard(sh)
	db := slices.Index(s.files.Meta.Phys, phys)
	if db < 0 {
		return 0
	}
	t := sh.Tables[db]
	if t == nil {
		return ofHead
	}
	i := t.Find(hash, key)
	if i < 0 {
		return ofHead
	}
	if m := t.Meta(i); m&keyspace.HasExpiry != 0 && t.Indexed(m) {
		return t.Expire(m)
	}
	return 0
}

// checkIndex looks for heads that expire without an entry in time.
func checkIndex(t testing.TB, s *Store) {
	t.Helper()
	s.writer.Lock() // between batches
	defer s.writer.Unlock()
	entries, _ := indexed(t, s)
	it, err := s.files.Disk.DB.NewIter(&pebble.IterOptions{
		LowerBound: format.AppendGroup(nil, format.PrefixHead), UpperBound: format.AppendGroupEnd(nil, format.PrefixHead)})
	if err != nil {
		t.Fatal(err)
	}
	for it.First(); it.Valid(); it.Next() {
		phys, hash, key, err := format.SplitHeadKey(it.Key())
		if err != nil {
			t.Fatal(err)
		}
		h, err := format.DecodeHead(it.Value())
		if err != nil {
			t.Fatal(err)
		}
		expire := expiryOnDisk(s, phys, hash, key, h.Expire)
		if at, ok := entries[entry{phys, hash}]; expire != 0 && (!ok || at > max(expire, s.opts.Now())+format.ExpiryTick) {
			t.Fatalf("key %.20q of database %d expires at %d, its entry is at %d (%v)", key, phys, h.Expire, at, ok)
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestKeysOnDiskExpireInTime: 50,000 keys (10,000 under the race detector) that only the disk
// has, due in one second, are gone after the rounds of the next one.
func TestKeysOnDiskExpireInTime(t *testing.T) {
	const keys, now = 50_000 / min(testscale.By, 5), 1_000_000
	var clock, events atomic.Int64
	clock.Store(now)
	s := openMemory(t, Options{IdleAfter: -1, Now: clock.Load, OnEvent: func(ev Event, db int, _ []byte) {
		if ev == EventExpired && db == 1 {
			events.Add(1)
		}
	}})
	defer closeStore(t, s)
	all(s, now, func(tx *Tx) {
		tx.Select(1)
		for i := range keys {
			tx.SetString(benchKey(nil, i), []byte("v"), Expiry(now+1000))
		}
	})
	spillAll(t, s)
	if n := s.Stats().Spilled; n < keys*9/10 {
		t.Fatalf("%d keys spilled", n)
	}
	if n := cycles(t, s, now+999, 10); n != 0 {
		t.Errorf("%d keys expired before their time", n)
	}
	clock.Store(now + 1000 + format.ExpiryTick)
	n := cycles(t, s, clock.Load(), 10)
	if n != keys || events.Load() != keys {
		t.Errorf("expired %d with %d events, want %d", n, events.Load(), keys)
	}
	all(s, clock.Load(), func(tx *Tx) {
		if n := tx.Databases().Size(1); n != 0 {
			t.Errorf("DBSize: got %d", n)
		}
	})
	materialise(t, s)
	cycles(t, s, clock.Load(), 2)
	if _, lists := indexed(t, s); lists != 0 {
		t.Errorf("%d lists are left", lists)
	}
}

func TestExpiriesOfAllDistancesTakeFewLists(t *testing.T) {
	const seed, keys = 5, 20_000
	r := rand.New(rand.NewPCG(seed, 0))
	s := openMemory(t, Options{IdleAfter: -1, Now: func() int64 { return 1 }})
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		for i := range keys {
			tx.SetString(benchKey(nil, i), []byte("v"), Expiry(2+r.Int64N(1<<r.IntN(62))))
		}
	})
	materialise(t, s)
	if _, lists := indexed(t, s); lists > 2000 {
		t.Errorf("seed %d: %d lists for %d keys", seed, lists, keys)
	}
	checkIndex(t, s)
}

// TestListsGoBehindWhatTheySay: a list goes when the journal has the deletions, and
// with its database.
func TestListsGoBehindWhatTheySay(t *testing.T) {
	var clock atomic.Int64 // now, for the background
	now := int64(1)
	s := openMemory(t, Options{IdleAfter: -1, Now: clock.Load})
	defer closeStore(t, s)
	fill := func() {
		all(s, now, func(tx *Tx) {
			for i := range 1000 {
				tx.SetString(benchKey(nil, i), []byte("v"), Expiry(now+1000))
			}
		})
		spillAll(t, s)
	}
	fill()
	now += 2000
	clock.Store(now)
	cycles(t, s, now, 1)
	_, before := indexed(t, s)
	if before == 0 {
		t.Fatal("no lists")
	}
	cycles(t, s, now, 1)
	if _, lists := indexed(t, s); lists != 0 {
		t.Errorf("%d of %d lists are left", lists, before)
	}
	fill()
	all(s, now, func(tx *Tx) { tx.Databases().Flush(0) })
	materialise(t, s)
	if _, lists := indexed(t, s); lists != 0 {
		t.Errorf("%d lists are left of a flushed database", lists)
	}
}

// TestProlongedKeyKeepsItsEntry: a session whose expiry moves with each request
// does not fill the index.
func TestProlongedKeyKeepsItsEntry(t *testing.T) {
	var clock atomic.Int64 // now, for the background
	now := int64(1)
	s := openMemory(t, Options{IdleAfter: -1, Now: clock.Load})
	defer closeStore(t, s)
	const month = 30 * 86400 * 1000
	long := make([]byte, 2*slab.MaxRecord)
	for range testscale.Rounds(500) {
		now += 1000
		clock.Store(now)
		all(s, now, func(tx *Tx) {
			tx.SetString([]byte("short"), fmt.Append(nil, now), Expiry(now+month))
			tx.SetString([]byte("long"), long[:slab.MaxRecord+now%slab.MaxRecord], Expiry(now+month))
			tx.SetString([]byte("list"), []byte("v"), KeepExpiry)
			tx.SetExpire([]byte("list"), now+month)
		})
		if now%100_000 == 1 {
			spillAll(t, s)
		}
		materialise(t, s)
	}
	checkIndex(t, s)
	if entries, lists := indexed(t, s); len(entries) != 3 || lists > 6 {
		t.Errorf("%d entries in %d lists for 3 keys", len(entries), lists)
	}
	for range testscale.Rounds(400) {
		now += month / 300 * testscale.By
		clock.Store(now)
		all(s, now, func(tx *Tx) { tx.SetExpire([]byte("short"), now+month) })
		materialise(t, s)
		cycles(t, s, now, 2)
		checkIndex(t, s)
	}
	all(s, now, func(tx *Tx) {
		if n := tx.Databases().Size(0); n != 1 {
			t.Errorf("%d keys are left, want the one that was prolonged", n)
		}
	})
}

// TestExpiriesFollowTheModel does random changes of expiries, stores, forgets,
// crashes, flushes and swaps, and lets time pass: what is over goes without being
// asked for, what is not stays.
func TestExpiriesFollowTheModel(t *testing.T) {
	for seed := range testscale.Rounds(uint64(6)) {
		r := rand.New(rand.NewPCG(seed, 3))
		mem := disktest.New()
		now := int64(1_000_000)
		var clock atomic.Int64
		open := func(fs vfs.FS) *Store {
			return openMemory(t, Options{FS: fs, IdleAfter: -1, Now: clock.Load, Sync: SyncNever})
		}
		clock.Store(now)
		s := open(mem)
		want := [2]map[string]int64{{}, {}} // expiry, 0 none
		for step := range 400 / min(testscale.By, 4) {
			switch k := r.IntN(20); {
			case k < 3:
				materialise(t, s)
			case k < 5:
				spillAll(t, s)
			case k < 9:
				now += r.Int64N(1 << (4 + r.IntN(14)))
				clock.Store(now)
				cycles(t, s, now, 1)
			case k == 9 && step%3 == 0:
				s = afterCrash(t, s, &mem, open)
			case k == 10 && step%5 == 0:
				db := r.IntN(2)
				all(s, now, func(tx *Tx) { tx.Databases().Flush(db) })
				want[db] = map[string]int64{}
			case k == 11 && step%3 == 0:
				all(s, now, func(tx *Tx) { tx.Databases().Swap(0, 1) })
				want[0], want[1] = want[1], want[0]
			default:
				changeExpiries(s, r, now, &want)
			}
			if step%10 == 0 {
				checkIndex(t, s)
			}
			if step%40 == 0 {
				lossy := open(mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 10 * r.IntN(11), RNG: r}))
				checkIndex(t, lossy)
				closeStore(t, lossy)
			}
		}
		spillAll(t, s)
		for range 40 {
			now += 30_000
			clock.Store(now)
			cycles(t, s, now, 3)
			checkIndex(t, s)
			checkExpiries(t, s, seed, now, &want)
		}
		closeStore(t, s)
	}
}

// afterCrash opens a store again as a loss of power leaves it.
func afterCrash(t *testing.T, s *Store, mem **disktest.Disk, open func(vfs.FS) *Store) *Store {
	t.Helper()
	if err := s.commits.WaitDurable(s.commits.Journal.Newest()); err != nil {
		t.Fatal(err)
	}
	after := (*mem).CrashClone(vfs.CrashCloneCfg{})
	closeStore(t, s)
	*mem = after
	return open(after)
}

func changeExpiries(s *Store, r *rand.Rand, now int64, want *[2]map[string]int64) {
	all(s, now, func(tx *Tx) {
		for range 1 + r.IntN(20) {
			db := r.IntN(2)
			tx.Select(db)
			name := fmt.Sprint("k", r.IntN(60))
			key := []byte(name)
			if r.IntN(8) == 0 {
				name = fmt.Sprintf("%s%0*d", name, 4500, 0)
				key = []byte(name)
			}
			expire := now + 1 + r.Int64N(1<<(6+r.IntN(14)))
			old, ok := want[db][name]
			if live := ok && (old == 0 || old > now); !live {
				delete(want[db], name)
				ok = false
			}
			switch k := r.IntN(10); {
			case k < 4:
				tx.SetString(key, make([]byte, r.IntN(2*slab.MaxRecord)), Expiry(expire))
				want[db][name] = expire
			case k < 5:
				tx.SetString(key, []byte("v"), NoExpiry)
				want[db][name] = 0
			case k < 8:
				if tx.SetExpire(key, expire); ok {
					want[db][name] = expire
				}
			case k < 9:
				if tx.Persist(key); ok {
					want[db][name] = 0
				}
			default:
				tx.Delete(key)
				delete(want[db], name)
			}
		}
	})
}

func checkExpiries(t *testing.T, s *Store, seed uint64, now int64, want *[2]map[string]int64) {
	t.Helper()
	all(s, now-format.ExpiryTick, func(tx *Tx) {
		for db := range want {
			least, most := 0, 0
			for _, expire := range want[db] {
				if expire == 0 || expire > now-format.ExpiryTick {
					most++
				}
				if expire == 0 || expire > now {
					least++
				}
			}
			if n := tx.Databases().Size(db); n < least || n > most {
				t.Fatalf("seed %d, at %d: %d keys in database %d, want %d", seed, now, n, db, least)
			}
		}
	})
}
