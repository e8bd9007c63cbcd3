package persistence

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestStoreIsTheModel does random transactions to a store and to maps, with
// materialisation, eviction to disk, reloads and restarts between them.
func TestStoreIsTheModel(t *testing.T) {
	for seed := range uint64(5) {
		runModel(t, seed)
	}
}

func runModel(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	fs := vfs.NewMem()
	m := newModel()
	var clock atomic.Int64 // m.now for the background
	open := func() *Store {
		return openMemory(t, Options{FS: fs, Databases: modelDBs, Seed: seed, IdleAfter: -1,
			Now: clock.Load})
	}
	s := open()
	defer func() { closeStore(t, s) }()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	for range 300 {
		m.now += int64(r.IntN(3))
		clock.Store(m.now)
		m.expire()
		all(s, m.now, func(tx *Tx) {
			for range 1 + r.IntN(6) {
				m.step(t, r, tx)
			}
		})
		switch r.IntN(30) {
		case 0, 1, 2:
			materialise(t, s)
		case 3, 4, 5:
			s.SetMaxMemory(1, PolicySpill, 5)
			s.MakeRoom()
			s.SetMaxMemory(0, PolicySpill, 5)
		case 6:
			if err := s.Reload(); err != nil {
				t.Fatalf("reload: %v", err)
			}
		case 7, 8:
			closeStore(t, s)
			s = open()
		case 9:
			s.ExpireCycle(m.now, 1e6)
		case 10:
			m.check(t, s)
		}
	}
	m.check(t, s)
}
