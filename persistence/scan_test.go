package persistence

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// sharing returns pairs of keys whose hashes begin with the same bits, those of a cursor.
func sharing(t *testing.T, keys format.Keys) (names []string) {
	t.Helper()
	first := make(map[uint64]string)
	for i := range 300_000 {
		name := fmt.Sprint("shared:", i)
		cell := keys.Hash.SumString(name) >> (64 - structures.CursorBits)
		if other, ok := first[cell]; ok {
			names = append(names, other, name)
		}
		first[cell] = name
	}
	if len(names) < 10 {
		t.Fatalf("%d keys that share a cursor: too few", len(names))
	}
	return names
}

// A call returns one key, or all that share a cursor: none is missed, and none comes twice,
// in memory, on disk, with keys that are added between calls, and when a scan goes on after
// a restart.
func TestScanReturnsKeysThatShareACursorTogether(t *testing.T) {
	fs, secret := vfs.NewMem(), [16]byte{5}
	options := Options{FS: fs, Secret: secret}
	s := openMemory(t, options)
	want := map[string]bool{}
	for _, name := range sharing(t, s.keys) {
		want[name] = true
	}
	for i := range 500 {
		want[fmt.Sprint("alone:", i)] = true
	}
	all(s, 1, func(tx *Tx) {
		for name := range want {
			tx.SetString([]byte(name), []byte("v"), NoExpiry)
		}
	})
	scan := func(state string, between func()) {
		t.Helper()
		seen := map[string]int{}
		structurestest.Scan(t, func(cursor uint64) (next uint64) {
			all(s, 1, func(tx *Tx) {
				next = tx.Databases().Scan(cursor, 1, func(key []byte, _ kindOf) { seen[string(key)]++ })
			})
			between()
			return next
		})
		for name := range want {
			if seen[name] != 1 {
				t.Errorf("%s: %s is returned %d times", state, name, seen[name])
			}
		}
	}
	scan("in memory", func() {})
	added := 0
	scan("while keys are added", func() {
		all(s, 1, func(tx *Tx) {
			for range min(40, 3000-added) {
				tx.SetString(fmt.Append(nil, "added:", added), nil, NoExpiry)
				added++
			}
		})
	})
	materialise(t, s)
	s.eviction.Set(1, eviction.Spill, 5)
	scan("on disk", func() {})
	calls := 0
	scan("after restarts", func() {
		if calls++; calls%200 == 0 {
			closeStore(t, s)
			s = openMemory(t, options)
		}
	})
	closeStore(t, s)
}
