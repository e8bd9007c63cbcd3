package schedule

import (
	"errors"
	"testing"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// An operation that a change may not have changes nothing, and says why.
func TestOperationsBeyondTheLimitAreRefused(t *testing.T) {
	later := errors.New("later")
	limited := func() *structures.Change {
		ch := new(structures.Change)
		ch.Limit(&structures.Limit{Ops: opFail, Err: later})
		return ch
	}
	known := scheduler.DefaultParams()
	known.Precision = .5
	quiet := DefaultConfig()
	quiet.QuietMillis = 7
	for op, call := range map[byte]func(s *Schedule, ch *structures.Change) error{
		opPut: func(s *Schedule, ch *structures.Change) error {
			checked := s.CheckAdd(ch, []byte("c"), known)
			_, err := s.Add(ch, []byte("c"), known, 5)
			if checked != err {
				t.Errorf("CheckAdd: %v, Add: %v", checked, err)
			}
			return err
		},
		opSignal: func(s *Schedule, ch *structures.Change) error {
			_, err := s.Signal(ch, []byte("a"), .5, 0, 5)
			return err
		},
		opPause: func(s *Schedule, ch *structures.Change) error {
			_, err := s.Pause(ch, []byte("a"), 9, 5)
			return err
		},
		opTake: func(s *Schedule, ch *structures.Change) error {
			_, err := s.Take(ch, [][]byte{[]byte("a")}, 9, 5)
			return err
		},
		opGroup: func(s *Schedule, ch *structures.Change) error { return s.SetGroup(ch, []byte("a"), []byte("g"), 5) },
		opLimit: func(s *Schedule, ch *structures.Change) error {
			return s.Limit(ch, []byte("g"), nil, nil, nil, nil, 5)
		},
		opHold: func(s *Schedule, ch *structures.Change) error { return s.Hold(ch, []byte("g"), 9, 5) },
		opPast: func(s *Schedule, ch *structures.Change) error {
			return s.SetPast(ch, []byte("a"), Past{Age: 3, Probes: -1}, 5)
		},
		opBudget: func(s *Schedule, ch *structures.Change) error { return s.AlterBudget(ch, 3) },
		opPolicy: func(s *Schedule, ch *structures.Change) error { return s.AlterPolicy(ch, "sqrtage") },
		opByHost: func(_ *Schedule, ch *structures.Change) error {
			c := DefaultConfig()
			c.ByHost = true
			return New(testKey).Create(ch, c, 5)
		},
		opAlter: func(s *Schedule, ch *structures.Change) error { return s.Alter(ch, s.Config()) },
		opResume: func(s *Schedule, ch *structures.Change) error {
			_, err := s.Resume(ch, []byte("paused"), 5)
			return err
		},
		opQuiet: func(s *Schedule, ch *structures.Change) error {
			fresh := New(testKey)
			err := fresh.Create(ch, quiet, 5)
			if err != nil && fresh.plan.created() {
				t.Error("a schedule was created that may not be")
			}
			return err
		},
	} {
		s := pages(t, DefaultConfig(), "a", "paused")
		if _, err := s.Pause(nil, []byte("paused"), 1000, 1); err != nil {
			t.Fatal(err)
		}
		before, ch := string(encoding(s)), limited()
		if err := call(s, ch); err != later || ch.Len() > 0 {
			t.Errorf("operation %d: %v, and %d bytes are recorded", op, err, ch.Len())
		}
		if string(encoding(s)) != before {
			t.Errorf("operation %d was refused, and changed the schedule", op)
		}
		ch.Limit(nil)
		if err := call(s, ch); err != nil || ch.Len() == 0 {
			t.Errorf("operation %d without a limit: %v, and %d bytes are recorded", op, err, ch.Len())
		}
	}
}

// What schedules could always do they can within the limit too.
func TestOperationsWithinTheLimitAreRecorded(t *testing.T) {
	s, ch := New(testKey), new(structures.Change)
	ch.Limit(&structures.Limit{Ops: opFail, Err: errors.New("later")})
	if err := s.Create(ch, DefaultConfig(), 1); err != nil {
		t.Error(err)
	}
	if _, err := s.Add(ch, []byte("a"), scheduler.DefaultParams(), 1); err != nil {
		t.Error(err)
	}
	if _, err := s.Next(ch, 1, 2, 50, NamesOnly); err != nil {
		t.Error(err)
	}
	if err := s.Fail(ch, []byte("a"), 3); err != nil {
		t.Error(err)
	}
	copied := New(testKey)
	replay(t, copied, ch.Encoded())
	if string(encoding(s)) != string(encoding(copied)) {
		t.Error("replay differs")
	}
	if s.Form() != 0 {
		t.Errorf("form %d of a schedule without signals", s.Form())
	}
}
