package persistence

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/zset"
)

// freshElements adds elements to the values of pagedHash, pagedSet and pagedZSet, and
// tells whether they are there.
var freshElements = map[string]struct {
	make func(*testing.T) (*Store, *failingDisk)
	add  func(tx *Tx, i int)
	has  func(tx *Tx, i int) bool
	size func(tx *Tx) int
}{
	"hash": {pagedHash,
		func(tx *Tx, i int) {
			h, ch, _, _ := Edit[*hash.Hash](tx, []byte("h"), nil)
			h.Set(ch, fmt.Append(nil, "fresh-", i), fmt.Append(nil, i))
		},
		func(tx *Tx, i int) bool {
			h, _, _ := View[*hash.Hash](tx, []byte("h"))
			v, _ := h.Get(fmt.Append(nil, "fresh-", i), 0)
			return string(v) == fmt.Sprint(i)
		},
		func(tx *Tx) int { h, _, _ := View[*hash.Hash](tx, []byte("h")); return h.Len() }},
	"set": {pagedSet,
		func(tx *Tx, i int) {
			s, ch, _, _ := Edit[*set.Set](tx, []byte("s"), nil)
			s.Add(ch, fmt.Append(nil, "fresh-", i))
		},
		func(tx *Tx, i int) bool {
			s, _, _ := View[*set.Set](tx, []byte("s"))
			return s.Has(fmt.Append(nil, "fresh-", i))
		},
		func(tx *Tx) int { s, _, _ := View[*set.Set](tx, []byte("s")); return s.Len() }},
	"sorted set": {pagedZSet,
		func(tx *Tx, i int) {
			z, ch, _, _ := Edit[*zset.Set](tx, []byte("z"), nil)
			z.Add(ch, fmt.Append(nil, "fresh-", i), float64(7*i)+0.5, 0)
		},
		func(tx *Tx, i int) bool {
			z, _, _ := View[*zset.Set](tx, []byte("z"))
			score, ok := z.Score(fmt.Append(nil, "fresh-", i))
			return ok && score == float64(7*i)+0.5
		},
		func(tx *Tx) int { z, _, _ := View[*zset.Set](tx, []byte("z")); return z.Len() }},
}

// New elements of a value that is on disk only are added without a page being read, but
// where a filter is in doubt. They are there at once, when their pages were written, and
// after a start.
func TestNewElementsNeedNoPage(t *testing.T) {
	const fresh = 24
	for name, v := range freshElements {
		t.Run(name, func(t *testing.T) {
			s, disk := v.make(t)
			before := 0
			all(s, 1, func(tx *Tx) { before = v.size(tx) })
			reads := s.Stats().PageReads
			for i := range fresh {
				if lsn := all(s, 1, func(tx *Tx) { v.add(tx, i) }); lsn == 0 {
					t.Errorf("element %d was not added", i)
				}
			}
			if n := s.Stats().PageReads - reads; n > fresh/4 {
				t.Errorf("%d pages were read for %d elements", n, fresh)
			}
			there := func(when string) {
				t.Helper()
				all(s, 1, func(tx *Tx) {
					for i := range fresh {
						if !v.has(tx, i) || tx.Err() != nil {
							t.Errorf("%s: element %d is not there: %v", when, i, tx.Err())
						}
					}
					if n := v.size(tx); n != before+fresh {
						t.Errorf("%s: %d elements, want %d", when, n, before+fresh)
					}
				})
			}
			there("at once")
			onDiskOnly(t, s)
			there("written")
			checkAccounts(t, s)
			closeStore(t, s)
			s = openUnread(t, disk)
			there("after a start")
			closeStore(t, s)
		})
	}
}

// A pass over values that got a few elements each writes these, and not their pages.
func TestPassWritesWhatPagesGained(t *testing.T) {
	for name, v := range freshElements {
		t.Run(name, func(t *testing.T) {
			s, _ := v.make(t)
			defer closeStore(t, s)
			onDiskOnly(t, s)
			deltas, wholes := 0, 0
			for i := range 20 {
				all(s, 1, func(tx *Tx) { v.add(tx, i) })
			}
			eachLarge(s, func(o *keyspace.Object) {
				o.Value.(structures.Incremental).FlushDeltas(1, func(uint64, []byte) { wholes++ }, func(uint64, []byte) { deltas++ })
			})
			if deltas == 0 || wholes > deltas {
				t.Errorf("%d pages and %d deltas were written", wholes, deltas)
			}
		})
	}
}
