package persistence

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Keys may be of any kind or absent, their shards locked by somebody, their values
// on disk only: looking ahead neither waits nor changes anything.
func TestUpcomingKeysMayBeAnything(t *testing.T) {
	const keys = 400
	mem := vfs.NewMem()
	s := openMemory(t, Options{FS: mem, IdleAfter: -1})
	fill := func(tx *Tx) {
		for i := range keys / 2 {
			tx.SetString(benchKey(nil, 2*i), fmt.Appendf(nil, "%0*d", i, i), NoExpiry)
			setField(tx, fmt.Sprint("hash", i), "f", 0)
		}
		tx.Delete(benchKey(nil, 0))
	}
	all(s, 1, fill)
	materialise(t, s)
	closeStore(t, s)
	s = openMemory(t, Options{FS: mem, IdleAfter: -1})
	defer closeStore(t, s)
	look := func(step string) {
		before := s.journal.Newest()
		var u Upcoming
		for db := range 3 {
			u.Reset(s, db)
			for i := range keys {
				key := benchKey(nil, i)
				if i%3 == 0 {
					key = fmt.Append(nil, "hash", i)
				}
				if got, want := u.Add(key), s.Hash(key); got != want {
					t.Fatalf("%s: hash of %q: got %x, want %x", step, key, got, want)
				}
			}
			u.Prefetch()
			u.Clear()
		}
		if after := s.journal.Newest(); after != before {
			t.Errorf("%s: record %d became %d", step, before, after)
		}
	}
	look("on disk only")
	all(s, 1, func(tx *Tx) {
		fill(tx)
		look("every shard is locked")
	})
	look("in memory")
}
