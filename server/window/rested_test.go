package window

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

// slowly makes every look take so long, without anybody waiting.
func slowly[K comparable, V any](r *rested[K, V], took time.Duration) {
	var now time.Time
	r.watch = func() time.Time {
		now = now.Add(took)
		return now
	}
}

func TestWhatTookLongIsShownAgainForLonger(t *testing.T) {
	r := newRested[string, int]()
	slowly(r, 50*time.Millisecond)
	looks := 0
	look := func(now time.Time) int {
		t.Helper()
		f, err := r.get("k", now, func() (int, error) { looks++; return looks, nil })
		if err != nil {
			t.Fatal(err)
		}
		return f.value
	}
	began := time.Unix(1e9, 0)
	for _, step := range []struct {
		at   time.Duration
		want int
	}{{0, 1}, {9 * time.Second, 1}, {10 * time.Second, 2}, {19 * time.Second, 2}, {-time.Hour, 3}} {
		if got := look(began.Add(step.at)); got != step.want {
			t.Errorf("at %v: got the finding %d, want %d", step.at, got, step.want)
		}
	}
	broken := errors.New("broken")
	for range 2 {
		if _, err := r.get("other", began, func() (int, error) { return 0, broken }); !errors.Is(err, broken) {
			t.Errorf("an error is remembered as %v", err)
		}
	}
	for i := range 3 * maxFindings {
		if _, err := r.get(strconv.Itoa(i), began.Add(time.Duration(i)), func() (int, error) { return i, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := r.of[strconv.Itoa(3*maxFindings-1)]; !ok || len(r.of) > maxFindings {
		t.Errorf("%d findings are remembered, the last %t; want %d and it", len(r.of), ok, maxFindings)
	}
}

// TestPagesOfWhatTakesLongLeaveTheServerAlone opens pages again and again, as the
// script in them does, while each finding takes a tenth of a second.
func TestPagesOfWhatTakesLongLeaveTheServerAlone(t *testing.T) {
	r := newRig(t)
	r.must("SCHED.CREATE crawl")
	r.must("SCHED.ADD crawl a b c")
	r.must("PLACE.CREATE map")
	r.must("PLACE.SET map u1 1 u2 2")
	slowly(r.w.keys, 100*time.Millisecond)
	slowly(r.w.schedules, 100*time.Millisecond)
	slowly(r.w.maps, 100*time.Millisecond)
	r.get("/metrics") // which finds both
	for range 12 {
		r.later(4 * time.Second)
		for _, c := range []struct{ path, want string }{
			{"/schedules?key=crawl", "crawl"},
			{"/placement?key=map&change=set&unit=u3&capacity=3", "would move"},
			{"/metrics", "vigil_schedule_nodes"},
		} {
			_, body := r.ask(request(c.path))
			wants(t, c.path, body, c.want)
		}
	}
	// 48 s are over, and each finding is good for 20.
	for command, want := range map[string]float64{"sched.peek": 3, "place.units": 3, "place.preview": 3} {
		if got := r.calls(command); got != want {
			t.Errorf("%s was called %v times, want %v", command, got, want)
		}
	}
	for _, c := range []struct {
		after time.Duration
		old   bool
	}{{time.Hour, false}, {lookShown - time.Second, false}, {time.Second, true}, {time.Hour, false}} {
		r.later(c.after)
		if _, body := r.ask(request("/schedules?key=crawl")); strings.Contains(body, "Details are those of") != c.old {
			t.Errorf("after %v more: details are said to be old: %t, want %t", c.after, !c.old, c.old)
		}
	}
}
