package schedule

import (
	"errors"
	"slices"
	"testing"
)

func peeked(t *testing.T, s *Schedule, now int64) []string {
	t.Helper()
	picks, err := s.Peek(10, now, NamesOnly)
	if err != nil {
		t.Fatal(err)
	}
	return namesOf(picks)
}

func pause(t *testing.T, s *Schedule, node string, millis, now int64) {
	t.Helper()
	if known, err := s.Pause(nil, []byte(node), millis, now); !known || err != nil {
		t.Fatalf("Pause: %v %v", known, err)
	}
}

func TestAPausedNodeIsNotHandedOutUntilThePauseEnds(t *testing.T) {
	for name, c := range map[string]struct {
		millis int64
		end    func(s *Schedule) (now int64)
	}{
		"by time":      {500, func(*Schedule) int64 { return 1500 }},
		"by RESUME":    {0, func(s *Schedule) int64 { _, _ = s.Resume(nil, []byte("a"), 1100); return 1100 }},
		"by a new one": {0, func(s *Schedule) int64 { _, _ = s.Pause(nil, []byte("a"), 5, 1100); return 1105 }},
	} {
		t.Run(name, func(t *testing.T) {
			s := pages(t, DefaultConfig(), "a", "b")
			pause(t, s, "a", c.millis, 1000)
			if got := peeked(t, s, 1499); c.millis > 0 && !slices.Equal(got, []string{"b"}) {
				t.Errorf("%v while a is paused", got)
			}
			s = reload(t, s)
			if got := peeked(t, s, 1000); c.millis == 0 && !slices.Equal(got, []string{"b"}) {
				t.Errorf("%v after a restart", got)
			}
			if got := peeked(t, s, c.end(s)); !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("%v after the pause", got)
			}
		})
	}
}

// Whichever of a lease and a pause ends first, the node stays hidden for the other.
func TestLeaseAndPauseOfANodeEndApart(t *testing.T) {
	for _, c := range []struct{ lease, pause int64 }{{100, 300}, {300, 100}, {200, 200}} {
		s := pages(t, DefaultConfig(), "a")
		handOut(t, s, 1000, c.lease)
		pause(t, s, "a", c.pause, 1000)
		for _, now := range []int64{1099, 1100, 1199, 1200, 1299, 1300} {
			free := now >= 1000+max(c.lease, c.pause)
			if got := peeked(t, reload(t, s), now); (len(got) == 1) != free {
				t.Errorf("lease %d, pause %d: %v at %d", c.lease, c.pause, got, now)
			}
		}
	}
	s := pages(t, DefaultConfig(), "a")
	handOut(t, s, 1000, 500)
	pause(t, s, "a", 0, 1000)
	if err := s.Observe(nil, []byte("a"), 1, 1100); err != nil {
		t.Errorf("OBSERVE of a paused node: %v", err)
	}
	if got := peeked(t, s, 1200); len(got) != 0 {
		t.Errorf("%v is free after OBSERVE amid a pause", got)
	}
}

func TestTakeLeasesOnlyWhatIsFree(t *testing.T) {
	s := pages(t, DefaultConfig(), "a", "b", "c", "d")
	handOut(t, s, 1000, 500)
	pause(t, s, "b", 0, 1000)
	step := s.Step()
	nodes := [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("nosuch"), []byte("c"), []byte("d")}
	places, err := s.Take(nil, nodes, 300, 1000)
	if err != nil || !slices.Equal(places, []int{2, 5}) || s.Step() != step {
		t.Errorf("took %v in step %d, %v", places, s.Step(), err)
	}
	if err := s.Observe(nil, []byte("c"), 1, 1200); err != nil {
		t.Errorf("OBSERVE of a node that was taken: %v", err)
	}
	if again, err := s.Take(nil, nodes, 300, 1200); err != nil || !slices.Equal(again, []int{2}) {
		t.Errorf("took %v again, %v", again, err)
	}
}

func TestPausesThatCannotBeChangeNothing(t *testing.T) {
	s := pages(t, DefaultConfig(), "a")
	before := string(encoding(s))
	for _, millis := range []int64{-1, MaxMillis + 1} {
		if _, err := s.Pause(nil, []byte("a"), millis, 1000); !errors.Is(err, ErrPause) {
			t.Errorf("Pause for %d: %v", millis, err)
		}
		if _, err := s.Take(nil, [][]byte{[]byte("a")}, millis, 1000); !errors.Is(err, ErrLease) {
			t.Errorf("Take for %d: %v", millis, err)
		}
	}
	if known, err := s.Pause(nil, []byte("b"), 1, 1000); known || err != nil {
		t.Errorf("an unknown node was paused: %v", err)
	}
	if paused, err := s.Resume(nil, []byte("a"), 1000); paused || err != nil {
		t.Errorf("a node that is not paused was resumed: %v", err)
	}
	if string(encoding(s)) != before {
		t.Error("the schedule has changed")
	}
}
