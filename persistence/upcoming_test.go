package persistence

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/structures/hash"
)

// Values with elements that are looked for may be of any kind, and pages of them evicted:
// looking ahead reads none.
func TestUpcomingElementsMayBeAnywhere(t *testing.T) {
	s, _ := pagedHash(t)
	defer closeStore(t, s)
	all(s, 1, func(tx *Tx) {
		setField(tx, "small", "f", 1)
		tx.SetString([]byte("string"), []byte("v"), NoExpiry)
	})
	evicted, reads := pagesEvicted(t, s), s.Stats().PageReads
	look := func() {
		var u Upcoming
		u.Reset(s, 0)
		for _, key := range []string{"h", "small", "string", "absent", "h", "h"} {
			u.Add([]byte(key))
			for i := range 500 {
				u.AddElement(fmt.Append(nil, i))
			}
		}
		u.Prefetch()
		u.Clear()
		for _, e := range u.elements[:cap(u.elements)] {
			if e.Name != nil {
				t.Fatal("the name of an element is kept")
			}
		}
	}
	look()
	all(s, 1, func(tx *Tx) { // with some pages in memory
		h, _, _, _ := Edit[*hash.Hash](tx, []byte("h"), nil)
		h.Get([]byte("11"), 1)
		look() // every shard is locked
	})
	look()
	if n, reads := pagesEvicted(t, s), s.Stats().PageReads-reads; n != evicted-1 || reads != 1 || evicted < 10 {
		t.Errorf("%d pages were evicted, and %d are; %d were read", evicted, n, reads)
	}
	checkAccounts(t, s)
}

// Others change, rename and delete the values meanwhile.
func TestUpcomingElementsMayChange(t *testing.T) {
	s := openMemory(t, Options{IdleAfter: -1})
	defer closeStore(t, s)
	const keys, fields, rounds = 4, 300, 60
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for r := range rounds {
			all(s, 1, func(tx *Tx) {
				for k := range keys {
					key := fmt.Sprint("hash", k)
					if (r+k)%5 == 0 {
						tx.Delete([]byte(key))
					}
					for f := range fields {
						setField(tx, key, fmt.Sprint("f", f*r%997), int64(r))
					}
				}
			})
		}
	})
	var u Upcoming
	for range 20 * rounds {
		u.Reset(s, 0)
		for k := range keys {
			u.Add(fmt.Append(nil, "hash", k))
			for f := range 8 {
				u.AddElement(fmt.Append(nil, "f", f))
			}
		}
		u.Prefetch()
		u.Clear()
	}
}

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
		before := s.commits.Journal.Newest()
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
		if after := s.commits.Journal.Newest(); after != before {
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
