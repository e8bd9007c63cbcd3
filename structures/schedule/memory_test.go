package schedule

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/vigildb/vigil/scheduler"
)

// heapInUse is what the heap takes after a collection.
func heapInUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// observedSchedule has n nodes with names of 12 bytes, each of which was observed
// twice.
func observedSchedule(t testing.TB, n int, change func(*Config), params func(i int, p *scheduler.Params)) *Schedule {
	t.Helper()
	s := make1(t, change)
	var name []byte
	for i := range n {
		p := scheduler.DefaultParams()
		params(i, &p)
		name = fmt.Appendf(name[:0], "node-%07d", i)
		if _, err := s.Add(nil, name, p, 1000); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second observation is the first that can suspect a change
		// All are leased before the first is observed: none comes twice.
		for left := n; left > 0; {
			picks, err := s.Next(nil, min(left, 512), 1000, 60_000, NamesOnly)
			if err != nil || len(picks) == 0 {
				t.Fatalf("Next: %d picks, %v", len(picks), err)
			}
			left -= len(picks)
		}
		for i := range n {
			name = fmt.Appendf(name[:0], "node-%07d", i)
			seen := s.table.Node(i)
			l, _ := s.hidden.leases.of(i)
			expected := seen.Estimate * float64(seen.Age(l.step))
			// Neighbours suspect a fall and a rise: all columns are in use.
			if err := s.Observe(nil, name, expected*[]float64{.7, 1.45}[i%2], 1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

var memoryCases = []struct {
	name   string
	change func(*Config)
	params func(i int, p *scheduler.Params)
}{
	{"index", func(c *Config) { c.Policy, c.Estimator = "index", "change" },
		func(i int, p *scheduler.Params) { p.Rate = 1 / float64(i+1) }},
	{"whittle", func(c *Config) { c.Policy = "whittle" },
		func(i int, p *scheduler.Params) {
			p.Weight, p.Decay, p.Arrival = float64(1+i%7), .1+float64(i%9)/10, 1/float64(i+2)
		}},
	{"memoryless", func(c *Config) { c.Policy = "memoryless" },
		func(i int, p *scheduler.Params) { p.Rate = 1 / float64(i+1) }},
}

// bytesANode is what each of n nodes takes in the heap and by Size.
func bytesANode(t testing.TB, n int, change func(*Config), params func(i int, p *scheduler.Params)) (heap, size float64) {
	t.Helper()
	before := heapInUse()
	s := observedSchedule(t, n, change, params)
	heap = float64(heapInUse()-before) / float64(n)
	size = float64(s.Size()) / float64(n)
	runtime.KeepAlive(s)
	return heap, size
}

func TestANodeTakes120BytesAndSizeSaysSo(t *testing.T) {
	const n = 1 << 15
	for _, tc := range memoryCases {
		heap, size := bytesANode(t, n, tc.change, tc.params)
		t.Logf("%s: heap %.1f, Size %.1f", tc.name, heap, size)
		if heap > 120 || size > 120 {
			t.Errorf("%s: %.1f bytes of heap and a Size of %.1f for a node, want 120 at the most", tc.name, heap, size)
		}
		if size < .9*heap || size > 1.1*heap {
			t.Errorf("%s: Size says %.1f bytes for a node, the heap takes %.1f", tc.name, size, heap)
		}
	}
}

func BenchmarkMemory(b *testing.B) {
	for _, tc := range memoryCases {
		b.Run("policy="+tc.name, func(b *testing.B) {
			var heap, size float64
			for b.Loop() {
				heap, size = bytesANode(b, 1_000_000, tc.change, tc.params)
			}
			b.ReportMetric(heap, "heap-B/node")
			b.ReportMetric(size, "size-B/node")
		})
	}
}
