package hotkeys

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// rig is a tracker whose clock stands until it is moved.
type rig struct {
	*Tracker
	now time.Time
	cpu Processor
}

func start(o Options) *rig {
	r := &rig{now: time.Unix(1000, 0)}
	r.Tracker = Start(o, func() time.Time { return r.now }, func() Processor { return r.cpu })
	return r
}

func (r *rig) call(took time.Duration, bytes int64, keys ...string) {
	r.Add(Call{Keys: len(keys), Key: func(i int) []byte { return []byte(keys[i]) },
		Slot: func(key []byte) int { return int(key[0]) }, Took: took, Bytes: bytes})
}

func TestSharesOfCallsAreThoseOfTheirKeys(t *testing.T) {
	r := start(Options{CPU: true, NET: true, Keys: 2, Sample: 1})
	r.call(9*time.Microsecond, 100, "a")
	r.call(20*time.Microsecond, 60, "b", "c")
	r.call(5*time.Microsecond, 7)
	got := r.Report()
	if want := fmt.Sprint([]Amount{{"b", 10}, {"c", 10}}); fmt.Sprint(got.ByTime) != want {
		t.Errorf("by time: %v, want %v", got.ByTime, want)
	}
	if want := fmt.Sprint([]Amount{{"a", 100}, {"b", 30}}); fmt.Sprint(got.ByBytes) != want {
		t.Errorf("by bytes: %v, want %v", got.ByBytes, want)
	}
	if want := (Totals{34 * time.Microsecond, 167}); got.All != want {
		t.Errorf("all: %v, want %v", got.All, want)
	}
}

func TestHotKeyAmongManyIsFoundWithAFewCounters(t *testing.T) {
	const calls = 20000
	r, random := start(Options{NET: true, Keys: 2, Sample: 1}), rand.New(rand.NewPCG(1, 2))
	exact := map[string]int64{}
	for i := range calls {
		key := fmt.Sprint("cold", random.IntN(calls))
		if i%8 == 0 {
			key = "hot"
		}
		exact[key] += 10
		r.call(time.Microsecond, 10, key)
	}
	if n := len(r.bytes.heap); n != 2*spread {
		t.Errorf("%d counters, want %d", n, 2*spread)
	}
	top := r.Report().ByBytes[0]
	if top.Key != "hot" || top.N > exact["hot"] || top.N < exact["hot"]-10*calls/(2*spread) {
		t.Errorf("%+v, want hot with %d or a little less", top, exact["hot"])
	}
}

func TestSlotsAndSamplesAreWhatIsLookedAt(t *testing.T) {
	r := start(Options{NET: true, Keys: 8, Sample: 2, Slots: []int{'a'}})
	for range 4 {
		r.call(time.Microsecond, 10, "apple")
		r.call(time.Microsecond, 10, "apple")
		r.call(time.Microsecond, 10, "berry")
		r.call(time.Microsecond, 10, "berry")
	}
	got := r.Report()
	if got.All.Bytes != 160 || got.Selected.Bytes != 80 || got.Sampled.Bytes != 40 {
		t.Errorf("%d bytes, %d selected, %d sampled; want 160, 80, 40", got.All.Bytes, got.Selected.Bytes, got.Sampled.Bytes)
	}
	if want := fmt.Sprint([]Amount{{"apple", 40}}); fmt.Sprint(got.ByBytes) != want {
		t.Errorf("%v, want %v", got.ByBytes, want)
	}
}

func TestTrackerStopsWhenItsTimeHasCome(t *testing.T) {
	r := start(Options{CPU: true, Keys: 1, Sample: 1, Duration: 3 * time.Second})
	r.now = r.now.Add(2 * time.Second)
	r.cpu = Processor{User: time.Second}
	r.call(time.Microsecond, 1, "early")
	r.now = r.now.Add(2 * time.Second)
	r.call(time.Second, 1, "late")
	got := r.Report()
	if got.Active || got.Lasted != 3*time.Second || got.ByTime[0].Key != "early" || got.Processor.User != time.Second {
		t.Errorf("%+v", got)
	}
	if r.Stop() {
		t.Error("it could be stopped twice")
	}
	r.cpu.User = time.Minute
	if got := r.Report().Processor.User; got != time.Second {
		t.Errorf("the process took %v after the end", got)
	}
}

func TestLongKeyIsNotKept(t *testing.T) {
	r := start(Options{NET: true, Keys: 1, Sample: 1})
	r.call(time.Microsecond, 1000, string(make([]byte, MaxKey+1)))
	r.call(time.Microsecond, 1, "short")
	if got := r.Report().ByBytes; len(got) != 1 || got[0].Key != "short" {
		t.Errorf("%v", got)
	}
}
