package placement

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// inclusions counts on which slots the copies of random hashes are.
func inclusions(t testing.TB, m *Map, k, objects int) []float64 {
	t.Helper()
	counts := make([]float64, len(m.slots))
	r := rand.New(rand.NewPCG(9, 9))
	var dst []int
	var err error
	for range objects {
		if dst, err = m.LocateCopies(r.Uint64(), k, dst[:0]); err != nil {
			t.Fatal(err)
		}
		for i, u := range dst {
			counts[u]++
			for _, v := range dst[:i] {
				if u == v {
					t.Fatalf("copies %v: the same unit twice", dst)
				}
			}
		}
	}
	return counts
}

// wanted answers the trimmed share of copies of each of some capacities, by
// the definition: in floating point, one copy after another.
func wanted(capacities []float64, k int) []float64 {
	out := make([]float64, len(capacities))
	free := 0.0
	for _, c := range capacities {
		free += c
	}
	for again := true; again; {
		again = false
		for i, c := range capacities {
			if out[i] == 0 && k > 0 && c*float64(k) >= free*(1-1e-12) {
				out[i], k, free, again = 1, k-1, free-c, true
				break
			}
		}
	}
	for i, c := range capacities {
		if out[i] == 0 && k > 0 {
			out[i] = float64(k) * c / free
		}
	}
	return out
}

func TestSharesOfCopiesAreWithinOnePercent(t *testing.T) {
	const objects = 120_000
	for _, capacities := range [][]float64{
		{1, 2, 3, 4, 5}, {10, 1, 1, 1, 1, 1}, {7, 5, 3, 2, 2, 1, 1, 1}, {1, 1, 1, 1},
		{100, 50, 20, 10, 10, 10, 5, 5, 2, 1}, {3, 3, 1}, {5, 4, 3, 2.9},
	} {
		for k := 2; k <= 3; k++ {
			m := newMap(t, "slots", 0)
			for i, c := range capacities {
				if err := m.Set(Unit{Name: fmt.Sprint(i), Capacity: c}); err != nil {
					t.Fatal(err)
				}
			}
			got := inclusions(t, m, k, objects)
			for i, w := range wanted(capacities, k) {
				noise := 4 * math.Sqrt(w*(1-min(w, 1))/objects) // what chance adds to the one percent
				if d := math.Abs(got[i]/objects - w); d > 0.01*w+noise {
					t.Errorf("capacities %v, %d copies, unit %d: got %.5f, want %.5f", capacities, k, i, got[i]/objects, w)
				}
			}
		}
	}
}

func TestCalibrationMeetsItsTargets(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 30 {
		n, k := 4+r.IntN(40), 2+r.IntN(2)
		weights, order := make([]Capacity, n), make([]int, n)
		var rest uint64
		for i := range weights {
			weights[i], order[i] = Capacity(1+r.IntN(10))<<40, i
			rest += uint64(weights[i])
		}
		target := make([]float64, n)
		for i, w := range weights {
			target[i] = float64(k) * float64(w) / float64(rest)
			if target[i] > 0.99 {
				target = nil
				break
			}
		}
		if target == nil {
			continue
		}
		calibrate(weights, order, rest, k)
		p := make([]float64, n)
		for i, w := range weights {
			p[i] = float64(w) / float64(rest)
		}
		for i, got := range inclusion(p, k) {
			if math.Abs(got/target[i]-1) > 2*calibrationTol {
				t.Errorf("n=%d k=%d domain %d: included %.5f, want %.5f", n, k, i, got, target[i])
			}
		}
	}
}

// TestOneLargeDomainOfManyIsCalibrated: the limit of many small domains does
// not hold for it.
func TestOneLargeDomainOfManyIsCalibrated(t *testing.T) {
	for _, large := range []uint64{1, 50, 120} { // the largest has up to half of the objects
		n, k := 300, 3
		weights, order := make([]Capacity, n), make([]int, n)
		var rest uint64
		for i := range weights {
			weights[i], order[i] = Capacity(1+i%4)<<40, i
			if i == 0 {
				weights[i] = Capacity(large) << 40
			}
			rest += uint64(weights[i])
		}
		target, p := make([]float64, n), make([]float64, n)
		for i, w := range weights {
			target[i] = float64(k) * float64(w) / float64(rest)
		}
		calibrate(weights, order, rest, k)
		for i, w := range weights {
			p[i] = float64(w) / float64(rest)
		}
		worst := 0.0
		for i, got := range inclusion(p, k) {
			worst = max(worst, math.Abs(got/target[i]-1))
		}
		if worst > 2*calibrationTol {
			t.Errorf("largest has %.3f: error %.5f, want below %v", target[0], worst, 2*calibrationTol)
		}
	}
}

// TestInclusionIsThatOfAllOrders compares the integral with the sum over all
// orders of draws.
func TestInclusionIsThatOfAllOrders(t *testing.T) {
	p := []float64{0.4, 0.3, 0.15, 0.1, 0.05}
	for k := 1; k <= 4; k++ {
		want := make([]float64, len(p))
		var draw func(chance, left float64, in []int)
		draw = func(chance, left float64, in []int) {
			if len(in) == k {
				for _, i := range in {
					want[i] += chance
				}
				return
			}
			for i, v := range p {
				taken := false
				for _, j := range in {
					taken = taken || i == j
				}
				if !taken {
					draw(chance*v/left, left-v, append(in[:len(in):len(in)], i))
				}
			}
		}
		draw(1, 1, nil)
		for i, got := range inclusion(p, k) {
			if math.Abs(got-want[i]) > 5e-4 {
				t.Errorf("k=%d, domain %d: got %.6f, want %.6f", k, i, got, want[i])
			}
		}
	}
}

func TestCopiesAreInDifferentDomains(t *testing.T) {
	each(t, func(t *testing.T, spec Spec) {
		m := newMap(t, spec.Name, 12)
		for i := range 12 {
			u := m.Units()[i]
			u.Domain = string(rune('a' + i%5)) // domains of different sizes
			if err := m.Set(u); err != nil {
				t.Fatal(err)
			}
		}
		if got := m.Domains(); got != 5 {
			t.Fatalf("domains: got %d, want 5", got)
		}
		for k := 1; k <= 5; k++ {
			for i := range uint64(500) {
				dst, err := m.LocateCopies(Mix(i), k, nil)
				if err != nil || len(dst) != k {
					t.Fatalf("%d copies: got %v, %v", k, dst, err)
				}
				seen := map[string]bool{}
				for _, at := range dst {
					seen[m.slots[at].domain] = true
				}
				if len(seen) != k {
					t.Fatalf("%d copies %v are in %d domains", k, dst, len(seen))
				}
			}
		}
		for _, k := range []int{0, -1, 6, MaxCopies, MaxCopies + 1} {
			if _, err := m.LocateCopies(1, k, nil); !errors.Is(err, ErrCopies) {
				t.Errorf("%d copies in 5 domains: got %v, want ErrCopies", k, err)
			}
		}
	})
}

func TestFirstCopyOfEqualUnitsIsWhereLocateSays(t *testing.T) {
	for _, strategy := range []string{"sieve-abs", "cutpaste", "slots", "rendezvous"} {
		m, err := NewMap(Options{Strategy: strategy})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Set(manyUnits(false, 9)...); err != nil {
			t.Fatal(err)
		}
		for i := range uint64(200) {
			dst, err := m.LocateCopies(Mix(i), 3, nil)
			if err != nil || dst[0] != m.Locate(Mix(i)) {
				t.Fatalf("%s: copies %v, %v; Locate says %d", strategy, dst, err, m.Locate(Mix(i)))
			}
		}
	}
}

func TestCopiesOfNoUnitsIsAnError(t *testing.T) {
	m := newMap(t, "slots", 0)
	if _, err := m.LocateCopies(1, 1, nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("got %v, want ErrEmpty", err)
	}
}

func TestLocateCopiesDoesNotAllocate(t *testing.T) {
	m := newMap(t, "sieve-abs", 100)
	dst := make([]int, 0, 3)
	h := uint64(1)
	if got := testing.AllocsPerRun(2000, func() {
		h = Mix(h)
		dst, _ = m.LocateCopies(h, 3, dst[:0])
	}); got != 0 {
		t.Errorf("allocations: got %v, want 0", got)
	}
}

// copyMoves answers the share of copies that leave their unit in a change, and
// the optimum: what the trimmed shares of copies of shrinking units lose.
func copyMoves(t *testing.T, m *Map, k int, change func(*Map) error) (moved, optimum float64) {
	t.Helper()
	next := m.Clone()
	if err := change(next); err != nil {
		t.Fatal(err)
	}
	const objects = 60_000
	r := rand.New(rand.NewPCG(5, 5))
	for range objects {
		h := r.Uint64()
		a, err := m.LocateCopies(h, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := next.LocateCopies(h, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range a {
			stays := false
			for _, v := range b {
				stays = stays || m.Name(u) == next.Name(v)
			}
			if !stays {
				moved += 1.0 / objects
			}
		}
	}
	for i, w := range copyShares(m, k) {
		v := copyShares(next, k)
		if i >= len(v) {
			optimum += w
		} else if v[i] < w {
			optimum += w - v[i]
		}
	}
	return moved, optimum
}

func copyShares(m *Map, k int) []float64 {
	caps := make([]float64, len(m.slots))
	for i, s := range m.slots {
		caps[i] = s.decimal
	}
	return wanted(caps, k)
}

func TestCopiesMoveLittleMoreThanTheOptimum(t *testing.T) {
	// Drawing in turns itself costs 1.17 at n = 10, measured with rendezvous:
	// shares of copies near 1 make weights that depend on all others.
	for n, limit := range map[int]float64{10: 1.3, 20: 1.2, 30: 1.2, 100: 1.2} {
		var moved, optimum float64
		m := newMap(t, "sieve-abs", n)
		for _, change := range []func(*Map) error{
			func(m *Map) error { return m.Set(Unit{Name: "new", Capacity: 60}) },
			func(m *Map) error { return m.Remove("u3") },
			func(m *Map) error { return m.Set(Unit{Name: "u5", Capacity: 20}) },
		} {
			a, b := copyMoves(t, m, 3, change)
			t.Logf("n=%d: moved %.4f, optimum %.4f, ratio %.3f", n, a, b, a/b)
			moved, optimum = moved+a, optimum+b
		}
		if moved > limit*optimum {
			t.Errorf("n=%d: moved %.4f of the copies, more than %.1f times the optimum %.4f", n, moved, limit, optimum)
		}
	}
}

func BenchmarkLocateCopies(b *testing.B) {
	for _, strategy := range []string{"sieve-abs", "rendezvous"} {
		for _, n := range benchSizes[:3] {
			b.Run(fmt.Sprintf("strategy=%s/n=%d", strategy, n), func(b *testing.B) {
				m := newMap(b, strategy, n)
				dst := make([]int, 0, 3)
				b.ReportAllocs()
				h := uint64(0)
				for b.Loop() {
					h += phi64
					dst, _ = m.LocateCopies(Mix(h), 3, dst[:0])
				}
			})
		}
	}
}

// BenchmarkCalibrate makes the table of copies after a change.
func BenchmarkCalibrate(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			m := newMap(b, "sieve-abs", n)
			b.ReportAllocs()
			for b.Loop() {
				m.samplers[3].Store(nil)
				if _, err := m.LocateCopies(1, 3, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
