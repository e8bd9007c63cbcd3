package schedule

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// A schedule that was altered picks as one that was created so, and has kept what it
// learnt.
func TestAnAlteredSchedulePicksAsOneCreatedSo(t *testing.T) {
	for _, policy := range []string{"index", "stride", "cyclic", "memoryless", "thompson"} {
		c := DefaultConfig()
		c.Policy, c.Seed = policy, 3
		s, ch := New(testKey), new(structures.Change)
		if err := s.Create(ch, c, 900); err != nil {
			t.Fatal(err)
		}
		play(t, s, ch, rand.New(rand.NewPCG(4, 5)), 300, func() {})
		c.Probes, c.LeaseMillis, c.Explore = 4, 77, .5
		if err := s.Alter(ch, c); err != nil {
			t.Fatal(err)
		}
		copied := New(testKey)
		replay(t, copied, ch.Encoded())
		if string(encoding(s)) != string(encoding(copied)) {
			t.Errorf("%s: replay differs", policy)
		}
		loaded := reload(t, s)
		for range 20 {
			got, err := s.Next(nil, 0, 50_000, -1, NamesOnly)
			want, err2 := loaded.Next(nil, 0, 50_000, -1, NamesOnly)
			if err != nil || err2 != nil || len(got) != len(want) {
				t.Fatalf("%s: %v %v, %v %v", policy, got, err, want, err2)
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%s: picks %v, want %v", policy, got, want)
				}
				slot, _ := s.slots.find([]byte(got[i].Node))
				if l, ok := s.hidden.leases.of(slot); !ok || l.until != 50_000+77 {
					t.Fatalf("%s: the lease lasts until %d", policy, l.until)
				}
			}
		}
	}
}

func TestNumbersThatCannotBeAreNotTakenByAlter(t *testing.T) {
	s := pages(t, DefaultConfig(), "a")
	before := string(encoding(s))
	for want, change := range map[error]func(c *Config){
		ErrCount:   func(c *Config) { c.Probes = 0 },
		ErrLease:   func(c *Config) { c.LeaseMillis = -1 },
		ErrExplore: func(c *Config) { c.Explore = math.NaN() },
		ErrQuiet:   func(c *Config) { c.QuietMillis = MaxMillis + 1 },
	} {
		c := s.Config()
		change(&c)
		if err := s.Alter(nil, c); !errors.Is(err, want) || string(encoding(s)) != before {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if err := New(testKey).Alter(nil, DefaultConfig()); !errors.Is(err, ErrNotCreated) {
		t.Errorf("before Create: %v", err)
	}
}
