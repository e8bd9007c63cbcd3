package persistence

import "time"

const (
	// maxPending is how much of the journal may wait in memory for Pebble before
	// writers are slowed.
	maxPending = 16 << 20
	// maxDelay is the longest that one write waits.
	maxDelay = 5 * time.Millisecond
)

// Throttle slows a writer down when the journal grows faster than it is written
// or materialised, or when memory cannot be freed as fast as it fills. The
// server calls it after a write, without locks. It costs nothing while all is
// well, and never takes longer than a few milliseconds: the bounds are reached
// gently, because the delay grows with the excess.
func (s *Store) Throttle() {
	excess := max(
		over(s.journal.pending.Load(), maxPending),
		over(s.log.bytes.Load(), s.opts.JournalBound+s.opts.JournalBound/2),
		s.memoryExcess())
	if excess == 0 {
		return
	}
	if s.journal.pending.Load() > maxPending {
		s.journal.signal()
	} else {
		s.materialiser.signal()
	}
	wait := time.NewTimer(time.Duration(excess * float64(maxDelay)))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-s.ctx.Done():
	}
}

// over is by how much n exceeds bound, as a part of bound, at most 1.
func over(n, bound int64) float64 {
	if n <= bound {
		return 0
	}
	return min(1, float64(n-bound)/float64(bound))
}

// memoryExcess is how much more memory than wanted is in use under PolicySpill,
// as a part of an eighth of what is wanted, at most 1.
func (s *Store) memoryExcess() float64 {
	bound := s.maxMemory.Load()
	if bound < spillFloor || Policy(s.policy.Load()) != PolicySpill {
		return 0
	}
	return min(1, over(s.memory.Load(), bound+bound/16)*8)
}
