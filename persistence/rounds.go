package persistence

import "time"

// A goroutine that makes changes for many clients does so in rounds. What the changes leave to be done is done at
// the end of a round, by that goroutine: others would have to be woken for it, and would then wake it. A member
// proposes what was changed. A store that is alone writes and syncs it, if all that the goroutine has to do
// is wait for that, and the device is quick. Else its clients who wait for no sync would wait for one.

// quickSync is the mean time of a sync up to which it is made at the end of a round.
const quickSync = time.Millisecond

// BeginRound is called by a goroutine that is about to make changes for clients, and calls EndRound
// behind them.
func (s *Store) BeginRound() {
	if s.member == nil || s.member.Pulled() {
		s.journal.BeginRound()
	}
}

// EndRound ends a round, without locks of the caller. idle is that the caller has nothing else to do until the device
// has what was changed under SyncAlways.
func (s *Store) EndRound(idle bool) {
	m := s.member
	switch {
	case m != nil && !m.Pulled() || !s.journal.EndRound():
	case m != nil:
		m.Attend()
	case !idle || SyncPolicy(s.sync.Load()) != SyncAlways || s.syncTime.mean() > quickSync || !s.committing.Load().try():
		s.journal.SignalNow()
	}
}
