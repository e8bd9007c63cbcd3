package persistence

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/placemap"
	"github.com/vigildb/vigil/structures/schedule"
)

// The store in testdata/format3-schedules is as that in format3, and has schedules with groups, deadlines, a budget,
// signals, pauses and what was known before, and placement maps with objects, nested domains and sets. It is written
// anew, which a new format alone may ask for, by
//
//	go test ./persistence -run TestGoldenSchedules -golden
const goldenSchedules = "testdata/format3-schedules"

const goldenNodes = 60

func goldenNode(i int) []byte { return fmt.Append(nil, "http://h", i%4, "/", i) }

func makeGoldenSchedules(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	cfg := schedule.DefaultConfig()
	cfg.ByHost, cfg.Budget, cfg.Seed = true, 2.5, 7
	fresh := schedule.New(tx.HashKeys().Fields)
	must := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	must(fresh.Create(nil, cfg, goldenNow))
	Replace(tx, []byte(prefix+"crawl"), fresh, NoExpiry)
	s, ch, _, err := Edit[*schedule.Schedule](tx, []byte(prefix+"crawl"), nil)
	must(err)
	for i := range goldenNodes {
		p := scheduler.DefaultParams()
		p.Rate, p.Cost, p.Precision, p.Recall = .01*float64(1+i), 1+float64(i%3)/2, .5, .75
		if i%10 == 0 {
			p.Deadline = 500
		}
		_, err := s.Add(ch, goldenNode(i), p, goldenNow)
		must(err, s.SetGroup(ch, goldenNode(i), []byte(schedule.HostOf(goldenNode(i))), goldenNow),
			s.SetPast(ch, goldenNode(i), schedule.Past{Age: int64(i), Probes: 3, Items: 2}, goldenNow))
	}
	gap, rest := int64(1000), int64(500)
	must(s.Limit(ch, []byte("h1"), &gap, nil, nil, nil, goldenNow), s.Limit(ch, []byte("h2"), nil, &rest, nil, nil, goldenNow),
		s.Hold(ch, []byte("h3"), 1e12, goldenNow))
	_, err = s.Pause(ch, goldenNode(4), 0, goldenNow)
	must(err)
	_, err = s.Signal(ch, goldenNode(8), .5, 0, goldenNow)
	must(err)
	_, err = s.Next(ch, 3, goldenNow, 1e12, schedule.NamesOnly)
	must(err)

	for name, o := range map[string]placement.Options{"bounded": {Seed: 3, Bound: .25, Spread: 2}, "sets": {Seed: 3, Scatter: 2}, "jumpback": {Strategy: "jumpback"}} {
		m, err := placemap.New(o)
		must(err)
		for i := range 6 {
			_, err := m.Set(nil, []placement.Unit{{Name: fmt.Sprint("u", i), Capacity: 1, Domain: fmt.Sprint("room", i%3, "/rack", i)}})
			must(err)
		}
		Replace(tx, []byte(prefix+name), m, NoExpiry)
	}
	m, mch, _, err := Edit[*placemap.Map](tx, []byte(prefix+"bounded"), nil)
	must(err)
	_, _, err = m.Assign(mch, []uint64{1, 1 << 20, 1 << 40, 1 << 60, 7}, nil)
	must(err)
	_, err = m.Release(mch, []uint64{7})
	must(err)
}

func TestGoldenSchedules(t *testing.T) {
	testGolden(t, goldenSchedules, makeGoldenSchedules, checkGoldenSchedules)
}

// scheduleFields is a list of fields by name.
func scheduleFields(list []schedule.Field) map[string]string {
	out := map[string]string{}
	for _, f := range list {
		out[f.Name] = fmt.Sprint(f.Value)
	}
	return out
}

func checkGoldenSchedules(t *testing.T, tx *Tx, prefix string) {
	t.Helper()
	s, _, err := View[*schedule.Schedule](tx, []byte(prefix+"crawl"))
	if err != nil || s.Groups() != 4 {
		t.Fatalf("%s: %v", prefix, err)
	}
	expect := func(what string, list []schedule.Field, err error, want map[string]string) {
		t.Helper()
		got := scheduleFields(list)
		for name, value := range want {
			if err != nil || got[name] != value {
				t.Errorf("%s%s: %s is %q, want %q; %v", prefix, what, name, got[name], value, err)
			}
		}
	}
	expect("crawl", s.Info(goldenNow), nil, map[string]string{"nodes": fmt.Sprint(goldenNodes), "budget": "2.5", "deadlines": "6"})
	node := func(i int, want map[string]string) {
		t.Helper()
		list, err := s.Node(goldenNode(i), goldenNow)
		expect(string(goldenNode(i)), list, err, want)
	}
	node(4, map[string]string{"paused-ms": "-1", "group": "h0", "deadline": "0", "rate": "0.05", "cost": "1.5"})
	node(8, map[string]string{"paused-ms": "0", "signals": "1", "precision": "0.5", "nats": "0.6931471805599453"})
	node(50, map[string]string{"deadline": "500", "group": "h2", "probes": "3", "items": "2"})
	group := func(name string, want map[string]string) {
		t.Helper()
		list, err := s.Group([]byte(name), goldenNow)
		expect(name, list, err, want)
	}
	group("h1", map[string]string{"nodes": "15", "gap": "1000", "rest": "0"})
	group("h2", map[string]string{"nodes": "15", "rest": "500"})
	group("h3", map[string]string{"nodes": "15", "leased": "0", "open-in-ms": "1000000000000"})

	m, _, err := View[*placemap.Map](tx, []byte(prefix+"bounded"))
	if err != nil || m.State().Map.Assigned() != 4 || !m.State().Map.IsAssigned(1<<60) || m.State().Map.IsAssigned(7) || m.State().Domains != 6 {
		t.Errorf("%sbounded: %v", prefix, err)
	}
	sets, _, err := View[*placemap.Map](tx, []byte(prefix+"sets"))
	if err != nil || sets.State().Map.Sets() != 2 {
		t.Errorf("%ssets: %v", prefix, err)
	}
	back, _, err := View[*placemap.Map](tx, []byte(prefix+"jumpback"))
	if err != nil || back.State().Map.Locate(placement.Mix(5)) < 0 {
		t.Errorf("%sjumpback: %v", prefix, err)
	}
}
