package main

import (
	"math"

	"github.com/vigildb/vigil/placement"
)

// A peer's sample has at least and at most so many objects.
const (
	fewest = 1 << 15
	most   = 1 << 22
)

// sample fills what is estimated from objects: those of one sample are looked
// up before and after each change.
func (r *row) sample(t *table, weights []int, e effort) error {
	ns := r.byKey
	if t.byHash != nil {
		ns = r.byHash
	}
	count := min(max(int(float64(e.sampled.Nanoseconds())/ns), fewest), most)
	before := t.places(count)
	r.layout = layoutOf(before, weights)

	n := len(weights)
	joined := placement.Change{Unit: n, Capacity: capacityOf(joining(weights))}
	if err := t.add(); err != nil {
		return err
	}
	r.join = movedOver(before, t.places(count), optimumOf(weights, joined))
	if err := t.remove(n); err != nil {
		return err
	}
	left := placement.Change{Unit: t.leaves}
	if err := t.remove(t.leaves); err != nil {
		return err
	}
	r.leave = movedOver(before, t.places(count), optimumOf(weights, left))
	return nil
}

// places returns the units of the first objects.
func (t *table) places(count int) []int32 {
	out := make([]int32, count)
	for i := range out {
		if t.byHash != nil {
			out[i] = int32(t.byHash(placement.Mix(uint64(i) + seed)))
			continue
		}
		k := keyOf(uint64(i))
		out[i] = int32(t.unit(&k))
	}
	return out
}

// layoutOf estimates the coefficient of variation of share over capacity. Each
// count has the variance of a binomial, which is taken off; the rest has the
// error of a chi-square with n-1 degrees of freedom. A variance below three such
// errors is answered as 0, with the CV of that bound as the error.
func layoutOf(places []int32, weights []int) figure {
	counts := make([]float64, len(weights))
	for _, u := range places {
		counts[u]++
	}
	sum := 0
	for _, w := range weights {
		sum += w
	}
	var squares, noise float64
	for i, w := range weights {
		expected := float64(len(places)) * float64(w) / float64(sum)
		d := counts[i]/expected - 1
		squares += d * d
		noise += (1 - float64(w)/float64(sum)) / expected
	}
	n := float64(len(weights))
	variance := (squares - noise) / n
	spread := noise / n * math.Sqrt(2/max(1, n-1)) // standard error of the variance
	if variance < 3*spread {
		return figure{err: math.Sqrt(3 * spread)}
	}
	return figure{value: math.Sqrt(variance), err: spread / (2 * math.Sqrt(variance))}
}

// movedOver estimates the moved share over the optimum.
func movedOver(before, after []int32, optimum float64) figure {
	moved := 0.0
	for i := range before {
		if before[i] != after[i] {
			moved++
		}
	}
	n := float64(len(before))
	p := moved / n
	return figure{value: p / optimum, err: math.Sqrt(max(p, 1/n)*(1-p)/n) / optimum}
}
