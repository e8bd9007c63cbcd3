package persistence

import (
	"testing"
	"time"
)

// Writers wait the longer the more memory large values take, so that they end up
// at the pace of the disk before memory exceeds its bound by much.
func TestWritersWaitForTheMemoryOfLargeValues(t *testing.T) {
	const bound = 64 << 20
	s := openMemory(t, Options{MaxMemory: bound, Policy: PolicySpill})
	defer s.Close()
	last := time.Duration(-1)
	for _, step := range []struct {
		percent        int64
		least, longest time.Duration
	}{
		{0, 0, 0},
		{80, 0, 0},
		{90, time.Millisecond, stuckDelay},
		{100, 2 * stuckDelay, maxLargeDelay},
		{110, 4 * stuckDelay, maxLargeDelay},
		{120, maxLargeDelay, maxLargeDelay},
		{1e6, maxLargeDelay, maxLargeDelay},
	} {
		s.large.Store(bound / 100 * step.percent)
		got := s.delay()
		if got < step.least || got > step.longest || got < last {
			t.Errorf("large values take %d %% of the bound: %v, want %v to %v and no less than the %v before",
				step.percent, got, step.least, step.longest, last)
		}
		last = got
	}
	if s.SetMaxMemory(0, PolicySpill, 5); s.delay() != 0 {
		t.Errorf("without a bound writers wait %v", s.delay())
	}
}
