package persistence

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/list"
)

// check compares the whole store with the model.
func (m *model) check(t testing.TB, s *Store) {
	t.Helper()
	if diff := m.diff(s); diff != "" {
		t.Fatal(diff)
	}
}

// diffTexts compares the texts of each operation, and how much they take.
func (m *model) diffTexts(s *Store) string {
	for op, want := range m.texts {
		bytes, got := 0, s.catalog.Of(op)
		for name, text := range want {
			bytes += len(name) + len(text)
		}
		if !maps.Equal(got.Copy(), want) || got.Bytes() != bytes {
			return fmt.Sprintf("texts %q: got %q, %d bytes, want %q, %d bytes", got.What, got.Copy(), got.Bytes(), want, bytes)
		}
	}
	return ""
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
		if d := m.diffTexts(tx.s); d != "" {
			diff = d
		}
		if tx.Err() != nil {
			diff = tx.Err().Error()
		}
	})
	return diff
}

func diffDB(tx *Tx, i int, db map[string]modelValue) string {
	var keys []string
	tx.Databases().Keys(func(key []byte) bool { keys = append(keys, string(key)); return true })
	if n := len(keys); n != len(db) {
		return fmt.Sprintf("Keys: got %d, want %d", n, len(db))
	}
	seen := map[string]int{}
	for cursor := uint64(0); ; {
		cursor = tx.Databases().Scan(cursor, 7, func(key []byte, kind kindOf) {
			seen[string(key)]++
			if kind != db[string(key)].kind {
				seen[string(key)] = -1000
			}
		})
		if cursor == 0 {
			break
		}
		if cursor > math.MaxInt32 {
			return fmt.Sprintf("Scan: cursor %d", cursor)
		}
	}
	for shard := range uint64(format.ShardCount) {
		for from, first := shard<<56, true; first || from != 0; first = false {
			from = tx.Databases().ScanShard(from, 1, func(key []byte) { seen[string(key)] += 100 })
		}
	}
	for key := range seen {
		if n := seen[key] / 100; n != 1 {
			return fmt.Sprintf("ScanShard: %.20s seen %d times", key, n)
		}
		seen[key] -= 100
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
	for n := range modelKeys {
		tx.Kind([]byte(modelKey(n)))
	}
	if n := tx.Databases().Size(i); n != len(db) {
		return fmt.Sprintf("DBSize: got %d, want %d", n, len(db))
	}
	return ""
}

func diffKey(tx *Tx, key string, want modelValue) string {
	k := []byte(key)
	if ms, ok := tx.ExpireAt(k); !ok || ms != want.expire {
		return fmt.Sprintf("expiry: got %d, %v, want %d", ms, ok, want.expire)
	}
	switch want.kind {
	case structures.KindString:
		if b, ok, err := tx.String(k); !ok || err != nil || string(b) != want.s {
			return fmt.Sprintf("string: got %d bytes, %v, %v, want %d", len(b), ok, err, len(want.s))
		}
		return ""
	case structures.KindList:
		return diffList(tx, k, want.list)
	case structures.KindHash:
		return diffHash(tx, k, want.fields)
	case structures.KindSet:
		return diffSet(tx, k, want.members)
	case structures.KindZSet:
		return diffZSet(tx, k, want.scores)
	case structures.KindStream:
		return diffStream(tx, k, want.log)
	case structures.KindJSON:
		return diffJSON(tx, k, "{"+strings.Join(want.doc, ",")+"}")
	case structures.KindBloom:
		return diffBloom(tx, k, want)
	}
	if kind, payload, ok := tx.Transfers().Dump(nil, k); !ok || kind != want.kind || string(payload) != want.plan {
		return fmt.Sprintf("dump: got kind %d, %v, %d bytes, want %d: %.60q, want %.60q", kind, ok, len(payload), len(want.plan), payload, want.plan)
	}
	return ""
}

func diffList(tx *Tx, key []byte, want []string) string {
	l, ok, err := View[*list.List](tx, key)
	if !ok || err != nil || l.Len() != len(want) {
		return fmt.Sprintf("list: got %v, %v, want length %d", ok, err, len(want))
	}
	for i, e := range want {
		if b, _ := l.Index(i); string(b) != e {
			return fmt.Sprintf("element %d: got %.20q, want %.20q", i, b, e)
		}
	}
	return ""
}

func diffHash(tx *Tx, key []byte, want map[string]modelField) string {
	h, ok, err := View[*hash.Hash](tx, key)
	if !ok || err != nil || h.Len() != len(want) {
		return fmt.Sprintf("hash: got %v, %v, want %d fields", ok, err, len(want))
	}
	for name, f := range want {
		value, _ := h.Get([]byte(name), 0)
		ms, _, found := h.ExpiryOf([]byte(name))
		if !found || string(value) != f.value || ms != f.expire {
			return fmt.Sprintf("field %s: got %v, %.20q until %d, want %.20q until %d", name, found, value, ms, f.value, f.expire)
		}
	}
	return ""
}

func diffBloom(tx *Tx, key []byte, want modelValue) string {
	f, ok, err := View[*bloom.Filter](tx, key)
	if !ok || err != nil || f.Card() != want.card {
		return fmt.Sprintf("filter: got %v, %v, want %d items", ok, err, want.card)
	}
	for item := range want.items {
		if !f.Exists([]byte(item)) {
			return fmt.Sprintf("item %s is missing", item)
		}
	}
	wrong := 0
	for i := range 20 {
		if f.Exists(fmt.Appendf(nil, "absent-%d", i)) {
			wrong++
		}
	}
	if wrong > 5 { // small layers are wrong far more often than their rate says
		return fmt.Sprintf("%d items of 20 that were never added", wrong)
	}
	return ""
}
