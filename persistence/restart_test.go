package persistence

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/replay"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures/testscale"
)

// TestRestartInAPassAsksTheDiskForFewKeys stops passes at random batches and counts
// what the next start looks up on disk one by one, at 15 us each: nothing for keys
// that are set or deleted, and of keys that are only changed a sixteenth, for then
// the table is read as a whole.
func TestRestartInAPassAsksTheDiskForFewKeys(t *testing.T) {
	const keys = 40_000 / testscale.By
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct {
		name   string
		change func(s *Store)
		most   int64 // look-ups
	}{
		{"set", func(s *Store) { setKeys(s, 0, keys, []byte("w")) }, 0},
		{"set in part", func(s *Store) { setKeys(s, 0, keys/100, []byte("w")) }, 0},
		{"given an expiry", func(s *Store) { setExpiries(s, keys) }, keys/replay.ReadAllShare + format.ShardCount},
	} {
		fs := vfs.NewMem()
		o := Options{FS: fs, IdleAfter: -1}
		s := openMemory(t, o)
		resize(s, func(z *writeback.Sizes) { z.Batch = 1 })
		setKeys(s, 0, keys, []byte("v"))
		passUpTo(t, s, r.IntN(format.ShardCount))
		for range 3 {
			abandon(t, s)
			s = openMemory(t, o)
			resize(s, func(z *writeback.Sizes) { z.Batch = 1 })
			if n := s.heads.Faults.Load(); n > c.most {
				t.Errorf("%s: %d keys were looked up, want at most %d", c.name, n, c.most)
			}
			all(s, 1, func(tx *Tx) {
				if n := tx.Databases().Size(0); n != keys {
					t.Errorf("%s: %d keys are there, want %d", c.name, n, keys)
				}
			})
			c.change(s)
			passUpTo(t, s, r.IntN(format.ShardCount))
		}
		materialise(t, s)
		c.change(s)
		abandon(t, s)
		s = openMemory(t, o)
		if n := s.heads.Faults.Load(); n > c.most {
			t.Errorf("%s behind a whole pass: %d keys were looked up, want at most %d", c.name, n, c.most)
		}
		closeStore(t, s)
	}
}
