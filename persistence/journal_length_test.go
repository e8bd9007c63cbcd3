package persistence

import (
	"math"
	"testing"
)

// The journal may get longer than its bound if its records are long: a start replays it in the same time. It takes a
// part of what is free at most.
func TestJournalOfLongRecordsMayBeLonger(t *testing.T) {
	const bound = 1 << 20
	s := openMemory(t, Options{JournalBound: bound})
	defer closeStore(t, s)
	for range 100 {
		all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), []byte("v"), NoExpiry) })
	}
	for _, c := range []struct {
		bytes      int64 // of 100 records
		free, want float64
	}{
		{bound - 1, math.Inf(1), 1}, // it is not looked at
		{bound * 2, math.Inf(1), 4},
		{bound * 2, 24, 3},
		{bound * 2, 1, 1},
	} {
		if got := s.journalLengthOn(c.bytes, uint64(min(c.free, 1<<20)*bound), 1<<60); got != int64(c.want*bound) {
			t.Errorf("%d bytes, %v free: %d, want %v", c.bytes, c.free, got, c.want*bound)
		}
	}
	s.opts.JournalBound = 1000
	for size, want := range map[int64]int64{40: 1000, 80: 1000, 200: 1861, 1000: 3444, 10_000: 4000} {
		if got := s.journalLengthOn(100*size, 0, 0); got != want {
			t.Errorf("records of %d bytes: %d, want %d", size, got, want)
		}
	}
}
