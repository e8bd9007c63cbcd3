package persistence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

const masterA, masterB = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

// appended applies one change of a stream: it appends the offset behind it to one of some keys.
func appended(s *Store, key string, offset int64) {
	all(s, 1, func(tx *Tx) {
		text, _, _ := tx.String([]byte(key))
		tx.SetString([]byte(key), fmt.Appendf(text, "%d,", offset), NoExpiry)
		tx.Arrived(offset, int(offset)%modelDBs)
	})
}

// lastOffset is the highest offset that any key has; each must be there once.
func lastOffset(t *testing.T, s *Store) (last int64) {
	t.Helper()
	all(s, 1, func(tx *Tx) {
		seen := map[string]bool{}
		for k := range 5 {
			text, _, _ := tx.String([]byte{'k', byte(k)})
			for _, word := range strings.FieldsFunc(string(text), func(r rune) bool { return r == ',' }) {
				if seen[word] {
					t.Errorf("offset %s was applied twice", word)
				}
				seen[word] = true
				n, _ := strconv.ParseInt(word, 10, 64)
				last = max(last, n)
			}
		}
	})
	return last
}

// Whatever stops a store, it says of the stream what its data has: with the journal as it is, and cut.
func TestPositionInAStreamIsThatOfTheData(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 5))
		c := &crasher{mem: disktest.New(), r: rand.New(rand.NewPCG(seed, 6)), every: 5}
		s := openMemory(t, Options{FS: errorfs.Wrap(c.mem, c), Databases: modelDBs, Seed: seed, IdleAfter: -1, Sync: SyncPolicy(seed % 3)})
		offset := int64(100)
		all(s, 1, func(tx *Tx) { tx.SetReplicated(Replicated{Follows: true, ID: masterA, Offset: offset}) })
		for i := range 60 {
			offset += int64(1 + r.IntN(20))
			appended(s, string([]byte{'k', byte(r.IntN(5))}), offset)
			switch {
			case i == 30:
				all(s, 1, func(tx *Tx) {
					tx.SetReplicated(Replicated{Follows: true, ID: masterB, ID2: masterA, Second: offset + 1, Offset: offset})
				})
			case r.IntN(6) == 0:
				materialise(t, s)
			}
		}
		closeStore(t, s)
		c.crashes = append(c.crashes, crash{fs: c.mem})
		for i, crash := range c.crashes {
			for range 2 {
				s := openMemory(t, Options{FS: crash.fs, Databases: modelDBs, Seed: seed, IdleAfter: -1})
				now, last := s.Replicated(), lastOffset(t, s)
				if last > 0 && now.Offset != last || now.ID == "" && last > 0 || now.ID == masterB && now.ID2 != masterA {
					t.Errorf("seed %d, crash %d: the store says %+v, the data has %d", seed, i, now, last)
				}
				if last > 0 && now.ID == masterA && now.DB != int(last)%modelDBs {
					t.Errorf("seed %d, crash %d: database %d behind %d", seed, i, now.DB, last)
				}
				materialise(t, s) // the journal is cut for the second round
				closeStore(t, s)
			}
		}
	}
}

// What a transaction says of the stream goes with its changes, and not without any.
func TestPositionIsRecordedWithChangesOnly(t *testing.T) {
	s := openMemory(t, Options{Databases: 1})
	all(s, 1, func(tx *Tx) { tx.SetReplicated(Replicated{Follows: true, ID: masterA, Offset: 5}) })
	newest := s.commits.Newest()
	all(s, 1, func(tx *Tx) { tx.Arrived(9, 0) })
	if now := s.Replicated(); now.Offset != 5 || s.commits.Newest() != newest {
		t.Errorf("without a change: %+v, record %d, want %d", now, s.commits.Newest(), newest)
	}
	all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), nil, NoExpiry) })
	if now := s.Replicated(); now.Offset != 5 {
		t.Errorf("a change of another transaction: %+v", now)
	}
	tx := s.NewTx()
	var set Shards
	set.AddAll()
	tx.Lock(&set, 1)
	tx.SetString([]byte("k"), []byte("half"), NoExpiry)
	tx.Arrived(20, 0)
	tx.Abandon()
	tx.SetString([]byte("k"), []byte("other"), NoExpiry)
	tx.Commit()
	tx.Unlock()
	if now := s.Replicated(); now.Offset != 5 {
		t.Errorf("after a transaction that was given up: %+v", now)
	}
	closeStore(t, s)
}

// While a master decides what expires, it looks absent and stays for all.
func TestExpiredKeysOfAMasterStay(t *testing.T) {
	s := openMemory(t, Options{Databases: 1})
	s.SetFollowing(true)
	all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), []byte("v"), Expiry(100)) })
	newest := s.commits.Newest()
	all(s, 200, func(tx *Tx) {
		if kind := tx.Kind([]byte("k")); kind != structures.KindNone || !tx.KeepsExpired() {
			t.Errorf("an expired key is there: kind %d", kind)
		}
	})
	if n := s.ExpireCycle(300, 1<<40); n != 0 || s.commits.Newest() != newest {
		t.Errorf("%d keys were deleted, record %d, want %d", n, s.commits.Newest(), newest)
	}
	s.eviction.Set(1, eviction.AllKeysRandom, 5)
	s.eviction.MakeRoom()
	all(s, 400, func(tx *Tx) {
		if n := tx.Databases().Size(0); n != 1 {
			t.Errorf("%d keys, want 1", n)
		}
		end := tx.SeeExpired()
		if got, ok, _ := tx.String([]byte("k")); !ok || string(got) != "v" {
			t.Errorf("for the stream: %q, %v", got, ok)
		}
		end()
		tx.DropExpired()
		if tx.Kind([]byte("k")) != structures.KindNone {
			t.Error("an expired key is there for a writer")
		}
	})
	s.SetFollowing(false)
	all(s, 500, func(tx *Tx) {
		if n := tx.Databases().Size(0); n != 0 {
			t.Errorf("%d keys after a writer has met the expired one", n)
		}
	})
	closeStore(t, s)
}

// What is read back is what was written, in records and in the meta; damage is an error.
func TestReplicatedIsReadAsWritten(t *testing.T) {
	for _, r := range []Replicated{
		{Follows: true, ID: masterA, Offset: 1 << 40, DB: 15},
		{ID: masterB, ID2: masterA, Offset: -1, Second: 1 << 50},
	} {
		m := format.Meta{Replicated: r, Arrived: 77}
		b := m.Append(nil)
		if got, err := format.DecodeMeta(b); err != nil || got.Replicated != r || got.Arrived != 77 {
			t.Errorf("meta: %+v, %v, want %+v", got.Replicated, err, r)
		}
		var c structures.Change
		format.RecordReplicated(&c, &r)
		_, args, _, err := structures.NextOp(c.Encoded())
		if got, whole, decoded := format.DecodeReplicated(&args); !whole || errors.Join(err, decoded) != nil || got != r {
			t.Errorf("record: %+v, %v, want %+v", got, errors.Join(err, decoded), r)
		}
		c.Reset(0)
		c.Op(format.OpReplicated, 3)
		c.Int(5)
		c.Uint(1)
		c.Uint(1)
		_, args, _, _ = structures.NextOp(c.Encoded())
		if _, _, err := format.DecodeReplicated(&args); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("three arguments: got %v, want ErrCorrupt", err)
		}
	}
}
