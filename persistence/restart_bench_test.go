package persistence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence/format"
)

// abandon ends a store as kill -9 would: nothing is written that was not.
func abandon(t testing.TB, s *Store) {
	t.Helper()
	s.cancel()
	s.tasks.Wait()
	if err := s.files.Close(); err != nil {
		t.Fatalf("close the disk: %v", err)
	}
	for i := range s.keyspace.Shard {
		for _, table := range s.keyspace.Shard[i].Tables {
			if table != nil {
				table.Unmap()
			}
		}
	}
	s.keyspace.Pool.Close()
}

// passUpTo materialises the first n shards and leaves the pass there.
func passUpTo(t testing.TB, s *Store, n int) {
	t.Helper()
	s.writer.Lock()
	defer s.writer.Unlock()
	s.commits.Journal.Cut()
	for i := range n {
		if err := s.writer.WriteShard(t.Context(), i); err != nil {
			t.Fatalf("materialise shard %d: %v", i, err)
		}
	}
	if err := s.writer.Commit(); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

func setSmall(s *Store, n int) {
	r := rand.New(rand.NewPCG(1, 2))
	tx, value, key := s.NewTx(), make([]byte, 100), []byte(nil)
	for i := range n {
		key = benchKey(key[:0], i)
		setOne(s, tx, key, value[:20+r.IntN(81)])
	}
}

func setExpiries(s *Store, n int) {
	tx, key := s.NewTx(), []byte(nil)
	for i := range n {
		key = benchKey(key[:0], i)
		var set Shards
		set.Add(s.Hash(key))
		tx.Lock(&set, 1)
		tx.SetExpire(key, 1<<40)
		tx.Commit()
		tx.Unlock()
		s.commits.Throttle()
	}
}

// BenchmarkRestart opens a store of small keys after its process ended in several
// states.
func BenchmarkRestart(b *testing.B) {
	for _, n := range []int{200_000, 1_000_000, 5_000_000} {
		for _, state := range []struct {
			name string
			end  func(s *Store)
		}{
			{"killed", func(s *Store) { abandon(b, s) }},
			{"killed in a pass", func(s *Store) { passUpTo(b, s, format.ShardCount/2); abandon(b, s) }},
			{"killed behind a pass", func(s *Store) { materialise(b, s); abandon(b, s) }},
			{"overwritten behind a pass", func(s *Store) { materialise(b, s); setSmall(s, n); abandon(b, s) }},
			{"overwritten in part", func(s *Store) { materialise(b, s); setSmall(s, n/50); abandon(b, s) }},
			{"expiries behind a pass", func(s *Store) { materialise(b, s); setExpiries(s, n); abandon(b, s) }},
			{"stopped", func(s *Store) { closeStore(b, s) }},
		} {
			b.Run(fmt.Sprintf("n=%d/%s", n, state.name), func(b *testing.B) { benchRestart(b, n, state.end) })
		}
	}
}

func benchRestart(b *testing.B, n int, finish func(s *Store)) {
	o := Options{Dir: b.TempDir(), IdleAfter: -1, JournalBound: 1 << 30}
	s, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	setSmall(s, n)
	if err := s.commits.WaitDurable(s.commits.Journal.Newest()); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	finish(s)
	end := time.Since(began)
	var cpu time.Duration
	for b.Loop() {
		before := cpuTime()
		s, err := Start(o)
		if err == nil {
			err = s.Load(b.Context())
		}
		cpu += cpuTime() - before
		if err != nil {
			b.Fatal(err)
		}
		var tx = s.NewTx()
		var set Shards
		set.AddAll()
		tx.Lock(&set, 1)
		if got := tx.Databases().Size(0); got != n {
			err = errors.Join(err, fmt.Errorf("%d keys, want %d", got, n))
		}
		tx.Unlock()
		b.StopTimer()
		abandon(b, s)
		b.StartTimer()
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(end.Seconds()*1000, "end-ms")
	b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}
