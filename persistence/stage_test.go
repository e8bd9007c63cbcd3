package persistence

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/testscale"
	"github.com/vigildb/vigil/structures/zset"
)

// fieldsOf is all fields of the hash h of a store.
func fieldsOf(t *testing.T, s *Store) map[string]string {
	t.Helper()
	got := map[string]string{}
	all(s, 1, func(tx *Tx) {
		h, ok, err := View[*hash.Hash](tx, []byte("h"))
		if !ok || err != nil {
			t.Fatalf("hash: %v, %v", ok, err)
		}
		got = fieldsIn(h)
	})
	return got
}

func fieldsIn(h *hash.Hash) map[string]string {
	got := map[string]string{}
	h.Each(1, func(field, value []byte, _ int64) { got[string(field)] = string(value) })
	return got
}

// stagedState is what a store on disk has of staged pages.
func stagedState(t *testing.T, fs vfs.FS) (some, count bool) {
	t.Helper()
	db, err := pebble.Open("db", &pebble.Options{FS: fs, ReadOnly: true, Logger: quietLog(nil)})
	if err != nil {
		t.Fatal(err)
	}
	some, err = lsm.Any(db, format.AppendGroup(nil, format.PrefixStage), format.AppendGroupEnd(nil, format.PrefixStage))
	if err != nil {
		t.Fatal(err)
	}
	if count, err = lsm.StagedCount(db); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return some, count
}

// A value of many pages is stored page by page, again and again, and a power failure at
// each write and sync on the way leaves a store that is sound and has all of it.
func TestStagedPagesSurviveCrashesAtEveryWrite(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 62))
	fields, members := 0, 0
	for _, kind := range testscale.Some([]struct {
		name   string
		change func(t *testing.T, tx *Tx) string
		read   func(t *testing.T, s *Store) string
	}{
		// Fields and members that are new are written as deltas.
		{"hash that grows", func(t *testing.T, tx *Tx) string {
			h, ch := staged(t, tx, "h", func() *hash.Hash { return hash.New(tx.HashKeys()) })
			for n := max(400, 1500-2*fields); n > 0; n-- {
				fields++
				h.Set(ch, fmt.Appendf(nil, "field-%d", fields), fmt.Appendf(nil, "%0100d", r.Uint64()))
			}
			h.Delete(ch, []byte("field-7"))
			return fmt.Sprint(fieldsIn(h))
		}, readFields},
		{"hash", func(t *testing.T, tx *Tx) string {
			h, ch := staged(t, tx, "h", func() *hash.Hash { return hash.New(tx.HashKeys()) })
			for range 1200 {
				h.Set(ch, fmt.Appendf(nil, "field-%d", r.IntN(3000)), fmt.Append(nil, r.Uint64()))
			}
			return fmt.Sprint(fieldsIn(h))
		}, readFields},
		{"sorted set that grows", func(t *testing.T, tx *Tx) string {
			s, ch := staged(t, tx, "z", func() *zset.Set { return zset.New(tx.HashKeys()) })
			for n := max(300, 1500-2*members); n > 0; n-- {
				members++
				s.Add(ch, fmt.Appendf(nil, "member-%060d", members), r.NormFloat64(), 0)
			}
			return scoresIn(s)
		}, readScores},
		{"sorted set", func(t *testing.T, tx *Tx) string {
			s, ch := staged(t, tx, "z", func() *zset.Set { return zset.New(tx.HashKeys()) })
			for range 250 {
				s.Add(ch, fmt.Appendf(nil, "member-%060d", r.IntN(2500)), r.NormFloat64(), 0)
			}
			s.RemoveRange(ch, r.IntN(s.Len()), 40)
			return scoresIn(s)
		}, readScores},
		{"stream", func(t *testing.T, tx *Tx) string {
			s, ch := staged(t, tx, "s", stream.New)
			changeStaged(r, s, ch)
			return describeStream(s)
		}, readStream},
	}) {
		t.Run(kind.name, func(t *testing.T) {
			crashWhileStaging(t, func(tx *Tx) string { return kind.change(t, tx) }, func(s *Store) string { return kind.read(t, s) })
		})
	}
}

func readFields(t *testing.T, s *Store) string { return fmt.Sprint(fieldsOf(t, s)) }

func readScores(_ *testing.T, s *Store) string { return scoresOf(s) }

func readStream(_ *testing.T, s *Store) (got string) {
	all(s, 1, func(tx *Tx) {
		if v, ok, err := View[*stream.Stream](tx, []byte("s")); ok && err == nil {
			got = describeStream(v)
		}
	})
	return got
}

// staged returns the value at a key to be changed, a new one if there is none.
func staged[V structures.Value](t *testing.T, tx *Tx, key string, fresh func() V) (V, *structures.Change) {
	t.Helper()
	v, ch, _, err := Edit(tx, []byte(key), fresh)
	if err != nil {
		t.Fatal(err)
	}
	return v, ch
}

// scoresOf is scoresIn for the set of a store.
func scoresOf(s *Store) (got string) {
	all(s, 1, func(tx *Tx) {
		if v, ok, err := View[*zset.Set](tx, []byte("z")); ok && err == nil {
			got = scoresIn(v)
		}
	})
	return got
}

// scoresIn tells the members of a sorted set, their scores, and the ranks by which these
// are found.
func scoresIn(s *zset.Set) string {
	scores, ranks, members := []string{}, []int{}, [][]byte{}
	s.Range(0, s.Len(), func(member []byte, score float64) bool {
		scores = append(scores, fmt.Sprint(string(member), score))
		members = append(members, bytes.Clone(member))
		return true
	})
	for i := 0; i < len(members); i += 7 {
		if rank, _, _ := s.Rank(members[i]); rank != i {
			ranks = append(ranks, rank)
		}
	}
	return fmt.Sprint(scores, ranks)
}

// changeStaged changes many pages of a stream and of its group.
func changeStaged(r *rand.Rand, s *stream.Stream, ch *structures.Change) {
	addStreamEntries(s, ch, 160)
	g := s.Group([]byte("g"))
	if g == nil {
		g = s.CreateGroup(ch, []byte("g"), stream.ID{}, 0)
		g.CreateConsumer(ch, []byte("c"), 1)
	}
	g.Deliver(ch, g.Consumer([]byte("c")), 90, 1, false, nil)
	var ids []stream.ID
	for range 30 {
		ids = append(ids, stream.ID{Seq: s.First().Seq + r.Uint64N(uint64(s.Len()))})
	}
	g.Ack(ch, ids)
	s.Delete(ch, ids)
	s.Trim(ch, stream.Trim{Len: s.Len() - 50})
}

// crashWhileStaging stores changes of a value in small parts. change returns what the
// value is then, and look what a store has of it.
func crashWhileStaging(t *testing.T, change func(tx *Tx) string, look func(s *Store) string) {
	t.Helper()
	c := &crasher{mem: disktest.New(), r: rand.New(rand.NewPCG(1, 61)), every: 1 << 30}
	s := openMemory(t, Options{FS: errorfs.Wrap(c.mem, c), LargeBytes: 1, IdleAfter: -1})
	stageParts(s)
	states := map[uint64]string{}
	for range 6 {
		state := ""
		lsn := all(s, 1, func(tx *Tx) { state = change(tx) })
		states[lsn] = state
		if err := s.commits.WaitDurable(lsn); err != nil {
			t.Fatal(err)
		}
		c.acked.Store(lsn)
		c.mu.Lock()
		c.every = testscale.By // what is looked at after each crash is large
		c.mu.Unlock()
		materialise(t, s)
		c.mu.Lock()
		c.every = 1 << 30
		c.mu.Unlock()
		evictEverything(s)
	}
	closeStore(t, s)
	left, counted := 0, 0
	for i, crash := range c.crashes {
		some, count := stagedState(t, crash.fs.CrashClone(vfs.CrashCloneCfg{}))
		if some && count {
			counted++
		} else if some {
			left++
		}
		o := Options{FS: crash.fs, Dir: "db", IdleAfter: -1, LargeBytes: 1, MaxMemory: int64(i%2) << 16}
		report, err := check.Run(check.Options{FS: o.FS, Dir: o.Dir}, func(string, int64, int64) {})
		if err != nil || !report.Sound() {
			t.Fatalf("crash %d: check: %v, %v", i, err, report)
		}
		s := openMemory(t, o)
		if lsn := s.Stats().LSN; lsn < crash.acked || look(s) != states[lsn] {
			t.Fatalf("crash %d: the value of record %d differs", i, lsn)
		}
		materialise(t, s)
		closeStore(t, s)
		if some, count := stagedState(t, crash.fs); some || count {
			t.Fatalf("crash %d: staged pages are left after a start", i)
		}
	}
	if left < 10/testscale.By || counted < 3/testscale.By {
		t.Errorf("of %d crashes %d left staged pages, and %d such that count", len(c.crashes), left, counted)
	}
	t.Logf("of %d crashes %d left staged pages, and %d such that count", len(c.crashes), left, counted)
}

// A value with staged pages is deleted, or replaced, before it is whole: nothing is left
// of the staged pages.
func TestStagedPagesOfAValueThatGoesAreRemoved(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		fs := disktest.New()
		s := openMemory(t, Options{FS: fs, LargeBytes: 1, IdleAfter: -1})
		stageParts(s)
		fill := func(value string) (fields map[string]string) {
			fields = map[string]string{}
			all(s, 1, func(tx *Tx) {
				h := hash.New(tx.HashKeys())
				for i := range 3000 {
					f := fmt.Sprint("field-", value, i)
					h.Set(nil, []byte(f), []byte(value))
					fields[f] = value
				}
				Replace(tx, []byte("h"), h, NoExpiry)
			})
			return fields
		}
		fill("first")
		s.writer.Lock()
		shard := format.ShardOf(s.Hash([]byte("h")))
		sh := &s.keyspace.Shard[shard]
		want, gone := map[string]string(nil), false
		for cursor, more := uint64(shard)<<56, true; more; {
			cursor, more = step(t, s, shard, sh.Tables[0], cursor)
			if gone || !s.writer.State().Staged {
				continue
			}
			// A disk that fails from here on takes nothing of it away.
			if some, _ := stagedState(t, fs.CrashClone(vfs.CrashCloneCfg{})); !some {
				t.Error("pages are staged, and the device does not have them")
			}
			if gone = true; replaced {
				want = fill("second")
			} else {
				all(s, 1, func(tx *Tx) { tx.Delete([]byte("h")) })
			}
		}
		if err := s.writer.Commit(); err != nil || !gone {
			t.Fatalf("commit: %v, pages were staged: %v", err, gone)
		}
		s.writer.Unlock()
		closeStore(t, s)
		if r := checkStore(t, fs, "db"); !r.Sound() {
			t.Errorf("replaced %v: %v", replaced, r.Damage)
		}
		s = openMemory(t, Options{FS: fs, IdleAfter: -1})
		if replaced && !maps.Equal(fieldsOf(t, s), want) {
			t.Errorf("the value that took the place of another one has other fields")
		}
		closeStore(t, s)
	}
}

// The database of a value that is being encoded in parts is flushed. What was done before
// the flush can be replayed all the same, though the value had newer pages than its head.
func TestValueThatIsFlushedWhileItIsEncodedDoesNotStopAReplay(t *testing.T) {
	indexPages(t)
	for _, staged := range []bool{false, true} {
		mem := disktest.New()
		s := openMemory(t, Options{FS: mem, LargeBytes: 1, IdleAfter: -1})
		if stageParts(s); !staged {
			resize(s, func(z *writeback.Sizes) { z.Stage = 1 << 30 })
		}
		change := func(n int) {
			all(s, 1, func(tx *Tx) {
				h, ch, _, err := Edit(tx, []byte("h"), func() *hash.Hash { return hash.New(tx.HashKeys()) })
				if err != nil {
					t.Fatal(err)
				}
				for i := range 3000 {
					h.Set(ch, fmt.Appendf(nil, "field-%d", i), make([]byte, n))
				}
			})
		}
		change(10)
		materialise(t, s)
		change(11)
		s.writer.Lock()
		shard := format.ShardOf(s.Hash([]byte("h")))
		sh := &s.keyspace.Shard[shard]
		table := sh.Tables[0]
		for cursor, more, holds := uint64(shard)<<56, true, 0; more; holds++ {
			cursor, more = step(t, s, shard, table, cursor)
			if holds == 3 {
				all(s, 1, func(tx *Tx) { tx.Databases().Flush(0) })
			}
		}
		if err := s.writer.Commit(); err != nil {
			t.Fatal(err)
		}
		s.writer.Unlock()
		fs := mem.CrashClone(vfs.CrashCloneCfg{}) // the end of a store in order leaves nothing to replay
		closeStore(t, s)
		s = openMemory(t, Options{FS: fs, IdleAfter: -1})
		all(s, 1, func(tx *Tx) {
			if n := tx.Databases().Size(0); n != 0 {
				t.Errorf("staged %v: %d keys after the flush", staged, n)
			}
		})
		closeStore(t, s)
		if r := checkStore(t, fs, "db"); !r.Sound() {
			t.Errorf("staged %v: %v", staged, r.Damage)
		}
	}
}

// A page was staged, changed again, and can then not be staged: the batch takes it, and what is staged of it does not
// count any more. Whichever sync of the pass fails, memory, and the disk once it works again, have all that was done.
func TestStagingThatFailsAmidAValueLosesNothing(t *testing.T) {
	indexPages(t)
	taken := 0
	for _, fault := range []diskFault{faultFull, faultSync} {
		for k := 2; k < 26; k += 1 + 2*testscale.By {
			if failStaging(t, fault, k, 0) {
				taken++
			}
		}
	}
	if taken < 3 {
		t.Errorf("the batch took %d parts that could not be staged", taken)
	}
}

// Pages are staged, and the batch that makes them count cannot be committed, or they cannot be moved to their places. The
// pass that follows writes the same pages again, and is committed.
func TestPassAfterOneThatDidNotLandLosesNothing(t *testing.T) {
	indexPages(t)
	for _, fault := range []diskFault{faultFull, faultSync} {
		for k := 1; k < 12; k += 1 + 2*testscale.By {
			failStaging(t, fault, 0, k)
		}
	}
}

// failStaging encodes a value that changes all the time while a sync or so fails: the first one from a
// part on, or the k-th of the commit. It reports whether the batch took a part that could not be staged.
func failStaging(t *testing.T, fault diskFault, part, k int) (taken bool) {
	t.Helper()
	mem := disktest.New()
	disk := newFailingDisk(mem, fault, -1, true)
	p := newPump()
	s := openMemory(t, Options{FS: disk, LargeBytes: 1, IdleAfter: -1, Background: p.run})
	stageParts(s)
	if part == 0 {
		resize(s, func(z *writeback.Sizes) { z.Part = 3 }) // the last ones go with the head
	}
	want := map[string]string{}
	change := func(value, from, to int) {
		all(s, 1, func(tx *Tx) {
			h, ch := staged(t, tx, "h", func() *hash.Hash { return hash.New(tx.HashKeys()) })
			for i := from; i < to; i++ {
				f, v := fmt.Sprint("field-", i), fmt.Sprintf("%0100d", value)
				h.Set(ch, []byte(f), []byte(v))
				want[f] = v
			}
		})
	}
	change(0, 0, 600)
	s.writer.Lock()
	shard := format.ShardOf(s.Hash([]byte("h")))
	sh := &s.keyspace.Shard[shard]
	for cursor, more, holds := uint64(shard)<<56, true, 1; more; holds++ {
		if holds == part {
			disk.arm(1)
		}
		cursor, more = step(t, s, shard, sh.Tables[0], cursor)
		taken = taken || s.writer.State().Taken
		if holds%5 == 0 && holds <= 20 {
			change(holds, 0, 600)
		}
		if part == 0 && holds < 40 {
			change(holds, 13*holds, 13*holds+1)
		}
	}
	if part == 0 {
		disk.arm(k)
	}
	err := s.writer.Commit()
	s.writer.Unlock()
	stored := func(when string) {
		clone := mem.CrashClone(vfs.CrashCloneCfg{})
		if r := checkStore(t, clone, "db"); !r.Sound() {
			t.Errorf("%v, part %d, operation %d, %s: %v", fault, part, k, when, r.Damage)
		}
		again := openMemory(t, Options{FS: clone, IdleAfter: -1})
		if !maps.Equal(fieldsOf(t, again), want) {
			t.Errorf("%v, part %d, operation %d, %s: the disk has other fields", fault, part, k, when)
		}
		closeStore(t, again)
	}
	if disk.heal(); err != nil {
		p.second("commit")
		p.second("commit")
	}
	materialise(t, s) // with what the batch took, and what is staged
	stored("once the disk works")
	change(100, 0, 600)
	materialise(t, s)
	if !maps.Equal(fieldsOf(t, s), want) {
		t.Errorf("%v, part %d, operation %d: memory has other fields", fault, part, k)
	}
	stored("at the end")
	close(p.stop)
	closeStore(t, s)
	return taken
}
