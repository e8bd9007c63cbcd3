package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// A node that comes late would not be picked, one that comes early costs time.
func TestAValueIsReachedAtTheAgeToldAndNotBefore(t *testing.T) {
	const seed = 41
	rng := rand.New(rand.NewPCG(seed, 1))
	size := func(low, high float64) float64 { return math.Exp(math.Log(low) + rng.Float64()*math.Log(high/low)) }
	for i := range 40_000 {
		var k curve
		s, c, oldest, maxAge := size(1e-6, 1e6), size(1e-12, 30), 1e9, int64(0)
		if i%2 == 0 { // clocks of milliseconds
			c, oldest = size(1e-15, 1e-6), 1e13
		}
		if rng.IntN(4) == 0 {
			maxAge = int64(size(1, 1e6))
		}
		if rng.IntN(2) == 0 {
			k.ephemeral(s, c, maxAge)
		} else {
			k.fresh(s, c)
		}
		level := k.at(int64(size(1, oldest))) * (1 + rng.Float64()/10)
		age := k.reach(level)
		if age > 1 && age < ahead {
			if v := k.at(age - 1); v >= level*(1+leadMargin) {
				t.Fatalf("seed %d: %+v is %g at %d, but said to reach %g only at %d", seed, k, v, age-1, level, age)
			}
		}
		if age < ahead/2 {
			late := age + 2 + age/100_000
			if v := k.at(late); v < level*(1-1e-9) && !(k.jumps && late >= k.full) {
				t.Fatalf("seed %d: %+v is %g at %d, but said to reach %g at %d", seed, k, v, late, level, age)
			}
		} else if k.last >= level*(1+leadMargin) {
			t.Fatalf("seed %d: %+v reaches %g", seed, k, level)
		}
	}
}

// steady probes the nodes of a world round after round, as crawlers do, and
// compares every pick with the scan's. It returns in how many steps nodes were
// parked.
func (w *world) steady(t *testing.T, name string, steps int) (parked int) {
	t.Helper()
	tour := w.policy.(*tournament)
	for range steps {
		w.step += 1 + int64(w.rng.IntN(50)/49*w.rng.IntN(30))
		count := 1 + w.rng.IntN(3)
		if w.rng.IntN(1000) == 0 {
			count = w.slots / 2
		}
		got, want := w.policy.Pick(nil, w.step, count, nil), scanned(w.table, w.name, w.step, count)
		if !slices.Equal(got, want) {
			t.Fatalf("%s: step %d: picks %v, a scan picks %v", name, w.step, got, want)
		}
		if tour.sure > 0 {
			parked++
		}
		for _, slot := range got {
			n := w.table.Node(slot)
			n.Last = w.step
			w.table.Store(slot, &n)
			w.policy.Touch(slot)
		}
		if w.rng.IntN(20) == 0 {
			w.change()
		}
	}
	return parked
}

func TestParkedNodesComeBackInTime(t *testing.T) {
	const slots = 300
	steps := max(300, testscale.Rounds(1500)) // fewer park nobody
	for _, name := range []string{"whittle", "freshness"} {
		for kind, node := range kinds {
			for seed := range testscale.Rounds(uint64(2)) {
				title := fmt.Sprintf("%s %s seed=%d", name, kind, seed)
				w := &world{rng: rand.New(rand.NewPCG(seed, 8)), name: name, policy: policyNamed(t, name).New(), table: new(Table),
					slots: slots, node: node, step: 1}
				tour := w.policy.(*tournament)
				tour.window = 16
				w.policy.Attach(w.table)
				for slot := range slots {
					w.put(slot)
				}
				if parked := w.steady(t, title, steps); parked < steps/15 && kind != "scales" && kind != "ties" {
					t.Errorf("%s: nodes were parked in %d of %d steps", title, parked, steps)
				}
				for slot := w.table.After(0); slot >= 0; slot = w.table.After(slot + 1) { // all are worth less
					n := w.table.Node(slot)
					n.Weight, n.Arrival = n.Weight/10, n.Arrival*2
					w.table.Store(slot, &n)
					w.policy.Touch(slot)
				}
				w.steady(t, title, steps/3)
				w.step += 10_000
				w.steady(t, title, 200)
			}
		}
	}
}

// A sweep takes several picks where there is more than one block of sharedLevel.
func TestSweepsOfManyBlocksLeaveThePicksRight(t *testing.T) {
	const seed, apart, nodes, small = 43, 10, 4 * fan * fan / 10, 1 // block small is parked whole at first
	for _, name := range []string{"whittle", "freshness"} {
		w := &world{rng: rand.New(rand.NewPCG(seed, 1)), name: name, policy: policyNamed(t, name).New(), table: new(Table),
			node: kinds["uniform"], step: 1}
		tour := w.policy.(*tournament)
		tour.window = 16
		w.policy.Attach(w.table)
		weigh := func(slot int, share float64) {
			n := w.table.Node(slot)
			n.Weight *= share
			w.table.Store(slot, &n)
			w.policy.Touch(slot)
		}
		for i := range nodes {
			w.put(i * apart)
			if i*apart/(fan*fan) == small {
				weigh(i*apart, 1./8)
			}
		}
		falls, before := 0, 0.0
		for i := range max(300, testscale.Rounds(1500)) { // in fewer the level does not fall
			w.step++
			got, want := w.policy.Pick(nil, w.step, 10, nil), scanned(w.table, name, w.step, 10)
			if !slices.Equal(got, want) {
				t.Fatalf("%s, seed %d: step %d: picks %v, a scan picks %v", name, seed, w.step, got, want)
			}
			if tour.sweep > 0 && tour.level < before {
				falls++
			}
			before = tour.level
			for _, slot := range got {
				n := w.table.Node(slot)
				n.Last = w.step
				w.table.Store(slot, &n)
				weigh(slot, .95) // so that the level has to fall
			}
			if i%200 == 100 { // pages go and come, also while a sweep is on
				first := w.rng.IntN(nodes)
				for k := first; k < min(first+50, nodes); k++ {
					w.table.Remove(k * apart)
					w.policy.Touch(k * apart)
				}
				for k := first; k < min(first+20, nodes); k++ {
					w.put(k * apart)
				}
			}
		}
		if falls < max(1, 3/testscale.By) || tour.failed > 5 {
			t.Errorf("%s: the level fell %d times, everybody had to play %d times", name, falls, tour.failed)
		}
	}
}
