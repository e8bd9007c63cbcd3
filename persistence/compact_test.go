package persistence

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/list"
)

// checkAccounts recounts the memory of every shard, and looks that no value stays an
// object only because a transaction used it. What a flush discarded is still
// accounted for until the background has freed it.
func checkAccounts(t testing.TB, s *Store) {
	t.Helper()
	s.purger.Drain()
	defer checkLarge(t, s)
	defer checkTally(t, s)
	for n := range s.keyspace.Shard {
		var account, counted int64
		for limit := time.After(10 * time.Second); ; runtime.Gosched() {
			if account, counted = recount(t, s, n); account == counted {
				break
			}
			select {
			case <-limit:
				t.Fatalf("shard %d accounts for %d bytes, and has %d", n, account, counted)
			default:
			}
		}
	}
}

// checkTally checks that Stats, which counts what changed, has what is there.
func checkTally(t testing.TB, s *Store) {
	t.Helper()
	for range 100 { // what runs in the background may come between
		before, st, after := countAll(s), s.Stats(), countAll(s)
		got := tableStats{databases: st.Databases, dirty: st.Dirty, cold: st.ColdTables}
		if fmt.Sprint(got) == fmt.Sprint(after) {
			return
		}
		if fmt.Sprint(before) == fmt.Sprint(after) {
			t.Fatalf("Stats has %v, want %v", got, after)
		}
	}
}

// countAll counts the tables of all shards, up to the last database that Stats shows.
func countAll(s *Store) tableStats {
	var all, one tableStats
	s.tally.mu.Lock()
	shown := len(s.tally.sum.databases)
	s.tally.mu.Unlock()
	for i := range s.keyspace.Shard {
		s.keyspace.Shard[i].Mu.Lock()
		one.count(&s.keyspace.Shard[i], s.files.Meta.Phys)
		s.keyspace.Shard[i].Mu.Unlock()
		all.add(&one, 1)
	}
	for len(all.databases) < shown {
		all.databases = append(all.databases, DatabaseStats{})
	}
	return all
}

// checkLarge checks the account of large values. Tables that were flushed may be about
// to leave it.
func checkLarge(t testing.TB, s *Store) {
	t.Helper()
	for limit := time.After(10 * time.Second); s.writer.Large().Bytes != countLarge(s); runtime.Gosched() {
		select {
		case <-limit:
			t.Fatalf("accounts for %d bytes of large values, and has %d", s.writer.Large().Bytes, countLarge(s))
		default:
		}
	}
}

// countLarge is the size of the objects with a pager.
func countLarge(s *Store) (counted int64) {
	eachLarge(s, func(o *keyspace.Object) { counted += int64(o.Size) })
	return counted
}

// eachLarge visits the objects with a pager, each under the lock of its shard.
func eachLarge(s *Store, visit func(o *keyspace.Object)) {
	for n := range s.keyspace.Shard {
		s.keyspace.Shard[n].Mu.Lock()
		for _, tb := range s.keyspace.Shard[n].Tables {
			if tb == nil {
				continue
			}
			for i := range tb.Places() {
				if o := tb.Object(tb.Meta(i)); o != nil && o.Pager != nil {
					visit(o)
				}
			}
		}
		s.keyspace.Shard[n].Mu.Unlock()
	}
}

// recount returns the bytes that a shard accounts for, and those that it has. It
// looks that the cycle comes as soon as a key expires.
func recount(t testing.TB, s *Store, shard int) (account, counted int64) {
	t.Helper()
	sh := &s.keyspace.Shard[shard]
	sh.Mu.Lock()
	defer sh.Mu.Unlock()
	for _, tb := range sh.Tables {
		if tb == nil {
			continue
		}
		counted += int64(tb.Places()) * keyspace.SlotBytes
		for i := range tb.Places() {
			meta := tb.Meta(i)
			if meta == 0 {
				continue
			}
			if e := tb.Expire(meta); e != 0 && e < tb.NextExpiry {
				t.Fatalf("%.20q expires at %d, and the cycle comes at %d", tb.Key(meta), e, tb.NextExpiry)
			}
			if o := tb.Object(meta); o != nil && (o.Record != 0 || o.Candidate || o.Edit != nil) {
				t.Fatalf("%.20q is still in use: record %d, %v", o.Key, o.Record, o.Candidate)
			} else if tb.IsCompact(meta) {
				if _, value, _ := tb.Parts(meta); !rings(s, tb, tb.HashAt(i), value) {
					t.Fatalf("parts of %.20q expire, and no alarm goes off", tb.Key(meta))
				}
			}
			counted += tb.Memory(meta) - keyspace.SlotBytes
		}
	}
	return sh.Mem, counted
}

// rings reports whether the record of a value has the alarm that its parts need.
func rings(s *Store, tb *keyspace.Table, hash uint64, record []byte) bool {
	v, ok := s.keyspace.LoadCompact(record).Value.(keyspace.Timed)
	if !ok {
		return true
	}
	next, ok := v.NextExpiry()
	return !ok || tb.AlarmBy(hash, next)
}

// slotOf returns the table of a key and the meta word of its slot.
func slotOf(t testing.TB, s *Store, key string) (*keyspace.Table, uint64) {
	t.Helper()
	hash := s.Hash([]byte(key))
	tb := s.keyspace.Table(format.ShardOf(hash), 0)
	i := tb.Find(hash, []byte(key))
	if i < 0 {
		t.Fatalf("%s is not in memory", key)
	}
	return tb, tb.Meta(i)
}

// rests reports whether the value of a key is a record.
func rests(t testing.TB, s *Store, key string) bool {
	t.Helper()
	tb, meta := slotOf(t, s, key)
	return tb.IsCompact(meta)
}

// compactKinds make a small value under a key, and let it grow by about a hundred
// bytes or shrink to what it was.
var compactKinds = map[string]struct {
	grow, shrink func(tx *Tx, key string, n int)
}{
	"hash": {
		func(tx *Tx, key string, n int) {
			h, ch, _, _ := Edit(tx, []byte(key), func() *hash.Hash { return hash.New(tx.HashKeys()) })
			h.Set(ch, fmt.Append(nil, n), bytes.Repeat([]byte{'v'}, 100))
		},
		func(tx *Tx, key string, n int) {
			h, ch, _, _ := Edit[*hash.Hash](tx, []byte(key), nil)
			h.Delete(ch, fmt.Append(nil, n))
		},
	},
	"list": {
		func(tx *Tx, key string, _ int) {
			l, ch, _, _ := Edit(tx, []byte(key), list.New)
			l.Push(ch, list.Tail, bytes.Repeat([]byte{'v'}, 100))
		},
		func(tx *Tx, key string, _ int) {
			l, ch, _, _ := Edit[*list.List](tx, []byte(key), nil)
			l.Pop(ch, list.Tail)
		},
	},
}

func TestSmallValuesRestAsRecordsAndLargeOnesDoNot(t *testing.T) {
	for name, kind := range compactKinds {
		t.Run(name, func(t *testing.T) {
			s := openMemory(t, Options{InMemory: true})
			defer closeStore(t, s)
			const most = 30 // three times what a record takes
			changes, was := 0, true
			do := func(change func(tx *Tx, key string, n int), n int) {
				all(s, 1, func(tx *Tx) { change(tx, name, n) })
				checkAccounts(t, s)
				if is := rests(t, s, name); is != was {
					was = is
					changes++
				}
			}
			for n := range most {
				do(kind.grow, n)
				if n > 0 { // around every size, the bounds among them
					do(kind.shrink, n)
					do(kind.grow, n)
				}
			}
			if was {
				t.Fatalf("%d bytes are a record", most*100)
			}
			for n := most - 1; n > 0; n-- {
				do(kind.shrink, n)
				do(kind.grow, n)
				do(kind.shrink, n)
			}
			if !was {
				t.Fatal("100 bytes are no record")
			}
			if changes > 4 {
				t.Errorf("%d changes of form: a value that grows and shrinks around a bound is copied each time", changes)
			}
		})
	}
}

func TestReadingLeavesTheRecordWhereItIs(t *testing.T) {
	s := openMemory(t, Options{InMemory: true})
	defer closeStore(t, s)
	key := []byte("key")
	all(s, 1, func(tx *Tx) { compactKinds["hash"].grow(tx, "key", 7) })
	_, before := slotOf(t, s, "key")
	all(s, 1, func(tx *Tx) {
		h, ok, err := View[*hash.Hash](tx, key)
		again, _, _ := View[*hash.Hash](tx, key)
		if !ok || err != nil || h != again || h.Len() != 1 {
			t.Fatalf("View: %v, %v", ok, err)
		}
		if bytes, ok := tx.Usage().Bytes(key); !ok || bytes < 100 || bytes > 200 {
			t.Errorf("a value in use takes %d bytes", bytes)
		}
		if _, _, err := tx.String(key); err != structures.ErrWrongType {
			t.Errorf("String: %v", err)
		}
		if err := tx.PatchString(key, 0, key); err != structures.ErrWrongType {
			t.Errorf("PatchString: %v", err)
		}
	})
	tx := s.NewTx()
	var set Shards
	set.AddAll()
	tx.Lock(&set, 1)
	if _, ok, _ := View[*hash.Hash](tx, key); !ok {
		t.Error("the value is gone")
	}
	tx.Unlock() // without a Commit, as there is nothing to be recorded
	if _, after := slotOf(t, s, "key"); after&^(keyspace.TouchMask<<keyspace.TouchShift) != before&^(keyspace.TouchMask<<keyspace.TouchShift) {
		t.Errorf("the slot was %x, and is %x", before, after)
	}
	all(s, 1, func(tx *Tx) {
		if _, _, err := tx.String(key); err != structures.ErrWrongType {
			t.Errorf("String: %v", err)
		}
		if err := tx.PatchString(key, 0, key); err != structures.ErrWrongType {
			t.Errorf("PatchString: %v", err)
		}
		if _, _, _, err := Edit[*list.List](tx, key, nil); err != structures.ErrWrongType {
			t.Errorf("Edit as a list: %v", err)
		}
	})
	checkAccounts(t, s)
}

// What a transaction does to a value in use, or to its key, before and after.
func TestValuesInUseCanBeReplacedMovedAndTimed(t *testing.T) {
	key, other := []byte("key"), []byte("other")
	for name, do := range map[string]func(tx *Tx){
		"delete":  func(tx *Tx) { tx.Delete(key) },
		"set":     func(tx *Tx) { tx.SetString(key, []byte("v"), NoExpiry) },
		"set big": func(tx *Tx) { tx.SetString(key, make([]byte, 5000), NoExpiry) },
		"rename":  func(tx *Tx) { tx.Transfers().Rename(key, other) },
		"onto":    func(tx *Tx) { tx.Transfers().Rename(other, key) },
		"copy":    func(tx *Tx) { tx.Transfers().Copy(key, 0, other, true) },
		"move":    func(tx *Tx) { tx.Transfers().Move(key, 1) },
		"expire":  func(tx *Tx) { tx.SetExpire(key, 1000) },
		"persist": func(tx *Tx) { tx.SetExpire(key, 1000); tx.Persist(key) },
		"swap":    func(tx *Tx) { tx.Databases().Swap(0, 1) },
		"commit":  func(tx *Tx) { tx.Commit() },
	} {
		t.Run(name, func(t *testing.T) {
			s := openMemory(t, Options{InMemory: true, Databases: 2})
			defer closeStore(t, s)
			grow := compactKinds["list"].grow
			for range 3 {
				all(s, 1, func(tx *Tx) { grow(tx, "key", 0); grow(tx, "other", 0) })
				checkAccounts(t, s)
				all(s, 1, func(tx *Tx) {
					_, _, _ = View[*list.List](tx, key)
					_, _, _ = View[*list.List](tx, other)
					do(tx)
					if _, _, err := View[*list.List](tx, key); err == nil {
						grow(tx, "key", 0)
					}
				})
				checkAccounts(t, s)
				all(s, 1, func(tx *Tx) {
					do(tx)
					tx.Delete(key)
					tx.Delete(other)
				})
				checkAccounts(t, s)
			}
		})
	}
}

// A value that had pages on disk, became a record and grew again before the disk
// knew: none of its old pages may come back.
func TestPagesOfBeforeAreGoneWhenARecordGrows(t *testing.T) {
	fs := vfs.NewMem()
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	key := []byte("key")
	fill := func(from, to int, value string) {
		all(s, 1, func(tx *Tx) {
			h, ch, _, _ := Edit(tx, key, func() *hash.Hash { return hash.New(tx.HashKeys()) })
			for i := from; i < to; i++ {
				h.Set(ch, fmt.Append(nil, i), []byte(value))
			}
		})
	}
	const paged = 1000
	fill(0, paged, "old")
	materialise(t, s)
	all(s, 1, func(tx *Tx) {
		h, ch, _, _ := Edit[*hash.Hash](tx, key, nil)
		for i := 3; i < paged; i++ {
			h.Delete(ch, fmt.Append(nil, i))
		}
	})
	if !rests(t, s, "key") {
		t.Fatal("three fields are no record")
	}
	fill(paged, 2*paged, "new")
	materialise(t, s)
	closeStore(t, s)
	s = openMemory(t, Options{FS: fs, IdleAfter: -1})
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		h, ok, err := View[*hash.Hash](tx, key)
		switch {
		case !ok || err != nil || tx.Err() != nil:
			t.Errorf("%v, %v, %v", ok, err, tx.Err())
		case h.Len() != 3+paged:
			t.Errorf("%d fields, want %d", h.Len(), 3+paged)
		}
	})
}

func TestKeyOfAGrownRecordIsItsOwn(t *testing.T) {
	s := openMemory(t, Options{InMemory: true})
	defer closeStore(t, s)
	var keys []string // of one shard, which share its records
	for i := 0; len(keys) < 20; i++ {
		if key := fmt.Sprint("key", i); format.ShardOf(s.Hash([]byte(key))) == 0 {
			keys = append(keys, key)
		}
	}
	for i := range keys {
		for n := range 85 { // the records that become free are those of the next key
			all(s, 1, func(tx *Tx) { compactKinds["list"].grow(tx, keys[i], n) })
		}
	}
	for _, key := range keys {
		if rests(t, s, key) { // found by its key
			t.Fatalf("%s is still a record", key)
		}
	}
	checkAccounts(t, s)
}

func TestChangedRecordKeepsItsPlaceInTheExpiryIndex(t *testing.T) {
	s := openMemory(t, Options{IdleAfter: -1})
	defer closeStore(t, s)
	grow := compactKinds["hash"].grow
	all(s, 1, func(tx *Tx) { grow(tx, "key", 0); tx.SetExpire([]byte("key"), 1e6) })
	materialise(t, s)
	for n := range 5 {
		all(s, 1, func(tx *Tx) { grow(tx, "key", n) })
		if tb, meta := slotOf(t, s, "key"); !tb.IsCompact(meta) || !tb.Indexed(meta) {
			t.Errorf("after %d changes: record %v, indexed %v", n+1, tb.IsCompact(meta), tb.Indexed(meta))
		}
	}
}
