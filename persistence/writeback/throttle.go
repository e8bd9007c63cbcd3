package persistence

import (
	"time"
)

const (
	// maxPending is how much of the journal may wait in memory for the log before
	// writers are slowed.
	maxPending = 16 << 20
	// maxDelay is how long one call waits when a bound is exceeded twofold.
	maxDelay = 5 * time.Millisecond
	// stuckDelay is the longest wait, for a disk that hangs: what waits for it
	// takes memory. Beyond maxStuck [Store.WriteError] returns it.
	stuckDelay = 50 * time.Millisecond
	maxStuck   = 1 << 30
	// maxBig is how much of big records may wait before writers are slowed, and a
	// quarter of what may wait at all. Each client waits for its own: see Heavy.
	maxBig = 1 << 30
	// maxLargeDelay is the longest wait of a client that changed a large value: one that
	// is changed faster than it is encoded would be locked for longer, and pages that are
	// changed faster than they are written would take memory without a bound.
	maxLargeDelay = 2 * time.Second
	// largeDelay is that wait when large values exceed what they may take by an eighth.
	largeDelay = 200 * time.Millisecond
)

// Throttle slows writers down when the journal grows faster than it is written
// or materialised, or when memory cannot be freed as fast as it fills. The
// server calls it after writes, without locks; one call may stand for the writes
// of many clients. It costs nothing below the limits, and otherwise waits a few
// milliseconds: the delay grows with the excess, so that writers slow down
// gradually. Only while the disk accepts nothing at all is it up to 50 ms. Large values
// slow only the clients that change them, see Pace.
func (s *Store) Throttle() {
	delay := s.delay()
	if delay == 0 {
		return
	}
	if s.journal.Pending() > maxPending {
		s.journal.Signal()
	} else {
		s.materialiser.signal()
	}
	wait := time.NewTimer(delay)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-s.ctx.Done():
	}
}

// delay is how long a writer waits by what is behind now.
func (s *Store) delay() time.Duration {
	pending := s.journal.Pending()
	stuck := max(over(pending, maxPending), over(s.journal.PendingBig(), maxBig))
	delay := time.Duration(stuck * stuck * float64(maxDelay))
	excess := s.memoryExcess()
	if bytes := s.log.Bytes(); bytes > s.opts.JournalBound {
		length := s.journalLength(bytes)
		excess = max(excess, over(bytes, length+length/2))
	}
	return max(min(delay, stuckDelay), time.Duration(min(1, excess)*float64(maxDelay)))
}

// Pace returns how much longer a client is to wait that changed a large value, see
// [Tx.Large], and has waited for some time already: 0 if it may go on. The wait follows
// from how much memory such values take now, so that it is shorter when some of it was
// freed meanwhile, and is bounded. The server calls it without locks.
func (s *Store) Pace(waited time.Duration) time.Duration {
	large := max(s.largeExcess(), s.memoryExcess()) // of strings there is no other account
	laps := s.materialiser.lapped.Load()
	delay := max(time.Duration(large*large*float64(largeDelay)), time.Duration(laps*laps)*maxDelay)
	if delay <= waited || waited >= maxLargeDelay {
		return 0
	}
	s.press()
	return min(delay, maxLargeDelay) - waited
}

// Large reports that the last record changed a large value, whose client is to wait if
// that is done faster than the disk takes it: see [Store.Pace].
func (tx *Tx) Large() bool { return tx.large }

// over is by how much n exceeds bound, as a part of bound.
func over(n, bound int64) float64 {
	return float64(max(0, n-bound)) / float64(bound)
}

// memoryExcess is how much more memory than wanted is in use under PolicySpill,
// as a part of an eighth of what is wanted.
func (s *Store) memoryExcess() float64 {
	bound := s.maxMemory.Load()
	if bound < spillFloor || Policy(s.policy.Load()) != PolicySpill {
		return 0
	}
	return over(s.keyspace.Memory.Load(), bound+bound/16) * 8
}

// largeExcess is how much more memory than wanted large values take, as a part of an
// eighth of what is wanted. One change of an element takes a page of memory until that is
// written, so that writers have to be slowed to what the disk takes.
func (s *Store) largeExcess() float64 {
	bound := s.spillBound()
	if bound < spillFloor {
		return 0
	}
	return over(s.large.Load(), largePart(bound)+bound/16) * 8
}
