package persistence

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/testscale"
	"github.com/vigildb/vigil/structures/zset"
)

// stagedValue is a value of many pages under the key "v", of one type.
type stagedValue struct {
	change func(r *rand.Rand, tx *Tx) error
	tell   func(v structures.Value) string
}

func stagedEdit[V structures.Value](create func(tx *Tx) V, f func(r *rand.Rand, v V, ch *structures.Change)) func(*rand.Rand, *Tx) error {
	return func(r *rand.Rand, tx *Tx) error {
		v, ch, _, err := Edit(tx, []byte("v"), func() V { return create(tx) })
		if err == nil {
			f(r, v, ch)
		}
		return err
	}
}

// stagedValues are values of each type that has pages.
func stagedValues() map[string]stagedValue {
	return map[string]stagedValue{
		"hash": {
			stagedEdit(func(tx *Tx) *hash.Hash { return hash.New(tx.HashKeys()) }, func(r *rand.Rand, h *hash.Hash, ch *structures.Change) {
				for range 150 {
					h.Set(ch, fmt.Appendf(nil, "field-%d", r.IntN(2000)), fmt.Appendf(nil, "%0100d", r.Uint64()))
				}
				h.Delete(ch, fmt.Appendf(nil, "field-%d", r.IntN(2000)))
			}),
			func(v structures.Value) string { return fmt.Sprint(fieldsIn(v.(*hash.Hash))) },
		},
		"set": {
			stagedEdit(func(tx *Tx) *set.Set { return set.New(tx.HashKeys()) }, func(r *rand.Rand, s *set.Set, ch *structures.Change) {
				for range 150 {
					s.Add(ch, fmt.Appendf(nil, "member-%0100d", r.IntN(2000)))
					s.Remove(ch, fmt.Appendf(nil, "member-%0100d", r.IntN(2000)))
				}
			}),
			func(v structures.Value) string {
				s := v.(*set.Set)
				there := make([]byte, 2000)
				for i := range there {
					if there[i] = '0'; s.Has(fmt.Appendf(nil, "member-%0100d", i)) {
						there[i] = '1'
					}
				}
				return fmt.Sprint(s.Len(), string(there))
			},
		},
		"sorted set": {
			stagedEdit(func(tx *Tx) *zset.Set { return zset.New(tx.HashKeys()) }, func(r *rand.Rand, s *zset.Set, ch *structures.Change) {
				for range 150 {
					s.Add(ch, fmt.Appendf(nil, "member-%060d", r.IntN(2000)), r.NormFloat64(), 0)
				}
				s.RemoveRange(ch, r.IntN(s.Len()), 20)
			}),
			func(v structures.Value) string { return scoresIn(v.(*zset.Set)) },
		},
		"list": {
			stagedEdit(func(*Tx) *list.List { return list.New() }, func(r *rand.Rand, l *list.List, ch *structures.Change) {
				for range 60 {
					l.Push(ch, list.End(r.IntN(2)), fmt.Appendf(nil, "%0200d", r.Uint64()))
				}
				for range 40 {
					l.Set(ch, r.IntN(l.Len()), fmt.Appendf(nil, "%0200d", r.Uint64()))
				}
			}),
			func(v structures.Value) (all string) {
				l := v.(*list.List)
				l.Range(0, -1, func(e []byte) { all += string(e) + " " })
				return all
			},
		},
		"stream": {
			stagedEdit(func(*Tx) *stream.Stream { return stream.New() }, changeStaged),
			func(v structures.Value) string { return describeStream(v.(*stream.Stream)) },
		},
	}
}

// While a value is stored page by page it changes, and its pages leave memory, those too
// that the pass has staged. What is read is what was written, and a power failure at any
// write leaves the value as it was after some change.
func TestPagesLeaveMemoryAmidAPass(t *testing.T) {
	indexPages(t)
	values := stagedValues()
	for _, name := range testscale.Some(slices.Sorted(maps.Keys(values))) {
		v := values[name]
		t.Run(name, func(t *testing.T) {
			left := 0
			for seed := range testscale.Rounds(uint64(2)) {
				left += leaveAmidPasses(t, v, seed)
			}
			if left < 30/testscale.By {
				t.Errorf("only %d pages left memory amid passes", left)
			}
		})
	}
}

// leaveAmidPasses returns how many pages left memory amid passes.
func leaveAmidPasses(t *testing.T, v stagedValue, seed uint64) (left int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 71))
	c := &crasher{mem: disktest.New(), r: rand.New(rand.NewPCG(seed, 72)), every: 30}
	s := openMemory(t, Options{FS: errorfs.Wrap(c.mem, c), LargeBytes: 1, IdleAfter: -1})
	tell := func(s *Store) (state string) {
		all(s, 1, func(tx *Tx) {
			value, err := tx.Value([]byte("v"))
			if value != nil && err == nil {
				state = v.tell(value)
			}
			if err = tx.Err(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		})
		return state
	}
	states := map[uint64]string{0: ""}
	change := func() {
		lsn := all(s, 1, func(tx *Tx) {
			if err := v.change(r, tx); err != nil {
				t.Fatal(err)
			}
		})
		states[lsn] = tell(s)
	}
	away := func() (n int) {
		all(s, 1, func(tx *Tx) {
			value, _ := tx.Value([]byte("v"))
			n, _ = value.(structures.Paged).Evicted()
		})
		return n
	}
	change()
	for range max(4, testscale.Rounds(6)) {
		change()
		resize(s, func(z *writeback.Sizes) {
			z.Part, z.Stage, z.Move = 1+r.IntN(4), r.IntN(2)*r.IntN(20_000), 1+r.IntN(20_000)
		})
		s.writer.Lock()
		shard := format.ShardOf(s.Hash([]byte("v")))
		sh := &s.keyspace.Shard[shard]
		for cursor, more := uint64(shard)<<56, true; more; {
			cursor, more = step(t, s, shard, sh.Tables[0], cursor)
			if r.IntN(4) > 0 {
				continue
			}
			before := away()
			evictEverything(s)
			left += max(0, away()-before)
			if r.IntN(3) == 0 {
				change()
			}
			if r.IntN(testscale.By) > 0 {
				continue
			}
			if got := tell(s); got != states[s.commits.Journal.Newest()] {
				t.Fatalf("seed %d: amid a pass the value is\n%.300s, want\n%.300s", seed, got, states[s.commits.Journal.Newest()])
			}
		}
		if err := s.writer.Commit(); err != nil {
			t.Fatal(err)
		}
		s.writer.Unlock()
		evictEverything(s)
		if got := tell(s); got != states[s.commits.Journal.Newest()] {
			t.Fatalf("seed %d: after a pass the value is\n%.300s, want\n%.300s", seed, got, states[s.commits.Journal.Newest()])
		}
		materialise(t, s)
	}
	checkAccounts(t, s)
	closeStore(t, s)
	for i, crash := range c.crashes {
		s := openMemory(t, Options{FS: crash.fs, IdleAfter: -1, LargeBytes: 1})
		if want, ok := states[s.Stats().LSN]; !ok || tell(s) != want {
			t.Fatalf("seed %d, crash %d: the value of record %d differs", seed, i, s.Stats().LSN)
		}
		closeStore(t, s)
	}
	if len(c.crashes) < 2 {
		t.Errorf("seed %d: only %d crashes", seed, len(c.crashes))
	}
	return left
}

// A value that becomes large after it was encoded, before its batch is written, keeps its
// pages: it is not known which of them the disk has.
func TestValueThatBecomesLargeAmidAPassKeepsItsPages(t *testing.T) {
	indexPages(t)
	s := openMemory(t, Options{IdleAfter: -1, LargeBytes: 100 << 10})
	defer closeStore(t, s)
	fill := func(from, to int) {
		all(s, 1, func(tx *Tx) {
			h, ch, _, err := Edit(tx, []byte("h"), func() *hash.Hash { return hash.New(tx.HashKeys()) })
			if err != nil {
				t.Fatal(err)
			}
			for i := from; i < to; i++ {
				h.Set(ch, fmt.Append(nil, i), make([]byte, 1000))
			}
		})
	}
	fill(0, 60)
	s.writer.Lock()
	shard := format.ShardOf(s.Hash([]byte("h")))
	sh := &s.keyspace.Shard[shard]
	step(t, s, shard, sh.Tables[0], uint64(shard)<<56)
	fill(60, 200)
	if evictEverything(s); s.writer.Large().Values != 1 || pagesEvicted(t, s) != 0 {
		t.Errorf("%d large values, %d pages are evicted, want 1 and 0", s.writer.Large().Values, pagesEvicted(t, s))
	}
	if n := len(fieldsOf(t, s)); n != 200 {
		t.Errorf("%d fields, want 200", n)
	}
	if err := s.writer.Commit(); err != nil {
		t.Fatal(err)
	}
	s.writer.Unlock()
	if onDiskOnly(t, s); pagesEvicted(t, s) == 0 {
		t.Error("no page is evicted after the pass")
	}
}
