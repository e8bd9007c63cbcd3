package persistence

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/writeback"
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
	s.writer.Lock()
	shard := format.ShardOf(s.Hash([]byte("h")))
	sh := &s.keyspace.Shard[shard]
	holds, slowest := 0, int64(0)
	for cursor, more := uint64(shard)<<56, true; more; holds++ {
		cursor, more = step(t, s, shard, sh.Tables[0], cursor)
		if lapped := s.writer.State().Laps; lapped < slowest && more {
			t.Fatalf("after %d holds writers are slowed by %d laps, after %d before", holds, lapped, slowest)
		} else if slowest = max(slowest, lapped); holds == s.writer.State().Due && slowest > 0 {
			t.Errorf("writers are slowed in the first round")
		}
		change(10 + holds%3)
	}
	if most := writeback.MaxRounds*(s.writer.State().Due+1) + 2; holds > most || slowest < writeback.MaxRounds/2 {
		t.Errorf("stored after %d parts of %d pages, with writers slowed by %d laps at most", holds, s.writer.State().Due, slowest)
	}
	if err := s.writer.Commit(); err != nil {
		t.Fatal(err)
	}
	s.writer.Unlock()
	materialise(t, s)
	s.writer.Lock()
	lapped := s.writer.State().Laps
	s.writer.Unlock()
	if lapped != 0 {
		t.Errorf("writers are slowed by %d laps when the value is stored", lapped)
	}
	closeStore(t, s)
	if r := checkStore(t, fs, "db"); !r.Sound() {
		t.Error(r.Damage)
	}
}
