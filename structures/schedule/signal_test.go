package schedule

import (
	"context"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// pages is a schedule of the policy freshness with pages of change rate .1, half of
// whose signals are true and half of whose changes are signalled.
func pages(t *testing.T, c Config, names ...string) *Schedule {
	t.Helper()
	c.Policy, c.Estimator = "freshness", "fixed"
	s := New(testKey)
	if err := s.Create(nil, c, 1000); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		p := scheduler.DefaultParams()
		p.Rate, p.Precision, p.Recall = .1, .5, .5
		if _, err := s.Add(nil, []byte(name), p, 1000); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func signal(t *testing.T, s *Schedule, node string, now int64) {
	t.Helper()
	if known, err := s.Signal(nil, []byte(node), scheduler.Unknown, 0, now); !known || err != nil {
		t.Fatalf("Signal: %v %v", known, err)
	}
}

// nats are those of a node, in signals of a precision of 1/2.
func signalsOf(s *Schedule, node string) float64 {
	slot, _ := s.slots.find([]byte(node))
	n := s.table.Node(slot)
	return n.Nats / math.Ln2
}

func handOut(t *testing.T, s *Schedule, now, lease int64) string {
	t.Helper()
	picks, err := s.Next(nil, 1, now, lease, NamesOnly)
	if err != nil || len(picks) != 1 {
		t.Fatalf("Next: %v %v", picks, err)
	}
	return picks[0].Node
}

func TestASignalledNodeComesFirst(t *testing.T) {
	s := pages(t, DefaultConfig(), "a", "b", "c")
	signal(t, s, "c", 1000)
	if got := handOut(t, s, 1000, 1000); got != "c" {
		t.Errorf("%s comes first", got)
	}
}

func TestSignalsDuringALeaseAreOfThePeriodAfterIt(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(s *Schedule)
		want float64
	}{
		"observed":       {func(s *Schedule) { _ = s.Observe(nil, []byte("a"), 1, 1500) }, 3},
		"failed":         {func(s *Schedule) { _ = s.Fail(nil, []byte("a"), 1500) }, 5},
		"out of time":    {func(s *Schedule) { s.setTime(10_000) }, 5},
		"stored between": {func(s *Schedule) { *s = *reload(t, s); _ = s.Observe(nil, []byte("a"), 1, 1500) }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := pages(t, DefaultConfig(), "a")
			signal(t, s, "a", 1000)
			signal(t, s, "a", 1000)
			handOut(t, s, 1000, 1000)
			for range 3 {
				signal(t, s, "a", 1200)
			}
			c.end(s)
			if got := signalsOf(s, "a"); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("%g signals are left, want %g", got, c.want)
			}
		})
	}
}

func reload(t *testing.T, s *Schedule) *Schedule {
	t.Helper()
	disk := store{pages: map[uint64][]byte{}}
	s.MarkAllDirty()
	disk.save(s)
	return disk.load(t)
}

func TestAProbeThatNobodyReportsEndsThePeriodToo(t *testing.T) {
	s := pages(t, DefaultConfig(), "a")
	signal(t, s, "a", 1000)
	handOut(t, s, 1000, 0)
	if got := signalsOf(s, "a"); got != 0 {
		t.Errorf("%g signals are left", got)
	}
}

func TestSignalsInTheQuietTimeAreOldNews(t *testing.T) {
	c := DefaultConfig()
	c.QuietMillis = 300
	s := pages(t, c, "a")
	signal(t, s, "a", 1000) // nobody was handed out yet
	handOut(t, s, 1000, 1000)
	_ = s.Observe(nil, []byte("a"), 1, 1100)
	signal(t, s, "a", 1299)
	if got := signalsOf(s, "a"); got != 0 {
		t.Errorf("%g signals of the quiet time count", got)
	}
	signal(t, s, "a", 1300)
	if got := signalsOf(s, "a"); got != 1 {
		t.Errorf("%g signals count after it", got)
	}
	if _, err := s.Signal(nil, []byte("a"), scheduler.Unknown, 150, 1400); err != nil || signalsOf(s, "a") != 1 {
		t.Errorf("a signal of 150 ms ago counts, which was in the quiet time: %v", err)
	}
}

// By the wall clock the step of the last probe tells which signals it saw.
func TestSignalsFromBeforeTheStepOfTheProbeAreOldNews(t *testing.T) {
	c := DefaultConfig()
	c.StepMillis = 100
	s := pages(t, c, "a")
	handOut(t, s, 2000, 0)
	for ago, want := range map[int64]float64{900: 0, 0: 1} {
		s := reload(t, s)
		if _, err := s.Signal(nil, []byte("a"), scheduler.Unknown, ago, 2800); err != nil {
			t.Fatal(err)
		}
		if got := signalsOf(s, "a"); got != want {
			t.Errorf("%d ms ago: %g signals", ago, got)
		}
	}
}

func TestSignalsThatCannotBeChangeNothing(t *testing.T) {
	s := pages(t, DefaultConfig(), "a")
	before := string(encoding(s))
	for name, c := range map[string]struct {
		node      string
		precision float64
		ago       int64
		known     bool
		err       error
	}{
		"unknown node":     {"b", scheduler.Unknown, 0, false, nil},
		"of the future":    {"a", scheduler.Unknown, -1, false, ErrAgo},
		"of ages ago":      {"a", scheduler.Unknown, MaxMillis + 1, false, ErrAgo},
		"NaN":              {"a", math.NaN(), 0, false, scheduler.ErrShare},
		"above 1":          {"a", 1.01, 0, false, scheduler.ErrShare},
		"never true":       {"a", 0, 0, true, nil},
		"hardly ever true": {"a", .049, 0, true, nil},
	} {
		known, err := s.Signal(nil, []byte(c.node), c.precision, c.ago, 1000)
		if known != c.known || !errors.Is(err, c.err) || string(encoding(s)) != before {
			t.Errorf("%s: known %v, error %v", name, known, err)
		}
	}
	if _, err := New(testKey).Signal(nil, []byte("a"), .5, 0, 1); !errors.Is(err, ErrNotCreated) {
		t.Errorf("before Create: %v", err)
	}
}

// A schedule becomes one of version 2 with its first signal, precision or quiet
// time, and not before.
func TestOnlySignalsNeedVersion2(t *testing.T) {
	c := DefaultConfig()
	s := New(testKey)
	if err := s.Create(nil, c, 1000); err != nil {
		t.Fatal(err)
	}
	_, _ = s.Add(nil, []byte("a"), scheduler.DefaultParams(), 1000)
	if v := s.AppendHead(nil)[0]; v != version {
		t.Errorf("version %d without signals", v)
	}
	s.Pages(true, func(_ uint64, page []byte) {
		if s.SetPage(0, page) != nil {
			t.Error("its page is refused")
		}
	})
	signal(t, s, "a", 1000)
	if v := s.AppendHead(nil)[0]; v != versionSignals {
		t.Errorf("version %d after a signal", v)
	}
	s.version = version
	s.Pages(true, func(_ uint64, page []byte) {
		if s.SetPage(0, page) == nil {
			t.Error("version 1 takes a page with signals")
		}
	})
}

func TestEncodingOfSignalsIsTheOneOnDisk(t *testing.T) {
	c := DefaultConfig()
	c.Policy, c.Seed, c.QuietMillis = "freshness", 7, 250
	s, ch := New(testKey), new(structures.Change)
	if err := s.Create(ch, c, 1_700_000_000_000); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"known", "learnt"} {
		p := scheduler.DefaultParams()
		if i == 0 {
			p.Rate, p.Precision, p.Recall = .25, .5, .75
		}
		if _, err := s.Add(ch, []byte(name), p, 1_700_000_000_100); err != nil {
			t.Fatal(err)
		}
	}
	now := int64(1_700_000_000_200)
	for range 4 {
		now += 1000
		for _, name := range []string{"known", "learnt"} {
			if _, err := s.Signal(ch, []byte(name), scheduler.Unknown, 0, now); err != nil {
				t.Fatal(err)
			}
		}
		picks, err := s.Next(ch, 1, now, 500, NamesOnly)
		if err != nil || len(picks) != 1 {
			t.Fatal(picks, err)
		}
		if now < 1_700_000_004_000 {
			_ = s.Observe(ch, []byte(picks[0].Node), 2, now)
		}
	}
	lines := []string{"head " + hex.EncodeToString(s.AppendHead(nil))}
	s.Pages(true, func(_ uint64, page []byte) { lines = append(lines, "page "+hex.EncodeToString(page)) })
	lines = append(lines, "record "+hex.EncodeToString(ch.Encoded()))
	want, err := os.ReadFile("testdata/golden-signals.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines, "\n") + "\n"; got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// What was learnt is what COST goes by, and its bound is that with signals.
func TestTheBoundOfCostKnowsSignals(t *testing.T) {
	s := pages(t, DefaultConfig(), "a", "b", "c", "d")
	n, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	got, err := n.Cost(context.Background(), 20_000)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := scheduler.SignalsBound(context.Background(), n.nodes, 1)
	if got.Bound != want || !(got.Ratio > .95 && got.Ratio <= 1) || got.Counts != "fresh copies" {
		t.Errorf("%+v, want a bound of %g", got, want)
	}
	deaf := pages(t, DefaultConfig(), "a", "b", "c", "d")
	for i := range 4 {
		p := deaf.table.Node(i)
		p.Recall = 0
		deaf.table.Store(i, &p)
	}
	m, _ := deaf.Snapshot()
	without, err := m.Cost(context.Background(), 20_000)
	if err != nil || !(without.Value < got.Value) {
		t.Errorf("signals earn %g, without %g (%v)", got.Value, without.Value, err)
	}
}
