package persistence

import "time"

// Throttle slows writers down when the journal grows faster than it is written
// or materialised, or when memory cannot be freed as fast as it fills. The
// server calls it after writes, without locks; one call may stand for the writes
// of many clients. It costs nothing below the limits, and otherwise waits a few
// milliseconds: the delay grows with the excess, so that writers slow down
// gradually. Only while the disk accepts nothing at all is it up to 50 ms. Large values
// slow only the clients that change them, see Pace.
func (s *Store) Throttle() {
	delay := s.writer.Delay()
	if delay == 0 {
		return
	}
	s.writer.Hasten()
	wait := time.NewTimer(delay)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-s.ctx.Done():
	}
}

// Pace returns how much longer a client is to wait that changed a large value, see
// [Tx.Large], and has waited for some time already: 0 if it may go on. The server calls it without locks.
func (s *Store) Pace(waited time.Duration) time.Duration { return s.writer.Pace(waited) }

// Large reports that the last record changed a large value, whose client is to wait if
// that is done faster than the disk takes it: see [Store.Pace].
func (tx *Tx) Large() bool { return tx.large }
