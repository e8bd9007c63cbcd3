package info

import (
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// lines is what write writes.
func lines(write func(t *Text)) string {
	var got string
	Sections[int]{{Name: "x", Write: func(t *Text, _ int) { write(t) }}}.Show([]string{"x"}, 0, func(b []byte) { got = string(b) })
	return strings.TrimPrefix(got, "# X\r\n")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got = strings.ReplaceAll(got, "\r\n", "|"); got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestSectionsThatAreAskedFor(t *testing.T) {
	name := func(t *Text, of string) { Field(t, "of", of) }
	list := Sections[string]{{Name: "a", Usual: true, Write: name}, {Name: "cpu", Write: name}, {Name: "c", Apart: true, Write: name}}
	for _, x := range []struct{ names, want string }{
		{"", "# A|of:s|"},
		{"default", "# A|of:s|"},
		{"CPU", "# CPU|of:s|"},
		{"a cpu a", "# A|of:s||# CPU|of:s|"},
		{"everything", "# A|of:s||# CPU|of:s|"},
		{"all c", "# A|of:s||# CPU|of:s||# C|of:s|"},
		{"unknown", ""},
	} {
		list.Show(strings.Fields(x.names), "s", func(b []byte) { want(t, "INFO "+x.names, string(b), x.want) })
	}
}

func TestLines(t *testing.T) {
	got := lines(func(t *Text) {
		Field(t, "text", "x")
		Field(t, "n", int64(-1))
		t.Decimal("d", 2.0/3, 2, "%")
		t.Bytes("b", 1536)
	})
	want(t, "lines", got, "text:x|n:-1|d:0.67%|b:1536|b_human:1.50K|")
}

func TestSizesAreShownInPowersOfTwo(t *testing.T) {
	var first, third persistence.Sizes
	first[structures.KindString][0], first[structures.KindString][1], first[structures.KindString][11] = 1, 2, 3
	third[structures.KindHash][10] = 4
	got := lines(func(t *Text) { KeySizes(t, []*persistence.Sizes{&first, {}, &third}) })
	want(t, "key sizes", got, "db0_distrib_strings_sizes:0=1,1=2,1K=3|db2_distrib_hashes_items:512=4|")
}

func TestFollowersComeBehindTheirNumber(t *testing.T) {
	m := &commands.Membership{Self: 0, Members: []commands.Member{
		{Host: "a", Port: 1, Active: true}, {Host: "b", Port: 2, Active: true, Entry: 9}, {Host: "c", Port: 3}}}
	got := lines(func(t *Text) { Followers(t, m) })
	if !strings.HasPrefix(got, "connected_slaves:1\r\nslave0:ip=b,port=2,state=") || !strings.HasSuffix(got, ",offset=9,lag=0\r\n") {
		t.Errorf("got %q", got)
	}
}

// gauges are a store and a server whose numbers are set.
type gauges struct {
	stats           persistence.Stats
	loading         bool
	now             time.Time
	gathered, slow  int
	resident        int64
	databases       int
	sizes           []*persistence.Sizes
	largest, output int
}

func (s *gauges) Stats() persistence.Stats {
	s.gathered++
	return s.stats
}

func (s *gauges) DiskStats() persistence.DiskStats {
	s.slow++
	return persistence.DiskStats{MemTableBytes: 5}
}

func (s *gauges) Sizes() []*persistence.Sizes { return s.sizes }

func (s *gauges) Loading() bool { return s.loading }

func (s *gauges) Databases() int { return s.databases }

func (s *gauges) LargestBuffers() (in, out int) { return s.largest, s.output }

func (s *gauges) Now() time.Time { return s.now }

func (s *gauges) Resident() int64 { return s.resident }

func TestFiguresAreThoseGatheredLastForWhoHoldsShards(t *testing.T) {
	s := &gauges{databases: 1, now: time.Unix(100, 0)}
	s.stats = persistence.Stats{LSN: 1, Memory: 70, Databases: make([]persistence.DatabaseStats, 3)}
	var f Figures
	f.Open(s, s)
	if st := f.Stats(true); st.LSN != 0 || s.gathered != 0 {
		t.Errorf("before the first: %+v", st)
	}
	if st := f.Stats(false); st.LSN != 1 || len(st.Databases) != 1 {
		t.Errorf("got %+v, want one database of it", st)
	}
	s.stats.LSN, s.stats.Memory, s.now = 2, 60, time.Unix(200, 0)
	if st := f.Stats(true); st.LSN != 1 {
		t.Errorf("got %d, want what was gathered last", st.LSN)
	}
	st := f.Gather()
	if m := f.Memory(&st); m.Data != 60 || m.Peak != 70 || f.PeakTime() != 100 || m.Process != m.Heap.All || m.Process == 0 {
		t.Errorf("got %+v, at %d", m, f.PeakTime())
	}
	s.resident = 1000
	f.Measure()
	s.resident = 2000
	if m := f.Memory(&st); m.Process != 1000 {
		t.Errorf("the process has %d bytes, want what was measured", m.Process)
	}
	s.sizes = []*persistence.Sizes{{}}
	if got := f.Sizes(true); got != nil {
		t.Errorf("sizes are counted by a call that holds shards: %v", got)
	}
	if f.Sizes(false); len(f.Sizes(true)) != 1 {
		t.Error("the sizes counted last are not kept")
	}
	s.loading = true
	if st := f.Gather(); st.LSN != 0 {
		t.Errorf("while data is loaded: %+v", st)
	}
}

func TestFiguresOfATextAreGatheredOnce(t *testing.T) {
	s := &gauges{}
	var f Figures
	f.Open(s, s)
	for range 2 {
		lines(func(t *Text) {
			t.Stats(&f, false)
			t.Stats(&f, false)
		})
	}
	if s.gathered != 2 {
		t.Errorf("figures were gathered %d times for two texts", s.gathered)
	}
}

func TestSlowFiguresAreKeptForAWhile(t *testing.T) {
	s := &gauges{now: time.Unix(100, 0), largest: 3, output: 4}
	var f Figures
	f.Open(s, s)
	if got := f.Slowly(); got.Disk.MemTableBytes != 5 || got.LargestIn != 3 || got.LargestOut != 4 {
		t.Errorf("got %+v", got)
	}
	s.now = s.now.Add(SlowAge - 1)
	if f.Slowly(); s.slow != 1 {
		t.Error("they are gathered anew at once")
	}
	s.now = s.now.Add(1)
	if f.Slowly(); s.slow != 2 {
		t.Error("they are not gathered anew")
	}
	s.now = s.now.Add(-time.Hour) // the clock was set back
	if f.Slowly(); s.slow != 3 {
		t.Error("they are shown until the clock comes there again")
	}
}
