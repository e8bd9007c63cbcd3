package persistence

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/schedule"
	"github.com/vigildb/vigil/structures"
)

type kindOf = structures.Kind

var testDecoders = map[structures.Kind]Decoder{
	structures.KindList: func(head []byte, _ *structures.HashKeys) (structures.Value, error) {
		return structures.DecodeList(head)
	},
	structures.KindHash: func(head []byte, keys *structures.HashKeys) (structures.Value, error) {
		return structures.DecodeHash(head, keys)
	},
	structures.KindSchedule: func(head []byte, keys *structures.HashKeys) (structures.Value, error) {
		return schedule.Decode(head, keys.Fields)
	},
}

func openMemory(t testing.TB, o Options) *Store {
	t.Helper()
	if o.FS == nil {
		o.FS = vfs.NewMem()
	}
	o.Dir, o.Decoders = "db", testDecoders
	s, err := Open(o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// all runs f in a transaction that holds every shard. It returns the number of the
// record, 0 if there is none; one that holds expired keys only counts too.
func all(s *Store, now int64, f func(tx *Tx)) uint64 {
	var set Shards
	set.AddAll()
	tx := s.NewTx()
	tx.Lock(&set, now)
	before := s.journal.newest.Load()
	f(tx)
	tx.Commit()
	lsn := s.journal.newest.Load()
	tx.Unlock()
	if lsn == before {
		return 0
	}
	return lsn
}

// model is what a store should hold: a plain map for each database.
type model struct {
	dbs []map[string]modelValue
	now int64
}

type modelValue struct {
	isList bool
	s      string
	list   []string
	expire int64
}

const modelDBs = 3

func newModel() *model {
	m := &model{now: 1000}
	for range modelDBs {
		m.dbs = append(m.dbs, map[string]modelValue{})
	}
	return m
}

func (m *model) clone() *model {
	c := &model{now: m.now}
	for _, db := range m.dbs {
		c.dbs = append(c.dbs, maps.Clone(db))
	}
	return c
}

// expire drops what is over.
func (m *model) expire() {
	for _, db := range m.dbs {
		maps.DeleteFunc(db, func(_ string, v modelValue) bool { return v.expire != 0 && v.expire <= m.now })
	}
}

// step does one random operation to the model and to the transaction.
func (m *model) step(t testing.TB, r *rand.Rand, tx *Tx) {
	t.Helper()
	db := r.IntN(modelDBs)
	tx.Select(db)
	key := fmt.Sprintf("k%d", r.IntN(200))
	if r.IntN(10) == 0 {
		key = fmt.Sprintf("%s%0*d", key, 5000, 0)
	}
	if r.IntN(400) == 0 {
		m.keyspace(r, tx, db)
		return
	}
	if r.IntN(3) == 0 {
		m.list(t, r, tx, m.dbs[db], key)
		return
	}
	m.string(t, r, tx, db, key)
}

func (m *model) keyspace(r *rand.Rand, tx *Tx, db int) {
	switch r.IntN(5) {
	case 0:
		tx.FlushAll()
		for i := range m.dbs {
			m.dbs[i] = map[string]modelValue{}
		}
	case 1:
		tx.Flush(db)
		m.dbs[db] = map[string]modelValue{}
	default:
		other := r.IntN(modelDBs)
		tx.Swap(db, other)
		m.dbs[db], m.dbs[other] = m.dbs[other], m.dbs[db]
	}
}

func randomBytes(r *rand.Rand) []byte {
	n := r.IntN(300)
	if r.IntN(20) == 0 {
		n = r.IntN(200000)
	}
	return bytes.Repeat([]byte{byte('a' + r.IntN(26))}, n)
}

func (m *model) string(t testing.TB, r *rand.Rand, tx *Tx, i int, key string) {
	t.Helper()
	db, k := m.dbs[i], []byte(key)
	old, exists := db[key]
	switch r.IntN(9) {
	case 0, 1:
		b := randomBytes(r)
		v := modelValue{s: string(b)}
		e := NoExpiry
		switch r.IntN(3) {
		case 0:
			e = Expiry(m.now + 1 + int64(r.IntN(50)))
			v.expire = int64(e)
		case 1:
			e, v.expire = KeepExpiry, old.expire
		}
		tx.SetString(k, b, e)
		db[key] = v
	case 2:
		off, b := r.IntN(1000), randomBytes(r)
		err := tx.PatchString(k, off, b)
		if (err != nil) != old.isList {
			t.Fatalf("PatchString %.20s: error %v, list %v", key, err, old.isList)
		}
		if err == nil {
			old.s = string(patched([]byte(old.s), off, b))
			db[key] = old
		}
	case 3:
		if got := tx.Delete(k); got != exists {
			t.Fatalf("Delete %.20s: got %v, want %v", key, got, exists)
		}
		delete(db, key)
	case 4:
		ms := m.now + 1 + int64(r.IntN(50))
		if got := tx.SetExpire(k, ms); got != exists {
			t.Fatalf("SetExpire %.20s: got %v, want %v", key, got, exists)
		}
		if old.expire = ms; exists {
			db[key] = old
		}
	case 5:
		if got := tx.Persist(k); got != (old.expire != 0) {
			t.Fatalf("Persist %.20s: got %v, want %v", key, got, old.expire != 0)
		}
		if old.expire = 0; exists {
			db[key] = old
		}
	case 6:
		to := fmt.Sprintf("k%d", r.IntN(200))
		tx.Rename(k, []byte(to))
		if exists {
			delete(db, key)
			db[to] = old
		}
	case 7:
		to, toDB := fmt.Sprintf("k%d", r.IntN(200)), r.IntN(modelDBs)
		if to == key && toDB == i {
			return
		}
		_, taken := m.dbs[toDB][to]
		replace := r.IntN(2) == 0
		if got, want := tx.Copy(k, toDB, []byte(to), replace), exists && (!taken || replace); got != want {
			t.Fatalf("Copy %.20s: got %v, want %v", key, got, want)
		} else if want {
			m.dbs[toDB][to] = old
		}
	case 8:
		toDB := r.IntN(modelDBs)
		_, taken := m.dbs[toDB][key]
		if got, want := tx.Move(k, toDB), exists && !taken; got != want {
			t.Fatalf("Move %.20s: got %v, want %v", key, got, want)
		} else if want {
			m.dbs[toDB][key] = old
			delete(db, key)
		}
	}
}

func (m *model) list(t testing.TB, r *rand.Rand, tx *Tx, db map[string]modelValue, key string) {
	t.Helper()
	old, exists := db[key]
	create := structures.NewList
	if r.IntN(2) == 0 {
		create = nil
	}
	l, ch, ok, err := Edit(tx, []byte(key), create)
	if want := exists && !old.isList; (err != nil) != want {
		t.Fatalf("Edit %.20s: error %v, want %v", key, err, want)
	}
	if err != nil {
		return
	}
	if want := exists || create != nil; ok != want {
		t.Fatalf("Edit %.20s: got %v, want %v", key, ok, want)
	}
	if !ok {
		return
	}
	list := slices.Clone(old.list)
	for range r.IntN(6) {
		if r.IntN(3) > 0 {
			e := randomBytes(r)
			l.Push(ch, structures.Tail, e)
			list = append(list, string(e))
		} else if len(list) > 0 {
			e, _ := l.Pop(ch, structures.Head)
			if string(e) != list[0] {
				t.Fatalf("Pop %.20s: got %.20q, want %.20q", key, e, list[0])
			}
			list = list[1:]
		}
	}
	if len(list) == 0 {
		delete(db, key)
		return
	}
	db[key] = modelValue{isList: true, list: list, expire: old.expire}
}

// check compares the whole store with the model.
func (m *model) check(t testing.TB, s *Store) {
	t.Helper()
	if diff := m.diff(s); diff != "" {
		t.Fatal(diff)
	}
}

func (m *model) diff(s *Store) (diff string) {
	m.expire()
	all(s, m.now, func(tx *Tx) {
		for i, db := range m.dbs {
			tx.Select(i)
			if diff = diffDB(tx, i, db); diff != "" {
				diff = fmt.Sprintf("database %d: %s", i, diff)
				return
			}
		}
		if tx.Err() != nil {
			diff = tx.Err().Error()
		}
	})
	return diff
}

func diffDB(tx *Tx, i int, db map[string]modelValue) string {
	var keys []string
	tx.Keys(func(key []byte) bool { keys = append(keys, string(key)); return true })
	if n := len(keys); n != len(db) {
		return fmt.Sprintf("Keys: got %d, want %d", n, len(db))
	}
	seen := map[string]int{}
	for cursor := uint64(0); ; {
		cursor = tx.Scan(cursor, 7, func(key []byte, kind kindOf) {
			seen[string(key)]++
			if want := db[string(key)]; (kind == structures.KindList) != want.isList {
				seen[string(key)] = -1000
			}
		})
		if cursor == 0 {
			break
		}
	}
	for key, want := range db {
		if seen[key] != 1 {
			return fmt.Sprintf("Scan: %.20s seen %d times", key, seen[key])
		}
		if d := diffKey(tx, key, want); d != "" {
			return fmt.Sprintf("key %.20s: %s", key, d)
		}
	}
	// What is over but still counted goes when it is looked at.
	for n := range 200 {
		tx.Kind(fmt.Appendf(nil, "k%d", n))
		tx.Kind(fmt.Appendf(nil, "k%d%0*d", n, 5000, 0))
	}
	if n := tx.DBSize(i); n != len(db) {
		return fmt.Sprintf("DBSize: got %d, want %d", n, len(db))
	}
	return ""
}

func diffKey(tx *Tx, key string, want modelValue) string {
	k := []byte(key)
	if ms, ok := tx.ExpireAt(k); !ok || ms != want.expire {
		return fmt.Sprintf("expiry: got %d, %v, want %d", ms, ok, want.expire)
	}
	if !want.isList {
		if b, ok, err := tx.String(k); !ok || err != nil || string(b) != want.s {
			return fmt.Sprintf("string: got %d bytes, %v, %v, want %d", len(b), ok, err, len(want.s))
		}
		return ""
	}
	l, ok, err := View[*structures.List](tx, k)
	if !ok || err != nil || l.Len() != len(want.list) {
		return fmt.Sprintf("list: got %v, %v, want length %d", ok, err, len(want.list))
	}
	for i, e := range want.list {
		if b, _ := l.Index(i); string(b) != e {
			return fmt.Sprintf("element %d: got %.20q, want %.20q", i, b, e)
		}
	}
	return ""
}

func materialise(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Materialise(context.Background()); err != nil {
		t.Fatalf("materialise: %v", err)
	}
}
