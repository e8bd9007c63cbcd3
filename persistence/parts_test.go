package persistence

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures/hash"
)

// Writers change every page of a value each time a part of it was encoded. They are
// slowed more and more, and if that is not enough the value is stored all the same.
func TestValueThatChangesFasterThanItIsEncodedSlowsItsWritersAndIsStored(t *testing.T) {
	fs := vfs.NewMem()
	s := openMemory(t, Options{FS: fs, LargeBytes: 1, IdleAfter: -1})
	stageParts(s)
	change := func(n int) {
		all(s, 1, func(tx *Tx) {
			h, ch, _, err := Edit(tx, []byte("h"), func() *hash.Hash { return hash.New(tx.HashKeys()) })
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2000 {
				h.Set(ch, fmt.Appendf(nil, "field-%d", i), make([]byte, n))
			}
		})
	}
	change(10)
	m := &s.materialiser.pass
	m.Lock()
	shard := format.ShardOf(s.Hash([]byte("h")))
	sh := &s.keyspace.Shard[shard]
	holds, slowest := 0, int64(0)
	for cursor, more := uint64(shard)<<56, true; more; holds++ {
		s.openBatch()
		sh.Mu.Lock()
		cursor, more = s.encodeSome(shard, sh.Tables[0], cursor)
		s.keyspace.UnlockShard(sh)
		s.joinParts()
		if lapped := s.materialiser.lapped.Load(); lapped < slowest && more {
			t.Fatalf("after %d holds writers are slowed by %d laps, after %d before", holds, lapped, slowest)
		} else if slowest = max(slowest, lapped); holds == m.parts.due && slowest > 0 {
			t.Errorf("writers are slowed in the first round")
		}
		change(10 + holds%3)
	}
	if most := maxRounds*(m.parts.due+m.parts.size) + 2; holds > most || slowest < maxRounds/2 {
		t.Errorf("stored after %d parts of %d pages, with writers slowed by %d laps at most", holds, m.parts.due, slowest)
	}
	if err := s.commit(); err != nil {
		t.Fatal(err)
	}
	m.Unlock()
	materialise(t, s)
	if lapped := s.materialiser.lapped.Load(); lapped != 0 {
		t.Errorf("writers are slowed by %d laps when the value is stored", lapped)
	}
	closeStore(t, s)
	if r := checkStore(t, fs, "db"); !r.Sound() {
		t.Error(r.Damage)
	}
}

// A value is encoded amid a batch that has pages of it already, as after one that was not committed: what was staged of the
// value before it says nothing about them.
func TestStagedPagesFreeNoneOfAnotherValue(t *testing.T) {
	s := openMemory(t, Options{IdleAfter: -1})
	defer closeStore(t, s)
	one, other := &pager{s: s}, &pager{s: s}
	one.hold(1)
	other.hold(1)
	p := parts{of: one, staged: []uint64{1}}
	p.turnTo(other)
	if _, held := other.held.pages[1]; !held {
		t.Error("the page of the other value may leave memory, and is in the batch alone")
	}
	p.staged = append(p.staged, 1)
	p.turnTo(other)
	if _, held := other.held.pages[1]; held {
		t.Error("a page that is staged stays in memory")
	}
}
