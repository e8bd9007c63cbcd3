package persistence

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/list"
)

// setField sets a field of a hash that expires at ms, never if that is 0.
func setField(tx *Tx, key, field string, ms int64) {
	h, ch, _, err := Edit(tx, []byte(key), func() *hash.Hash { return hash.New(tx.HashKeys()) })
	if err != nil {
		panic(err)
	}
	h.Set(ch, []byte(field), []byte("v"))
	if ms != 0 {
		h.ExpireAt(ch, []byte(field), ms)
	}
}

func TestExpireCycleDeletesFieldsThatNobodyLooksAt(t *testing.T) {
	const hashes, fields = 300, 10
	var events []string
	mem := vfs.NewMem()
	o := Options{FS: mem, IdleAfter: -1, OnEvent: func(ev Event, db int, key []byte) {
		events = append(events, fmt.Sprint(ev, db, string(key)))
	}}
	s := openMemory(t, o)
	all(s, 1, func(tx *Tx) {
		tx.Select(2)
		for i := range hashes {
			for f := range fields {
				setField(tx, fmt.Sprint("h", i), fmt.Sprint("f", f), int64(100+f))
			}
		}
		setField(tx, "mixed", "stays", 0)
		setField(tx, "mixed", "goes", 100)
		setField(tx, "later", "f", 1000)
	})
	left := func(want int) {
		t.Helper()
		all(s, 1, func(tx *Tx) {
			tx.Select(2)
			n := 0
			tx.Databases().Keys(func(key []byte) bool {
				h, _, _ := View[*hash.Hash](tx, slices.Clone(key))
				n += h.Len()
				return true
			})
			if n != want {
				t.Errorf("fields: got %d, want %d", n, want)
			}
		})
	}
	s.ExpireCycle(99, 1e8)
	left(hashes*fields + 3)
	s.ExpireCycle(104, 1e8)
	left(hashes*fields/2 + 2)
	if want := fmt.Sprint(EventFieldExpired, 2, "mixed"); !slices.Contains(events, want) || len(events) != hashes+1 {
		t.Errorf("got %d events, want %d", len(events), hashes+1)
	}
	events = nil
	if st := s.Stats(); st.ExpiredFields != hashes*fields/2+1 {
		t.Errorf("ExpiredFields: got %d, want %d", st.ExpiredFields, hashes*fields/2+1)
	}
	closeStore(t, s)

	s = openMemory(t, o)
	defer func() { closeStore(t, s) }()
	left(hashes*fields/2 + 2)
	s.ExpireCycle(200, 1e8)
	left(2)
	first := slices.Index(events, fmt.Sprint(EventFieldExpired, 2, "h0"))
	if last := slices.Index(events, fmt.Sprint(EventEmptied, 2, "h0")); first < 0 || last < first || len(events) != 2*hashes {
		t.Errorf("got %d events, of h0 at %d and %d", len(events), first, last)
	}
	all(s, 200, func(tx *Tx) {
		tx.Select(2)
		if n := tx.Databases().Size(2); n != 2 {
			t.Errorf("DBSize: got %d, want 2", n)
		}
		tx.Delete([]byte("later"))
	})
	s.ExpireCycle(1000, 1e8) // the alarm of what is deleted goes off
	for i := range s.keyspace.Shard {
		for _, tb := range s.keyspace.Shard[i].Tables {
			if tb != nil && tb.TimedParts() != 0 {
				t.Errorf("shard %d still has %d timed values and alarms", i, tb.TimedParts())
			}
		}
	}
}

// fieldOf calls change with the hash at a key.
func fieldOf(tx *Tx, key string, change func(h *hash.Hash, ch *structures.Change)) {
	h, ch, _, err := Edit[*hash.Hash](tx, []byte(key), nil)
	if err != nil {
		panic(err)
	}
	change(h, ch)
}

func TestSmallHashWithFieldsThatExpireRestsAsARecord(t *testing.T) {
	s := openMemory(t, Options{IdleAfter: -1})
	defer closeStore(t, s)
	const key = "h"
	fields := func(now int64) (n int) {
		all(s, now, func(tx *Tx) {
			if h, ok, _ := View[*hash.Hash](tx, []byte(key)); ok {
				n = h.Len()
			}
		})
		checkAccounts(t, s)
		return n
	}
	expect := func(now int64, want int) {
		t.Helper()
		s.ExpireCycle(now, 1e8)
		if got := fields(now); got != want {
			t.Errorf("at %d: %d fields, want %d", now, got, want)
		}
		if !rests(t, s, key) {
			t.Errorf("at %d it is an object", now)
		}
	}
	all(s, 1, func(tx *Tx) {
		setField(tx, key, "stays", 0)
		setField(tx, key, "first", 100)
		setField(tx, key, "second", 200)
	})
	expect(99, 3)
	all(s, 99, func(tx *Tx) { // later, earlier, and then never
		fieldOf(tx, key, func(h *hash.Hash, ch *structures.Change) { h.ExpireAt(ch, []byte("first"), 300) })
	})
	expect(150, 3)
	all(s, 150, func(tx *Tx) {
		fieldOf(tx, key, func(h *hash.Hash, ch *structures.Change) { h.ExpireAt(ch, []byte("first"), 160) })
	})
	expect(160, 2)
	all(s, 160, func(tx *Tx) {
		fieldOf(tx, key, func(h *hash.Hash, ch *structures.Change) { h.Persist(ch, []byte("second")) })
	})
	expect(1000, 2)
	all(s, 1000, func(tx *Tx) {
		setField(tx, key, "third", 2000)
		tx.Transfers().Rename([]byte(key), []byte("other"))
		tx.Transfers().Rename([]byte("other"), []byte(key))
	})
	expect(1999, 3)
	expect(2000, 2)
}

// A client that makes and deletes small hashes for hours leaves their alarms behind.
func TestAlarmsOfDeletedHashesDoNotPileUp(t *testing.T) {
	s := openMemory(t, Options{IdleAfter: -1})
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) { setField(tx, "kept", "f", 5000) })
	for i := range 5000 {
		all(s, 1, func(tx *Tx) { setField(tx, fmt.Sprint("h", i%10), "f", int64(100_000-i)) })
		all(s, 1, func(tx *Tx) { tx.Delete(fmt.Append(nil, "h", i%10)) })
	}
	for i := range s.keyspace.Shard {
		for _, tb := range s.keyspace.Shard[i].Tables {
			if tb != nil && tb.TimedParts() > 64 {
				t.Errorf("shard %d has %d alarms", i, tb.TimedParts())
			}
		}
	}
	all(s, 1, func(tx *Tx) { // the alarm of h0 finds a list
		l, ch, _, _ := Edit(tx, []byte("h0"), list.New)
		l.Push(ch, list.Tail, []byte("element"))
	})
	s.ExpireCycle(100_000, 1e8)
	all(s, 100_000, func(tx *Tx) {
		if n := tx.Databases().Size(0); n != 1 {
			t.Errorf("%d keys are left, want the list", n)
		}
	})
}

func TestKeptExpiredKeyLooksAbsentAndStays(t *testing.T) {
	s := openMemory(t, Options{})
	defer closeStore(t, s)
	key := []byte("k")
	all(s, 1, func(tx *Tx) { tx.SetString(key, []byte("v"), 10) })
	tx := s.NewTx()
	look := func(keep bool) (records uint64) {
		before := s.commits.Journal.Newest()
		var set Shards
		set.AddAll()
		tx.Lock(&set, 10)
		defer tx.Unlock()
		tx.KeepExpired = keep
		if _, ok, err := tx.String(key); ok || err != nil {
			t.Errorf("String, keep %v: got %v, %v", keep, ok, err)
		}
		if tx.Kind(key) != structures.KindNone {
			t.Errorf("Kind, keep %v: it is there", keep)
		}
		if lsn := tx.Commit(); lsn != 0 {
			t.Errorf("keep %v: record %d is one to wait for", keep, lsn)
		}
		return s.commits.Journal.Newest() - before
	}
	if n := look(true); n != 0 || s.Stats().Expired != 0 {
		t.Errorf("a kept key was deleted, by %d records", n)
	}
	if look(false) != 1 || s.Stats().Expired != 1 {
		t.Error("the key was not deleted afterwards")
	}
}
