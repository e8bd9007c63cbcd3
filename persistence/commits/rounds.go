package commits

import (
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/persistence/journal"
)

// A goroutine that makes changes for many clients does so in rounds. What the changes leave to be done is done at
// the end of a round, by that goroutine: others would have to be woken for it, and would then wake it. A member
// proposes what was changed. A store that is alone writes and syncs it, if all that the goroutine has to do
// is wait for that, and the device is quick. Else its clients who wait for no sync would wait for one.

// quickSync is the mean time of a sync up to which it is made at the end of a round.
const quickSync = time.Millisecond

// BeginRound is called by a goroutine that is about to make changes for clients, and calls EndRound
// behind them.
func (s *Commits) BeginRound() {
	if s.group == nil || s.group.Pulled() {
		s.Journal.BeginRound()
	}
}

// EndRound ends a round, without locks of the caller. idle is that the caller has nothing else to do until the device
// has what was changed under SyncAlways.
func (s *Commits) EndRound(idle bool) {
	switch {
	case s.group != nil && !s.group.Pulled() || !s.Journal.EndRound():
	case s.group != nil:
		s.group.Attend()
	case !idle || s.Policy() != journal.SyncAlways || s.syncTime.mean() > quickSync || !s.work.Load().Try():
		s.Journal.SignalNow()
	}
}

// meanTime is an exponential moving average of durations, in which a new one counts for an eighth.
type meanTime struct{ nanos atomic.Int64 }

func (m *meanTime) mean() time.Duration { return time.Duration(m.nanos.Load()) }

func (m *meanTime) add(d time.Duration) { m.nanos.Add((int64(d) - m.nanos.Load()) / 8) }
