package persistence

import (
	"testing"
	"time"
)

// Clients that change large values wait the longer the more memory these take, so that
// they end up at the pace of the disk before memory exceeds its bound by much. The others
// do not wait.
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
		{74, 0, 0},
		{84, time.Millisecond, maxLargeDelay / 4},
		{100, maxLargeDelay / 4, maxLargeDelay},
		{110, maxLargeDelay / 2, maxLargeDelay},
		{120, maxLargeDelay, maxLargeDelay},
		{1e6, maxLargeDelay, maxLargeDelay},
	} {
		s.large.Store(bound / 100 * step.percent)
		got := s.Pace(0)
		if got < step.least || got > step.longest || got < last {
			t.Errorf("large values take %d %% of the bound: %v, want %v to %v and no less than the %v before",
				step.percent, got, step.least, step.longest, last)
		}
		last = got
		if rest := s.Pace(got / 3); rest != got-got/3 {
			t.Errorf("after %v of %v: another %v", got/3, got, rest)
		}
		if rest := s.Pace(got); rest != 0 {
			t.Errorf("after all of %v: another %v", got, rest)
		}
		if s.delay() != 0 {
			t.Errorf("large values take %d %% of the bound: all clients wait %v", step.percent, s.delay())
		}
	}
	if s.SetMaxMemory(0, PolicySpill, 5); s.Pace(0) != 0 {
		t.Errorf("without a bound writers wait %v", s.Pace(0))
	}
}
