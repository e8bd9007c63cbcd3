package persistence

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

const (
	benchKeys  = 1_000_000
	benchValue = 200
)

func benchKey(dst []byte, i int) []byte { return fmt.Appendf(dst, "key:%012d", i) }

// setKeys sets n keys, one transaction each.
func setKeys(s *Store, from, n int, value []byte) {
	tx := s.NewTx()
	var key []byte
	for i := from; i < from+n; i++ {
		key = benchKey(key[:0], i)
		setOne(s, tx, key, value)
	}
}

func setOne(s *Store, tx *Tx, key, value []byte) {
	var set Shards
	set.Add(s.Hash(key))
	tx.Lock(&set, 1)
	tx.SetString(key, value, NoExpiry)
	tx.Commit()
	tx.Unlock()
	s.commits.Throttle()
}

func benchStore(b *testing.B, o Options) *Store {
	b.Helper()
	o.Dir, o.IdleAfter = b.TempDir(), -1
	s, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { closeStore(b, s) })
	return s
}

func BenchmarkSetNew(b *testing.B) {
	s := benchStore(b, Options{JournalBound: 1 << 40})
	tx, value, key := s.NewTx(), make([]byte, benchValue), []byte(nil)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		key = append(key[:0], "key:000000000000"...)
		binary.LittleEndian.PutUint64(key[8:], uint64(i))
		i++
		setOne(s, tx, key, value)
	}
}

func BenchmarkSetOverwrite(b *testing.B) {
	s := benchStore(b, Options{JournalBound: 1 << 40})
	value := make([]byte, benchValue)
	setKeys(s, 0, benchKeys, value)
	keys := benchAllKeys()
	tx, i := s.NewTx(), 0
	b.ReportAllocs()
	for b.Loop() {
		i = (i + 7919) % benchKeys
		setOne(s, tx, keys[i], value)
	}
}

func benchAllKeys() [][]byte {
	keys := make([][]byte, benchKeys)
	for i := range keys {
		keys[i] = benchKey(nil, i)
	}
	return keys
}

func BenchmarkGet(b *testing.B) {
	s := benchStore(b, Options{})
	setKeys(s, 0, benchKeys, make([]byte, benchValue))
	keys := benchAllKeys()
	tx, i, n := s.NewTx(), 0, 0
	b.ReportAllocs()
	for b.Loop() {
		i = (i + 7919) % benchKeys
		n += getOne(s, tx, keys[i])
	}
	if n == 0 {
		b.Fatal("nothing read")
	}
}

func getOne(s *Store, tx *Tx, key []byte) int {
	var set Shards
	set.Add(s.Hash(key))
	tx.Lock(&set, 1)
	v, _, _ := tx.String(key)
	n := len(v)
	tx.Commit()
	tx.Unlock()
	return n
}

func BenchmarkParallel(b *testing.B) {
	s := benchStore(b, Options{JournalBound: 1 << 40})
	value := make([]byte, benchValue)
	setKeys(s, 0, benchKeys, value)
	keys := benchAllKeys()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		tx, i := s.NewTx(), 0
		for pb.Next() {
			i = (i + 7919) % benchKeys
			if i%2 == 0 {
				setOne(s, tx, keys[i], value)
			} else {
				getOne(s, tx, keys[i])
			}
		}
	})
}

// BenchmarkMillion fills a store with 1M keys of 200 B, restarts it while they
// are in the journal only, materialises them, and restarts it again. It reports
// what each step takes.
func BenchmarkMillion(b *testing.B) {
	const n = 1_000_000
	dir := b.TempDir()
	open := func() *Store {
		s, err := Open(Options{Dir: dir, IdleAfter: -1, JournalBound: 1 << 30})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	for b.Loop() {
		s := open()
		start := time.Now()
		setKeys(s, 0, n, make([]byte, benchValue))
		b.ReportMetric(float64(time.Since(start).Nanoseconds())/n, "set-ns/key")
		b.ReportMetric(float64(s.Memory())/n, "memory-B/key")
		b.ReportMetric(float64(residentBytes())/1e6, "rss-MB")
		b.ReportMetric(float64(goHeap())/1e6, "heap-MB")
		closeStore(b, s)

		start = time.Now()
		s = open()
		b.ReportMetric(time.Since(start).Seconds(), "replay-s")

		start = time.Now()
		cpu := cpuTime()
		if err := s.passes.Materialise(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Nanoseconds())/n, "materialise-ns/key")
		b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/n, "materialise-cpu-ns/key")
		closeStore(b, s)

		start = time.Now()
		s = open()
		b.ReportMetric(time.Since(start).Seconds(), "open-s")
		for s.Stats().ColdTables > 0 {
			runtime.Gosched()
		}
		b.ReportMetric(time.Since(start).Seconds(), "warm-s")
		closeStore(b, s)
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
	}
}

// residentBytes is the memory the process has, 0 where it cannot be told.
func residentBytes() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

func goHeap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys - m.HeapReleased
}

// cpuTime is the CPU time the process has used, 0 where it cannot be told.
func cpuTime() time.Duration {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	var pid, n int
	var comm, state string
	var skip [10]int64
	var user, system int64
	args := []any{&pid, &comm, &state}
	for i := range skip {
		args = append(args, &skip[i])
	}
	args = append(args, &user, &system)
	if n, err = fmt.Sscan(string(b), args...); err != nil || n != len(args) {
		return 0
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// BenchmarkSustained inserts new keys faster than they can be materialised, with
// a journal of 64 MiB, and reports how long single writes take.
func BenchmarkSustained(b *testing.B) {
	s := benchStore(b, Options{JournalBound: 64 << 20, Now: func() int64 { return 1 }})
	tx, value := s.NewTx(), make([]byte, benchValue)
	var key []byte
	var worst time.Duration
	slow, i, biggest := 0, 0, int64(0)
	for b.Loop() {
		key = benchKey(key[:0], i)
		i++
		start := time.Now()
		setOne(s, tx, key, value)
		d := time.Since(start)
		worst = max(worst, d)
		if d > time.Millisecond {
			slow++
		}
		if i%1000 == 0 {
			biggest = max(biggest, s.commits.Length.Bytes())
		}
	}
	b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
	b.ReportMetric(float64(slow)/float64(i)*1e6, "over-1ms/million")
	b.ReportMetric(float64(biggest)/1e6, "journal-MB")
}
