package main

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/vigildb/vigil/placement"
)

// figure is a measured number and its standard error, 0 if exact.
type figure struct{ value, err float64 }

// row is what is known of a candidate with n units.
type row struct {
	candidate
	skipped       string  // why there are no figures; empty if there are
	byHash, byKey float64 // ns a lookup; byHash is NaN where only keys are taken
	bytes         int
	allocations   float64 // a lookup from a key
	layout        figure
	join, leave   figure // moved over optimum
}

// effort is how much time goes into a row.
type effort struct {
	round   time.Duration // of one timing
	rounds  int
	sampled time.Duration // of one sample of a peer's layout
}

func usual() effort {
	return effort{round: 4 * time.Millisecond, rounds: 9, sampled: 250 * time.Millisecond}
}

// measure fills a row.
func measure(c candidate, weights []int, e effort) (row, error) {
	r := row{candidate: c}
	if c.most > 0 && len(weights) > c.most {
		r.skipped = "building takes minutes"
		return r, nil
	}
	before := heap()
	t, err := c.build(weights)
	if err != nil {
		return r, fmt.Errorf("%s %s: %w", c.name, c.origin, err)
	}
	r.bytes = max(0, heap()-before)
	keys := make([]key, 1<<16) // too many for a branch predictor to learn
	for i := range keys {
		keys[i] = keyOf(placement.Mix(uint64(i)) >> 20)
	}
	r.byHash = math.NaN()
	if t.byHash != nil {
		r.byHash = e.time(func(from, count int) { lookHashes(t.byHash, from, count) })
	}
	r.byKey = e.time(func(from, count int) { lookKeys(t.byKey, keys, from, count) })
	r.allocations = allocations(func() { lookKeys(t.byKey, keys, 0, 1000) }) / 1000
	if t.strategy != nil {
		r.bytes = t.strategy.Bytes()
		return r, r.exact(t.strategy, weights)
	}
	return r, r.sample(t, weights, e)
}

// heap returns the bytes in use.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func allocations(f func()) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

// lookHashes and lookKeys look up count objects from a number on; the sum keeps
// the compiler from dropping it.
func lookHashes(locate func(uint64) int, from, count int) int {
	sum := 0
	for i := range count {
		sum += locate(placement.Mix(uint64(from + i)))
	}
	return sum
}

func lookKeys(locate func(*key) int, keys []key, from, count int) int {
	sum := 0
	for i := range count {
		sum += locate(&keys[(from+i)&(len(keys)-1)])
	}
	return sum
}

// time returns nanoseconds a lookup: those of the fastest round. Each round has
// other objects: of the same ones the processor would learn the branches.
func (e effort) time(look func(from, count int)) float64 {
	from := 0
	clock := func(count int) time.Duration {
		start := time.Now()
		look(from, count)
		from += count
		return time.Since(start)
	}
	count := 64
	for d := clock(count); d < e.round/2 && count < 1<<30; d = clock(count) {
		count *= 2
	}
	best := math.Inf(1)
	for range e.rounds {
		best = min(best, float64(clock(count).Nanoseconds())/float64(count))
	}
	return best
}

// exact fills what is computed from our tables.
func (r *row) exact(s placement.Strategy, weights []int) error {
	shares, err := sharesOf(s, r.name, len(weights))
	if err != nil {
		return err
	}
	sum := 0
	for _, w := range weights {
		sum += w
	}
	var squares float64
	for i, w := range weights {
		d := shares[i]*float64(sum)/float64(w) - 1
		squares += d * d
	}
	r.layout = figure{value: math.Sqrt(squares / float64(len(weights)))}
	joins, leaves := changesOf(weights)
	if r.join.value, err = ratio(s, weights, joins); err != nil {
		return err
	}
	r.leave.value, err = ratio(s, weights, leaves)
	return err
}

// sharesOf returns the shares of n units: what each would give to a unit n that
// is alone.
func sharesOf(s placement.Strategy, name string, n int) ([]float64, error) {
	spec, err := placement.Lookup(name)
	if err != nil {
		return nil, err
	}
	opts, err := placement.Options{Strategy: name, Seed: seed}.Check()
	if err != nil {
		return nil, err
	}
	alone := spec.New(opts)
	if err := alone.Set(n, capacityOf(1)); err != nil {
		return nil, err
	}
	shares := make([]float64, n)
	s.Moves(alone, func(from, _ int, share placement.Fraction) { shares[from] += float64(share) })
	return shares, nil
}

// joining is the weight of the unit that joins.
func joining(weights []int) int {
	for _, w := range weights {
		if w != weights[0] {
			return 50
		}
	}
	return weights[0]
}

// changesOf returns the joins and leaves that are measured.
func changesOf(weights []int) (joins, leaves []placement.Change) {
	n := len(weights)
	mean := joining(weights)
	for _, w := range []int{max(1, mean/5), mean, mean * 2} {
		joins = append(joins, placement.Change{Unit: n, Capacity: capacityOf(w)})
		if mean == 1 {
			joins = joins[:1]
			joins[0].Capacity = capacityOf(1)
		}
	}
	for _, unit := range []int{n / 4, n / 2, n * 3 / 4} {
		leaves = append(leaves, placement.Change{Unit: unit})
	}
	return joins, leaves
}

// ratio returns what some changes move, each by itself, over the optimum.
func ratio(s placement.Strategy, weights []int, changes []placement.Change) (float64, error) {
	var moved, optimum float64
	for _, c := range changes {
		next := s.Clone()
		if err := apply(next, c); err != nil {
			return 0, err
		}
		moved += movedTo(s, next)
		optimum += optimumOf(weights, c)
	}
	return moved / optimum, nil
}

// movedTo sums up Moves, which a table with many pairs can do without listing
// them.
func movedTo(s, next placement.Strategy) float64 {
	if m, ok := s.(interface {
		Moved(placement.Strategy) placement.Fraction
	}); ok {
		return float64(m.Moved(next))
	}
	sum := 0.0
	s.Moves(next, func(_, _ int, share placement.Fraction) { sum += float64(share) })
	return sum
}

// optimumOf is what no faithful strategy can avoid when one unit joins, leaves
// or changes: the others lose or gain what it gains or loses.
func optimumOf(weights []int, c placement.Change) float64 {
	sum, old := 0.0, 0.0
	for i, w := range weights {
		sum += float64(capacityOf(w))
		if i == c.Unit {
			old = float64(capacityOf(w))
		}
	}
	now := float64(c.Capacity)
	return math.Abs(now/(sum-old+now) - old/sum)
}
