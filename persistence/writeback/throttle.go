package writeback

import (
	"time"
)

// MaxPending is how much of the journal may wait in memory for the log before
// writers are slowed.
const MaxPending = 16 << 20

const (
	// maxDelay is how long one call waits when a bound is exceeded twofold.
	maxDelay = 5 * time.Millisecond
	// stuckDelay is the longest wait, for a disk that hangs: what waits for it
	// takes memory. Beyond maxStuck nothing more is accepted, see Stuck.
	stuckDelay = 50 * time.Millisecond
	maxStuck   = 1 << 30
	// maxBig is how much of big records may wait before writers are slowed, and a
	// quarter of what may wait at all. Each client waits for its own, see persistence.Tx.Heavy.
	maxBig = 1 << 30
	// maxLargeDelay is the longest wait of a client that changed a large value: one that
	// is changed faster than it is encoded would be locked for longer, and pages that are
	// changed faster than they are written would take memory without a bound.
	maxLargeDelay = 2 * time.Second
	// largeDelay is that wait when large values exceed what they may take by an eighth.
	largeDelay = 200 * time.Millisecond
)

// Delay is how long a writer waits by what is behind now, see commits.Commits.Throttle.
func (w *Writer) Delay() time.Duration {
	pending := w.journal.Pending()
	stuck := max(over(pending, MaxPending), over(w.journal.PendingBig(), maxBig))
	delay := time.Duration(stuck * stuck * float64(maxDelay))
	excess := w.memoryExcess()
	if bytes := w.log.Bytes(); bytes > w.bound {
		length := w.journalLength(bytes)
		excess = max(excess, over(bytes, length+length/2))
	}
	return max(min(delay, stuckDelay), time.Duration(min(1, excess)*float64(maxDelay)))
}

// Hasten has what writers wait for go on at once.
func (w *Writer) Hasten() {
	if w.journal.Pending() > MaxPending {
		w.journal.Signal()
	} else {
		w.Signal()
	}
}

// Stuck reports that so much waits for the disk that nothing more may be written.
func (w *Writer) Stuck() bool {
	return w.journal.Pending() > maxStuck || w.journal.PendingBig() > 4*maxBig
}

// Pace returns how much longer a client is to wait that changed a large value, see
// persistence.Tx.Large, and has waited for some time already: 0 if it may go on. The wait follows
// from how much memory such values take now, so that it is shorter when some of it was
// freed meanwhile, and is bounded. The server calls it without locks.
func (w *Writer) Pace(waited time.Duration) time.Duration {
	large := max(w.largeExcess(), w.memoryExcess()) // of strings there is no other account
	laps := w.lapped.Load()
	delay := max(time.Duration(large*large*float64(largeDelay)), time.Duration(laps*laps)*maxDelay)
	if delay <= waited || waited >= maxLargeDelay {
		return 0
	}
	w.press()
	return min(delay, maxLargeDelay) - waited
}

// Floor is the least memory in bytes with which values can leave it for the disk: those that are being changed or written
// must fit.
const Floor = 1 << 20

// over is by how much n exceeds bound, as a part of bound.
func over(n, bound int64) float64 {
	return float64(max(0, n-bound)) / float64(bound)
}

// memoryExcess is how much more memory than wanted is in use under PolicySpill,
// as a part of an eighth of what is wanted.
func (w *Writer) memoryExcess() float64 {
	bound := w.host.Bound()
	if bound < Floor {
		return 0
	}
	return over(w.keyspace.Memory.Load(), bound+bound/16) * 8
}

// largeExcess is how much more memory than wanted large values take, as a part of an
// eighth of what is wanted. One change of an element takes a page of memory until that is
// written, so that writers have to be slowed to what the disk takes.
func (w *Writer) largeExcess() float64 {
	bound := w.host.Bound()
	if bound < Floor {
		return 0
	}
	return over(w.large.Load(), largePart(bound)+bound/16) * 8
}
