package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

var testKey = structures.NewHashKey([16]byte{1})

func make1(t testing.TB, change func(*Config), nodes ...string) *Schedule {
	t.Helper()
	s := New(testKey)
	c := DefaultConfig()
	if change != nil {
		change(&c)
	}
	if err := s.Create(nil, c, 1000); err != nil {
		t.Fatal(err)
	}
	for i, name := range nodes {
		p := scheduler.DefaultParams()
		p.Rate, p.Decay = 1/float64(i+2), .3
		if created, err := s.Add(nil, []byte(name), p, 1000); err != nil || !created {
			t.Fatalf("Add %s: %v %v", name, created, err)
		}
	}
	return s
}

func next(t testing.TB, s *Schedule, count int, now, lease int64) []string {
	t.Helper()
	picks, err := s.Next(nil, count, now, lease, NamesOnly)
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	return namesOf(picks)
}

func namesOf(picks []Pick) []string {
	names := []string{}
	for _, p := range picks {
		names = append(names, p.Node)
	}
	return names
}

func field(t testing.TB, fields []Field, name string) any {
	t.Helper()
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	t.Fatalf("no field %s in %v", name, fields)
	return nil
}

func node(t testing.TB, s *Schedule, name, what string, now int64) any {
	t.Helper()
	fields, err := s.Node([]byte(name), now)
	if err != nil {
		t.Fatalf("Node %s: %v", name, err)
	}
	return field(t, fields, what)
}

// encoding is head and pages in one.
func encoding(s *Schedule) []byte {
	out := s.AppendHead(nil)
	s.Pages(true, func(id uint64, page []byte) {
		out = append(fmt.Appendf(out, "|%d|", id), page...)
	})
	return out
}

func TestLeasedNodesAreHiddenUntilObserved(t *testing.T) {
	s := make1(t, nil, "a", "b", "c")
	if got := next(t, s, 2, 1000, 500); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("first: %v", got)
	}
	if got := next(t, s, 2, 1000, 500); !slices.Equal(got, []string{"c"}) {
		t.Fatalf("second: %v", got)
	}
	if got := next(t, s, 2, 1000, 500); len(got) != 0 {
		t.Fatalf("all leased: %v", got)
	}
	if err := s.Observe(nil, []byte("b"), 3, 1100); err != nil {
		t.Fatal(err)
	}
	if got := next(t, s, 2, 1100, 500); !slices.Equal(got, []string{"b"}) {
		t.Fatalf("after OBSERVE: %v", got)
	}
}

func TestAgeAfterFailAndAfterALostLeaseIsAsBefore(t *testing.T) {
	s := make1(t, nil, "a")
	for range 4 {
		next(t, s, 1, 1000, 50)
	}
	if got := node(t, s, "a", "age", 1000); got != int64(5) {
		t.Errorf("leased: age %v, want 5", got)
	}
	if err := s.Fail(nil, []byte("a"), 1001); err != nil {
		t.Fatal(err)
	}
	if got := next(t, s, 1, 1002, 50); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("after FAIL: %v", got)
	}
	if got := node(t, s, "a", "age", 1002); got != int64(6) {
		t.Errorf("after FAIL: age %v, want 6", got)
	}
	// The lease ends at 1052: at that millisecond the node is free.
	if got := next(t, s, 1, 1051, 50); len(got) != 0 {
		t.Fatalf("before the end: %v", got)
	}
	picks, err := s.Next(nil, 1, 1052, 50, WithStats)
	if err != nil || len(picks) != 1 || picks[0].Age != 7 {
		t.Fatalf("at the end: %v %v, want age 7", picks, err)
	}
}

func TestAgeAfterObserveCountsFromTheStepOfNext(t *testing.T) {
	s := make1(t, nil, "a")
	next(t, s, 1, 1000, 1000)
	for range 3 {
		next(t, s, 1, 1000, 1000) // steps pass while the worker works
	}
	if err := s.Observe(nil, []byte("a"), 0, 1000); err != nil {
		t.Fatal(err)
	}
	if got := node(t, s, "a", "age", 1000); got != int64(4) {
		t.Errorf("age %v, want 4: probed in step 1, next is step 5", got)
	}
}

func TestLeaseOfZeroTakesTheProbeAsDone(t *testing.T) {
	s := make1(t, nil, "a", "b")
	for i, want := range []string{"a", "b", "a"} {
		if got := next(t, s, 1, 1000, 0); !slices.Equal(got, []string{want}) {
			t.Errorf("call %d: %v, want %s", i, got, want)
		}
	}
	if err := s.Observe(nil, []byte("a"), 1, 1000); !errors.Is(err, ErrNotLeased) {
		t.Errorf("OBSERVE: %v", err)
	}
}

func TestWallClockGivesAgesInRealTime(t *testing.T) {
	s := make1(t, func(c *Config) { c.StepMillis = 100 }, "a", "b")
	if got := next(t, s, 1, 1000, 0); !slices.Equal(got, []string{"a"}) || s.Step() != 1 {
		t.Fatalf("at creation: %v in step %d, want a in step 1", got, s.Step())
	}
	picks, err := s.Next(nil, 2, 2050, 0, WithStats)
	if err != nil || s.Step() != 11 {
		t.Fatalf("1050 ms later: step %d, %v, want 11", s.Step(), err)
	}
	if picks[0].Node != "a" || picks[0].Age != 10 || picks[1].Age != 11 {
		t.Errorf("picks %v, want a of age 10 and b of age 11", picks)
	}
	if got := next(t, s, 2, 2060, 0); len(got) != 0 {
		t.Errorf("again in the same step: %v, want none: all ages are 0", got)
	}
	// A node added later has age 1, whatever the time of the last NEXT.
	if _, err := s.Add(nil, []byte("late"), scheduler.DefaultParams(), 9000); err != nil {
		t.Fatal(err)
	}
	if got := node(t, s, "late", "age", 9000); got != int64(1) {
		t.Errorf("age of a new node: %v, want 1", got)
	}
}

func TestTimeNeverRunsBackwards(t *testing.T) {
	s := make1(t, func(c *Config) { c.StepMillis = 100 }, "a", "b")
	next(t, s, 1, 5000, 300)
	if got := next(t, s, 2, 1000, 0); len(got) != 1 || s.Step() != 41 {
		t.Errorf("clock set back: %v in step %d, want b in step 41", got, s.Step())
	}
	// A PEEK that saw the end of the lease is not undone by an earlier NEXT.
	if picks, _ := s.Peek(2, 5301, NamesOnly); !slices.Contains(namesOf(picks), "a") {
		t.Errorf("PEEK after the lease: %v", picks)
	}
	if got := next(t, s, 2, 5200, 0); !slices.Contains(got, "a") {
		t.Errorf("NEXT at an earlier time than PEEK: %v", got)
	}
	if got := next(t, s, 1, math.MinInt64, 0); s.Step() != 44 {
		t.Errorf("lowest time: %v in step %d", got, s.Step())
	}
	if _, err := s.Next(nil, 1, math.MaxInt64, 0, NamesOnly); err != nil {
		t.Errorf("greatest time: %v", err)
	}
}

func TestPeekAnswersWhatNextWillAndChangesNothing(t *testing.T) {
	for _, spec := range scheduler.Policies() {
		s := make1(t, func(c *Config) { c.Policy, c.Explore, c.Seed = spec.Name, .3, 7 }, "a", "b", "c", "d", "e", "f")
		for i := range 50 {
			before := encoding(s)
			picks, err := s.Peek(2, 2000, WithStats)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(picks)
			if !bytes.Equal(before, encoding(s)) {
				t.Fatalf("%s: PEEK changed the schedule", spec.Name)
			}
			got, _ := s.Next(nil, 2, 2000, int64(i%2), WithStats)
			if !slices.Equal(got, want) {
				t.Fatalf("%s call %d: PEEK %v, NEXT %v", spec.Name, i, want, got)
			}
			for _, name := range namesOf(got) {
				_ = s.Observe(nil, []byte(name), 1, 2000)
			}
		}
	}
}

func TestPicksAreTheSameWithoutStats(t *testing.T) {
	for _, spec := range scheduler.Policies() {
		s := make1(t, func(c *Config) { c.Policy, c.Seed = spec.Name, 7 }, "a", "b", "c", "d", "e")
		for range 30 {
			told, _ := s.Peek(3, 2000, WithStats)
			told = slices.Clone(told)
			bare, _ := s.Peek(3, 2000, NamesOnly)
			if !slices.Equal(namesOf(told), namesOf(bare)) {
				t.Fatalf("%s: %v with stats, %v without", spec.Name, told, bare)
			}
			for i, p := range bare {
				if p.Age != 0 || p.Index != 0 || told[i].Age < 1 {
					t.Fatalf("%s: %v with stats, %v without", spec.Name, told, bare)
				}
			}
			next(t, s, 2, 2000, 0)
		}
	}
}

func TestErrorsLeaveTheScheduleUnchanged(t *testing.T) {
	s := make1(t, nil, "a", "b")
	next(t, s, 1, 1000, 500)
	before := encoding(s)
	bad := scheduler.DefaultParams()
	bad.Rate = math.NaN()
	long := bytes.Repeat([]byte("x"), MaxName+1)
	lspe := make1(t, func(c *Config) { c.Policy = "lspe" })
	ch := new(structures.Change)
	try := func(err error) error { return err }
	second := func(_ any, err error) error { return err }
	for name, tc := range map[string]struct{ got, want error }{
		"create twice":          {s.Create(ch, DefaultConfig(), 1), ErrExists},
		"observe unknown":       {s.Observe(ch, []byte("x"), 1, 1000), ErrNoNode},
		"observe free":          {s.Observe(ch, []byte("b"), 1, 1000), ErrNotLeased},
		"observe NaN":           {s.Observe(ch, []byte("a"), math.NaN(), 1000), ErrItems},
		"observe negative":      {s.Observe(ch, []byte("a"), -1, 1000), ErrItems},
		"observe infinite":      {s.Observe(ch, []byte("a"), math.Inf(1), 1000), ErrItems},
		"observe too much":      {s.Observe(ch, []byte("a"), 1e16, 1000), ErrItems},
		"observe after the end": {s.Observe(ch, []byte("a"), 1, 1500), ErrNotLeased},
		"fail after the end":    {s.Fail(ch, []byte("a"), 1500), ErrNotLeased},
		"fail unknown":          {s.Fail(ch, []byte("x"), 1000), ErrNoNode},
		"count negative":        {second(s.Next(ch, -1, 1000, -1, NamesOnly)), ErrCount},
		"count too great":       {second(s.Next(ch, MaxCount+1, 1000, -1, NamesOnly)), ErrCount},
		"peek count":            {second(s.Peek(-1, 1000, NamesOnly)), ErrCount},
		"lease too long":        {second(s.Next(ch, 1, 1000, MaxMillis+1, NamesOnly)), ErrLease},
		"rate NaN":              {second(s.Add(ch, []byte("c"), bad, 1)), scheduler.ErrNumber},
		"zero params":           {second(s.Add(ch, []byte("c"), scheduler.Params{}, 1)), scheduler.ErrCost},
		"long name":             {second(s.Add(ch, long, scheduler.DefaultParams(), 1)), ErrName},
		"no decay":              {second(lspe.Add(ch, []byte("a"), scheduler.DefaultParams(), 1)), scheduler.ErrDecay},
		"node unknown":          {second(s.Node([]byte("x"), 1)), ErrNoNode},
		"not created add":       {second(New(testKey).Add(ch, []byte("a"), scheduler.DefaultParams(), 1)), ErrNotCreated},
		"not created next":      {second(New(testKey).Next(ch, 1, 1, 1, NamesOnly)), ErrNotCreated},
		"not created observe":   {try(New(testKey).Observe(ch, nil, 1, 1)), ErrNotCreated},
	} {
		if !errors.Is(tc.got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, tc.got, tc.want)
		}
	}
	if s.Remove(ch, []byte("x")) {
		t.Error("removed a node that is not there")
	}
	if ch.Len() != 0 {
		t.Errorf("%d bytes recorded", ch.Len())
	}
	if !bytes.Equal(before, encoding(s)) {
		t.Error("the schedule changed")
	}
}

func TestBadConfigurationsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Config)
		want   error
	}{
		"policy":         {func(c *Config) { c.Policy = "best" }, scheduler.ErrPolicy},
		"estimator":      {func(c *Config) { c.Estimator = "oracle" }, scheduler.ErrEstimator},
		"probes 0":       {func(c *Config) { c.Probes = 0 }, ErrCount},
		"probes many":    {func(c *Config) { c.Probes = MaxCount + 1 }, ErrCount},
		"window 0":       {func(c *Config) { c.Window = 0 }, ErrWindow},
		"window NaN":     {func(c *Config) { c.Window = math.NaN() }, ErrWindow},
		"step negative":  {func(c *Config) { c.StepMillis = -1 }, ErrStepMillis},
		"lease negative": {func(c *Config) { c.LeaseMillis = -1 }, ErrLease},
		"explore":        {func(c *Config) { c.Explore = 1.1 }, ErrExplore},
		"explore NaN":    {func(c *Config) { c.Explore = math.NaN() }, ErrExplore},
	} {
		c := DefaultConfig()
		tc.change(&c)
		s := New(testKey)
		if err := s.Create(nil, c, 1); !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
		if err := s.Create(nil, DefaultConfig(), 1); err != nil {
			t.Errorf("%s: after the refusal: %v", name, err)
		}
	}
}

func TestAddToAnExistingNodeKeepsWhatWasLearnt(t *testing.T) {
	s := make1(t, nil, "a")
	next(t, s, 1, 1000, 500)
	if err := s.Observe(nil, []byte("a"), 5, 1000); err != nil {
		t.Fatal(err)
	}
	p, ok := s.Params([]byte("a"))
	if !ok || p.Decay != .3 {
		t.Fatalf("Params: %v %v", p, ok)
	}
	p.Weight = 9
	if created, err := s.Add(nil, []byte("a"), p, 1000); created || err != nil {
		t.Fatalf("second Add: %v %v", created, err)
	}
	if got := node(t, s, "a", "items", 1000); got != 5.0 {
		t.Errorf("items %v, want 5", got)
	}
	if got := node(t, s, "a", "weight", 1000); got != 9.0 {
		t.Errorf("weight %v, want 9", got)
	}
	if p, ok := s.Params([]byte("x")); ok || p != scheduler.DefaultParams() {
		t.Errorf("Params of an unknown node: %v %v", p, ok)
	}
}

func TestScanVisitsEveryStayingNodeOnce(t *testing.T) {
	s := make1(t, nil)
	for i := range 500 {
		if _, err := s.Add(nil, fmt.Appendf(nil, "n%d", i), scheduler.DefaultParams(), 1); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	round := 0
	structurestest.Scan(t, func(cursor uint64) uint64 {
		if cursor = s.Scan(cursor, 7, func(name string) { seen[name]++ }); cursor != 0 {
			s.Remove(nil, fmt.Appendf(nil, "n%d", 3*round))
			round++
		}
		return cursor
	})
	for i := range 500 {
		if name := fmt.Sprintf("n%d", i); i%3 != 0 && seen[name] != 1 {
			t.Errorf("%s visited %d times", name, seen[name])
		}
	}
	for _, cursor := range []uint64{uint64(s.table.Len()), 1 << 40, math.MaxUint64} {
		if got := s.Scan(cursor, 10, func(string) { t.Error("visited") }); got != 0 {
			t.Errorf("cursor %d: %d", cursor, got)
		}
	}
}

func TestExploreLooksAtNodesThePolicyGaveUp(t *testing.T) {
	s := make1(t, func(c *Config) { c.Estimator, c.Explore = "fixed", .5 }, "a", "b")
	p := scheduler.DefaultParams()
	p.Rate = 0
	if _, err := s.Add(nil, []byte("zero"), p, 1); err != nil {
		t.Fatal(err)
	}
	found := 0
	for range 300 {
		if slices.Contains(next(t, s, 1, 1000, 0), "zero") {
			found++
		}
	}
	if found < 20 || found > 90 {
		t.Errorf("the node of rate 0 was looked at %d times of 300, want about 50", found)
	}
}

func TestInfoCountsCallsAndLeases(t *testing.T) {
	s := make1(t, nil, "a", "b", "c")
	next(t, s, 2, 1000, 500)
	if err := s.Observe(nil, []byte("a"), 1, 1000); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"policy": "index", "estimator": "change", "nodes": int64(3), "leased": int64(1),
		"step": int64(1), "handed-out": int64(2), "observed": int64(1), "failed": int64(0), "clock": "step"} {
		if got := field(t, s.Info(1000), name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := field(t, s.Info(1500), "leased"); got != int64(0) {
		t.Errorf("leased after the end: %v", got)
	}
}
