package persistence

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/schedule"
	"github.com/vigildb/vigil/structures/testscale"
)

// crashedSchedule runs random operations on a schedule of a policy, one a
// record, and returns what it was after each and the crashes on the way.
func crashedSchedule(t *testing.T, seed uint64, policy string) (states map[uint64][]byte, crashes []crash) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 51))
	c := &crasher{mem: disktest.New(), r: rand.New(rand.NewPCG(seed, 52)), every: 1 << 30}
	s := openMemory(t, Options{FS: errorfs.Wrap(c.mem, c), Seed: seed, IdleAfter: -1, Sync: SyncPolicy(seed % 3)})
	c.mu.Lock()
	c.every = 6 * testscale.By // from here on: a store that is being made is another matter
	c.mu.Unlock()
	resize(s, func(z *writeback.Sizes) { z.Batch, z.Part = 1, 1+int(seed%2) })
	if seed%2 == 0 {
		stageParts(s)
	}
	states = map[uint64][]byte{0: nil}
	// One goroutine stores, now and then, what another changes; it ends with due.
	due, stopped := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		var err error
		for range due {
			if err == nil {
				err = s.passes.Materialise(context.Background())
			}
		}
		stopped <- err
	}()
	now := int64(1000)
	var out []string
	for op := range 600 {
		now += int64(rng.IntN(50))
		lsn := all(s, now, func(tx *Tx) {
			if op%150 == 149 {
				tx.Delete([]byte("s")) // while parts of it are stored
			}
			if op%150 == 149 || op == 0 {
				v, cfg := schedule.New(tx.HashKeys().Fields), schedule.DefaultConfig()
				cfg.Policy, cfg.Seed, cfg.Probes, cfg.Explore = policy, seed, 2, .1
				if err := v.Create(nil, cfg, now); err != nil {
					t.Fatal(err)
				}
				p := scheduler.DefaultParams()
				p.Decay, p.Arrival = .5, .5
				for i := range 300 { // several pages
					if _, err := v.Add(nil, fmt.Appendf(nil, "node-%d", i), p, now); err != nil {
						t.Fatal(err)
					}
				}
				Replace(tx, []byte("s"), v, NoExpiry)
				return
			}
			out = stepSchedule(t, rng, tx, now, out)
		})
		if lsn > 0 {
			states[lsn] = dumpOf(s, now)
		}
		switch rng.IntN(30) {
		case 0, 1:
			due <- struct{}{} // waits for the pass before the last one: a loaded machine makes as many
			runtime.Gosched()
		case 2, 3:
			if err := s.commits.WaitDurable(lsn); err != nil {
				t.Fatal(err)
			}
			c.acked.Store(max(lsn, c.acked.Load()))
		}
	}
	close(due)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	return states, c.crashes
}

// stepSchedule does one random operation. out holds nodes that were handed out.
func stepSchedule(t *testing.T, rng *rand.Rand, tx *Tx, now int64, out []string) []string {
	t.Helper()
	v, ch, _, err := Edit[*schedule.Schedule](tx, []byte("s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Appendf(nil, "node-%d", rng.IntN(400))
	switch k := rng.IntN(10); {
	case k < 4:
		p := scheduler.DefaultParams()
		p.Rate, p.Decay, p.Arrival = rng.Float64(), .1+rng.Float64(), rng.Float64()
		if _, err := v.Add(ch, name, p, now); err != nil {
			t.Fatal(err)
		}
	case k < 5:
		v.Remove(ch, name)
	case k < 7 || len(out) == 0:
		picks, err := v.Next(ch, 0, now, 500, schedule.NamesOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range picks {
			out = append(out, p.Node)
		}
	default:
		_ = v.Observe(ch, []byte(out[0]), float64(rng.IntN(4)), now) // the lease may be over
		out = out[1:]
	}
	return out
}

// dumpOf is the encoding of the schedule.
func dumpOf(s *Store, now int64) (payload []byte) {
	all(s, now, func(tx *Tx) { _, payload, _ = tx.Transfers().Dump(nil, []byte("s")) })
	return payload
}

func TestSchedulesSurviveCrashes(t *testing.T) {
	for seed, spec := range testscale.Some(scheduler.Policies()) {
		states, crashes := crashedSchedule(t, uint64(seed), spec.Name)
		for i, c := range crashes {
			s := openMemory(t, Options{FS: c.fs, Seed: uint64(seed), IdleAfter: -1})
			lsn := s.Stats().LSN
			want, ok := states[lsn]
			if !ok || lsn < c.acked {
				t.Fatalf("%s, seed %d, crash %d: record %d is the last, %d was confirmed", spec.Name, seed, i, lsn, c.acked)
			}
			if got := dumpOf(s, 1000); !bytes.Equal(got, want) {
				t.Fatalf("%s, seed %d, crash %d at record %d: the schedule differs", spec.Name, seed, i, lsn)
			}
			materialise(t, s)
			closeStore(t, s)
			s = openMemory(t, Options{FS: c.fs, Seed: uint64(seed), IdleAfter: -1})
			if got := dumpOf(s, 1000); !bytes.Equal(got, want) {
				t.Fatalf("%s, seed %d, crash %d at record %d: it differs when materialised", spec.Name, seed, i, lsn)
			}
			closeStore(t, s)
		}
		if len(crashes) < 10/testscale.By {
			t.Errorf("%s: only %d crashes", spec.Name, len(crashes))
		}
	}
}
