package commits

import "time"

// Throttle slows writers down when the journal grows faster than it is written
// or materialised, or when memory cannot be freed as fast as it fills. The
// server calls it after writes, without locks; one call may stand for the writes
// of many clients. It costs nothing below the limits, and otherwise waits a few
// milliseconds: the delay grows with the excess, so that writers slow down
// gradually. Only while the disk accepts nothing at all is it up to 50 ms. Large values
// slow only the clients that change them.
func (s *Commits) Throttle() {
	delay := s.Pacer.Delay()
	if delay == 0 {
		return
	}
	s.Pacer.Hasten()
	wait := time.NewTimer(delay)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-s.Done:
	}
}
