package schedule

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/testscale"
)

// busy is a schedule of n nodes that suits any policy.
func busy(t testing.TB, policy string, n int) *Schedule {
	t.Helper()
	s := make1(t, func(c *Config) { c.Policy, c.Seed = policy, 5 })
	for i := range n {
		p := scheduler.DefaultParams()
		p.Rate, p.Decay, p.Arrival, p.Weight = .1+float64(i%90)/100, .05+float64(i%7)/10, float64(1+i%5)/5, float64(1+i%3)
		if _, err := s.Add(nil, fmt.Appendf(nil, "node-%07d", i), p, 1000); err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
	}
	return s
}

func TestProbesAllocateNothing(t *testing.T) {
	for _, spec := range scheduler.Policies() {
		s := busy(t, spec.Name, 500)
		ch, name := new(structures.Change), make([]byte, 0, 64)
		probe := func() {
			ch.Reset(1 << 20)
			picks, err := s.Next(ch, 1, 1000, 60_000, NamesOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range picks {
				name = append(name[:0], p.Node...)
				if err := s.Observe(ch, name, 1, 1000); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range testscale.Rounds(3000) {
			probe()
		}
		if got := testing.AllocsPerRun(testscale.Rounds(1000), probe); got > 0 {
			t.Errorf("%s: NEXT and OBSERVE allocate %.0f times", spec.Name, got)
		}
	}
}

// loneNode is a schedule whose only node is in the last slot of a page.
func loneNode(t testing.TB, policy string, id uint64) *Schedule {
	t.Helper()
	s := busy(t, policy, 1)
	head := s.AppendHead(nil)
	var page []byte
	s.Pages(true, func(_ uint64, p []byte) { page = append(page, p...) })
	binary.LittleEndian.PutUint64(page, 1<<63)
	far, err := Decode(head, testKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := far.SetPage(id, page); err != nil {
		t.Fatal(err)
	}
	return far
}

func TestProbesRecordLessThan100BytesWhateverTheSize(t *testing.T) {
	s, ch := loneNode(t, "index", scheduler.MaxNodes/scheduler.PageSize-1), new(structures.Change)
	const now = 1_800_000_000_000
	for range 3 {
		before := ch.Len()
		picks, err := s.Next(ch, 1, now, 60_000, NamesOnly)
		if err != nil || len(picks) != 1 {
			t.Fatalf("Next: %v %v", picks, err)
		}
		if n := ch.Len() - before; n >= 100 {
			t.Errorf("NEXT recorded %d bytes", n)
		}
		before = ch.Len()
		if err := s.Observe(ch, []byte(picks[0].Node), 12.345, now); err != nil {
			t.Fatal(err)
		}
		if n := ch.Len() - before; n >= 100 {
			t.Errorf("OBSERVE recorded %d bytes", n)
		}
	}
}

// A payload of some dozens of bytes may put its node into slot 2^20, and no
// further (package persistence closes the gap below it then). It must not take
// what the nodes below would take, 100 MB.
func TestALoneNodeInAHighSlotCostsLittle(t *testing.T) {
	const page, bound = 1<<14 - 1, 20 << 20
	for _, spec := range scheduler.Policies() {
		before := heapInUse()
		s := loneNode(t, spec.Name, page)
		var m0, m1 runtime.MemStats
		runtime.ReadMemStats(&m0)
		picks, err := s.Next(nil, 1, 2000, 60_000, NamesOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range picks {
			if err := s.Observe(nil, []byte(p.Node), 1, 2000); err != nil {
				t.Errorf("%s: %v", spec.Name, err)
			}
		}
		runtime.ReadMemStats(&m1)
		held, probe := heapInUse()-before, m1.TotalAlloc-m0.TotalAlloc
		if held > bound || probe > 2*bound {
			t.Errorf("%s: a lone node in slot 2^20 holds %d bytes, and its first probe took %d", spec.Name, held, probe)
		}
		runtime.KeepAlive(s)
	}
}
