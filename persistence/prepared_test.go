package persistence

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/structures/countmin"
	"github.com/vigildb/vigil/structures/testscale"
)

// aSketch is a sketch of 2 MB.
func aSketch(t *testing.T, r *rand.Rand) *countmin.Sketch {
	t.Helper()
	s := countmin.New()
	if err := s.Init(nil, 1<<19, 1, 1<<30); err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		s.Array(0).AddUint32(r.Uint64N(1<<19)*4, 1+r.Uint32N(1000))
	}
	return s
}

// A store that stops while a prepared value takes the place of another one, at any write or sync, has the one or
// the other, whole.
func TestCrashLeavesTheOldOrThePreparedValue(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 1))
	c := &crasher{mem: disktest.New(), r: rand.New(rand.NewPCG(seed, 2)), every: 3 * testscale.By}
	s := openMemory(t, Options{FS: errorfs.Wrap(c.mem, c), IdleAfter: -1, Sync: SyncAlways})
	key := []byte("k")
	dump := func(s *Store) (b []byte) {
		all(s, 2, func(tx *Tx) { _, b, _ = tx.Transfers().Dump(nil, key) })
		return b
	}
	put := func() []byte {
		p := Prepare(aSketch(t, r))
		if p.body.Bytes == nil {
			t.Fatal("a value of 2 MB was not encoded")
		}
		lsn := all(s, 1, func(tx *Tx) { ReplacePrepared(tx, key, p, NoExpiry) })
		if err := s.commits.WaitDurable(lsn); err != nil {
			t.Fatal(err)
		}
		return dump(s)
	}
	states := [][]byte{put()}
	c.mu.Lock()
	c.crashes = nil
	c.mu.Unlock()
	for range 4 {
		states = append(states, put())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found := make([]int, len(states))
	newest := 0
	for i, crash := range c.crashes {
		again := openMemory(t, Options{FS: crash.fs, IdleAfter: -1})
		got, at := dump(again), -1
		for k := range states {
			if bytes.Equal(got, states[k]) {
				at = k
			}
		}
		if at < newest {
			t.Fatalf("seed %d, crash %d: value %d behind %d", seed, i, at, newest)
		}
		newest = at
		found[at]++
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if testscale.By == 1 && (found[0] == 0 || newest != len(states)-1) {
		t.Errorf("%d crashes left %v of the values: none is between them", len(c.crashes), found)
	}
}
