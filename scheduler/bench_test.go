package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// field is a schedule under measurement.
type field struct {
	table  *Table
	policy Policy
	rng    *rand.Rand
	step   int64
	picks  []int
	pauses []time.Duration // of each call
	next   time.Duration   // of what NEXT does, in all steps
}

// call notes how long a call of the policy took.
func (f *field) call(do func()) {
	start := time.Now()
	do()
	f.pauses = append(f.pauses, time.Since(start))
}

// probe is one step: a pick, a lease, the observation.
func (f *field) probe() {
	f.step++
	start := time.Now()
	f.picks = f.policy.Pick(f.picks[:0], f.step, 1, f.rng)
	for _, slot := range f.picks {
		f.table.Hide(slot, true)
		f.policy.Touch(slot)
	}
	f.next += time.Since(start)
	for _, slot := range f.picks {
		f.table.Hide(slot, false)
		Observe(f.table, f.policy, fixed{}, slot, 1, f.step)
	}
}

// worst reports the longest call and the one that 1 in 1000 calls pass.
func (f *field) worst(b *testing.B) {
	slices.Sort(f.pauses)
	b.ReportMetric(float64(f.pauses[len(f.pauses)-1].Nanoseconds())/1e6, "max-ms")
	b.ReportMetric(float64(f.pauses[len(f.pauses)*999/1000].Nanoseconds())/1e3, "p99.9-us")
	f.pauses = f.pauses[:0]
}

// nodes are the kinds of schedules: rates alike as those of a new crawl, rates
// between 0 and 1, and rates as 1/rank.
var fields = map[string]func(rng *rand.Rand, slot int) Params{
	"alike": func(*rand.Rand, int) Params {
		p := DefaultParams()
		p.Decay = .01
		return p
	},
	"uniform": func(rng *rand.Rand, _ int) Params {
		p := DefaultParams()
		p.Rate, p.Decay = rng.Float64(), .01+rng.Float64()/10
		return p
	},
	"slow": func(rng *rand.Rand, _ int) Params { // interest lives as long as a round takes
		p := DefaultParams()
		p.Rate, p.Decay = rng.Float64(), rng.ExpFloat64()*1e-6
		return p
	},
	"zipf": func(rng *rand.Rand, _ int) Params {
		p := DefaultParams()
		p.Rate, p.Decay = 1/float64(1+rng.IntN(1_000_000)), .01+rng.Float64()/10
		return p
	},
}

// load adds n nodes one by one in the present step.
func (f *field) load(n int, node func(rng *rand.Rand, slot int) Params) {
	for slot := range n {
		Enter(f.table, fixed{}, slot, node(f.rng, slot), f.step)
		f.call(func() { f.policy.Touch(slot) })
	}
}

func newField(policy PolicySpec) *field {
	f := &field{table: new(Table), policy: policy.New(), rng: rand.New(rand.NewPCG(1, 2))}
	f.policy.Attach(f.table)
	return f
}

// settle plays until the schedule has been round a few times, in effect: ages
// are drawn as they are in the steady state of the policy index.
func (f *field) settle(n int) {
	f.step = int64(8 * n)
	for slot := range n {
		node := f.table.Node(slot)
		period := float64(n) / (.1 + node.Estimate)
		node.Last = f.step - int64(f.rng.Float64()*min(period, float64(f.step)))
		f.table.Store(slot, &node)
	}
	f.policy.Attach(f.table)
	for range n / 4 {
		f.probe()
	}
	f.pauses, f.next = f.pauses[:0], 0
}

// BenchmarkStep is a step in the steady state: what NEXT does (next-ns: Pick, and
// the Touch of the lease) and what OBSERVE does.
func BenchmarkStep(b *testing.B) {
	for _, spec := range Policies() {
		for _, n := range []int{1000, 100_000, 1_000_000} {
			if spec.Name == "lspe" && n > 1000 {
				continue // it looks at every node in every step
			}
			for _, kind := range []string{"uniform", "slow", "zipf"} {
				b.Run(fmt.Sprintf("policy=%s/rates=%s/n=%d", spec.Name, kind, n), func(b *testing.B) {
					f := newField(spec)
					f.load(n, fields[kind])
					f.settle(n)
					b.ReportAllocs()
					b.ResetTimer()
					for b.Loop() {
						f.call(f.probe)
					}
					f.worst(b)
					b.ReportMetric(float64(f.next.Nanoseconds())/float64(b.N), "next-ns")
					b.ReportMetric(float64(f.policy.Bytes())/float64(n), "bytes/node")
				})
			}
		}
	}
}

// BenchmarkPause is the worst call in each of the situations that a schedule
// of 10^6 nodes gets into, all ns/op for the whole situation.
func BenchmarkPause(b *testing.B) {
	const n = 1_000_000
	situations := []struct {
		name string
		play func(f *field)
	}{
		{"cold", func(*field) {}},
		{"edit-half", func(f *field) {
			for slot := 0; slot < n; slot += 2 {
				node := f.table.Node(slot)
				node.Estimate = f.rng.Float64()
				f.table.Store(slot, &node)
				f.call(func() { f.policy.Touch(slot) })
			}
		}},
		{"permute-old", func(f *field) { // ages equal and large, then all rates change
			f.step += n
			f.call(f.probe)
			for slot, other := range f.rng.Perm(n) {
				node := f.table.Node(slot)
				node.Estimate = f.table.Node(other).Estimate
				f.table.Store(slot, &node)
				f.call(func() { f.policy.Touch(slot) })
			}
		}},
		{"jump", func(f *field) { // a wall clock, after the steady state
			f.settle(n)
			f.step += n / 2
		}},
		{"attach", func(f *field) { f.policy.Attach(f.table) }},
	}
	for _, name := range []string{"index", "whittle", "freshness", "memoryless"} {
		spec := policyNamed(b, name)
		for _, kind := range []string{"alike", "uniform", "slow", "zipf"} {
			for _, s := range situations {
				b.Run(fmt.Sprintf("policy=%s/rates=%s/after=%s", name, kind, s.name), func(b *testing.B) {
					for b.Loop() {
						f := newField(spec)
						f.load(n, fields[kind])
						s.play(f)
						for range 2000 {
							f.call(f.probe)
						}
						f.worst(b)
					}
				})
			}
		}
	}
}
