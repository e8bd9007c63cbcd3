package commits

import (
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/journal"
)

// awake reports whether the committer has work, which it would begin now.
func awake(s *rig) bool {
	select {
	case <-s.Journal.Wake():
		return true
	default:
		return false
	}
}

func changeInRound(s *rig, idle bool) (lsn uint64) {
	s.BeginRound()
	lsn = s.set(0, "k", []byte("v"))
	s.EndRound(idle)
	return lsn
}

// Under always a goroutine that would only wait writes what it has changed itself, when its round ends.
func TestRoundOfAnIdleCallerEndsOnTheDevice(t *testing.T) {
	s := newRig(t, disktest.New(), journal.SyncAlways)
	told := error(journal.ErrClosed)
	s.BeginRound()
	lsn := s.set(0, "k", []byte("v"))
	s.NotifyDurable(lsn, func(err error) { told = err })
	if s.Confirmed(lsn) || awake(s) {
		t.Error("amid the round the record is on the device, or somebody was woken to write it")
	}
	s.EndRound(true)
	if !s.Confirmed(lsn) || told != nil || awake(s) {
		t.Errorf("on the device: %v, told %v, woken: %v", s.Confirmed(lsn), told, awake(s))
	}
}

// All others leave it to the committer, which is woken once.
func TestOtherRoundsAreLeftToTheCommitter(t *testing.T) {
	for name, c := range map[string]struct {
		policy journal.SyncPolicy
		idle   bool
		before func(s *rig)
		woken  bool
	}{
		"a busy caller":                {journal.SyncAlways, false, func(*rig) {}, true},
		"a slow device":                {journal.SyncAlways, true, func(s *rig) { s.syncTime.add(time.Second) }, true},
		"before the data is loaded":    {journal.SyncAlways, true, func(s *rig) { s.work.Store(nil) }, true},
		"a policy that does not wait":  {journal.SyncEverySecond, true, func(*rig) {}, false},
		"a policy that never forces":   {journal.SyncNever, true, func(*rig) {}, false},
		"a device that was slow once":  {journal.SyncAlways, false, func(s *rig) { s.syncTime.add(time.Millisecond) }, true},
		"a second caller in its round": {journal.SyncAlways, false, func(s *rig) { s.BeginRound() }, true},
	} {
		s := newRig(t, disktest.New(), c.policy)
		c.before(s)
		lsn := changeInRound(s, c.idle)
		if s.Confirmed(lsn) || awake(s) != c.woken {
			t.Errorf("%s: on the device: %v; whether the committer was woken is not %v", name, s.Confirmed(lsn), c.woken)
		}
	}
}

// A mean forgets.
func TestMeanTimeFollowsTheLastDurations(t *testing.T) {
	var m meanTime
	m.add(8 * time.Second)
	if m.mean() != time.Second {
		t.Errorf("after one of eight seconds: %v", m.mean())
	}
	for range 60 {
		m.add(time.Microsecond)
	}
	if m.mean() > quickSync {
		t.Errorf("after sixty of a microsecond: %v", m.mean())
	}
}
