package persistence

import (
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence/disktest"
)

// roundStore is a store whose tasks make no steps of their own.
func roundStore(t *testing.T, policy SyncPolicy) *Store {
	t.Helper()
	s := openMemory(t, Options{FS: disktest.New(), Sync: policy, IdleAfter: -1, Background: func(Task) {}})
	t.Cleanup(func() { closeStore(t, s) })
	select {
	case <-s.journal.Wake():
	default:
	}
	return s
}

// awake reports whether the committer has work, which it would begin now.
func awake(s *Store) bool {
	select {
	case <-s.journal.Wake():
		return true
	default:
		return false
	}
}

func changeInRound(s *Store, idle bool) (lsn uint64) {
	s.BeginRound()
	lsn = all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), []byte("v"), NoExpiry) })
	s.EndRound(idle)
	return lsn
}

// Under always a goroutine that would only wait writes what it has changed itself, when its round ends.
func TestRoundOfAnIdleCallerEndsOnTheDevice(t *testing.T) {
	s := roundStore(t, SyncAlways)
	told := error(ErrClosed)
	s.BeginRound()
	lsn := all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), []byte("v"), NoExpiry) })
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
		policy SyncPolicy
		idle   bool
		before func(s *Store)
		woken  bool
	}{
		"a busy caller":                {SyncAlways, false, func(*Store) {}, true},
		"a slow device":                {SyncAlways, true, func(s *Store) { s.syncTime.add(time.Second) }, true},
		"a step that is made":          {SyncAlways, true, func(s *Store) { s.committing.Load().mu.Lock() }, true},
		"before the data is loaded":    {SyncAlways, true, func(s *Store) { s.committing.Store(nil) }, true},
		"a policy that does not wait":  {SyncEverySecond, true, func(*Store) {}, false},
		"a policy that never forces":   {SyncNever, true, func(*Store) {}, false},
		"a device that was slow once":  {SyncAlways, false, func(s *Store) { s.syncTime.add(time.Millisecond) }, true},
		"a second caller in its round": {SyncAlways, false, func(s *Store) { s.BeginRound() }, true},
	} {
		s := roundStore(t, c.policy)
		task := s.committing.Load()
		c.before(s)
		lsn := changeInRound(s, c.idle)
		if name == "a step that is made" {
			task.mu.Unlock()
		}
		s.committing.Store(task)
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
