package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// scannedGroups is what a scan of the nodes of open groups would pick.
func scannedGroups(t *Table, policy string, step int64, count int) []int {
	var picks []int
	taken := map[int32]int32{}
	for _, slot := range scanned(t, policy, step, t.Len()+1) {
		g := t.GroupOf(slot)
		if of := t.Groups.Of(g); of != nil && (of.closed(t.Groups.now, t.Groups.step) || taken[g] >= of.room(t.Groups.Brief)) {
			continue
		}
		if taken[g]++; len(picks) < count {
			picks = append(picks, slot)
		}
	}
	return picks
}

// crowd is a walk in a world of groups: nodes are handed out, come back, and change
// groups; limits and holds come and go.
type crowd struct {
	world
	now    int64
	groups int32
	out    map[int]bool // slots that are leased
}

func (w *crowd) group() int32 { return w.rng.Int32N(w.groups + 1) }

func (w *crowd) back(slot int) {
	if !w.out[slot] {
		return
	}
	delete(w.out, slot)
	w.table.Hide(slot, false)
	w.table.Groups.Back(w.policy, w.table.GroupOf(slot), w.now)
	w.table.Groups.Settle(w.table.GroupOf(slot), w.now)
}

func (w *crowd) move() {
	gs := &w.table.Groups
	switch g := w.group(); w.rng.IntN(8) {
	case 0: // limits change
		if old := gs.Of(g); old != nil {
			l := *old
			l.Limits = Limits{}
			if w.rng.IntN(3) > 0 {
				l.Limits = Limits{Gap: w.rng.Int64N(2) * w.rng.Int64N(30), Rest: w.rng.Int64N(2) * w.rng.Int64N(30), Steps: w.rng.Int64N(9), Concurrency: w.rng.Int32N(4)}
			}
			gs.Put(g, l)
			gs.Look(w.policy, g)
		}
	case 1:
		if old := gs.Of(g); old != nil {
			l := *old
			l.Held = w.now + w.rng.Int64N(2)*w.rng.Int64N(60)
			gs.Put(g, l)
			gs.Look(w.policy, g)
		}
	case 2:
		if slot := w.rng.IntN(w.slots); w.table.Has(slot) && !w.out[slot] {
			n := w.table.Node(slot)
			n.Group = g
			w.table.Store(slot, &n)
			w.policy.Touch(slot)
		}
	default:
		w.change()
	}
}

func (w *crowd) walk(t *testing.T, name string, steps int) {
	t.Helper()
	w.table, w.out = new(Table), map[int]bool{}
	for g := range w.groups {
		w.table.Groups.Put(g+1, Group{})
	}
	w.policy.Attach(w.table)
	for k := range steps {
		for range w.rng.IntN(4) {
			w.move()
		}
		for slot := range w.out { // one that a change has removed, or shown
			if !w.table.Has(slot) || !w.table.Hidden(slot) {
				w.out[slot] = true
				w.back(slot)
				w.policy.Touch(slot)
			}
		}
		w.step += int64(w.rng.IntN(3) * w.rng.IntN(3))
		w.now += w.rng.Int64N(20)
		w.table.Groups.Open(w.policy, w.now, w.step)
		w.table.Groups.Brief = w.rng.IntN(4) == 0
		count := 1
		if w.rng.IntN(4) == 0 {
			count = w.rng.IntN(20)
		}
		got, want := w.policy.Pick(nil, w.step, count, nil), scannedGroups(w.table, w.name, w.step, count)
		if !slices.Equal(got, want) {
			t.Fatalf("%s: round %d, step %d: picks %v, a scan picks %v", name, k, w.step, got, want)
		}
		for _, slot := range got {
			g := w.table.GroupOf(slot)
			if w.table.Groups.Closed(g, w.now, w.step) {
				t.Fatalf("%s: round %d: slot %d of group %d, which is closed", name, k, slot, g)
			}
		}
		for _, slot := range got {
			w.hand(slot)
		}
		if w.rng.IntN(2000) == 0 {
			w.policy.Attach(w.table)
		}
	}
}

func (w *crowd) hand(slot int) {
	brief := w.table.Groups.Brief
	w.table.Groups.Give(w.policy, w.table.GroupOf(slot), w.now, w.step, brief)
	if !brief {
		w.out[slot] = true
		w.table.Hide(slot, true)
		w.policy.Touch(slot)
		if w.rng.IntN(3) == 0 {
			return
		}
		w.back(slot)
	}
	n := w.table.Node(slot)
	n.Last = max(n.Last, w.step)
	w.table.Store(slot, &n)
	w.policy.Touch(slot)
}

// Two levels of tournaments pick what a scan of the nodes of open groups picks, ties
// included, whatever opens and closes, and whatever size groups have.
func TestGroupsPickWhatAScanOfOpenGroupsPicks(t *testing.T) {
	for _, spec := range argmaxPolicies() {
		for kind, node := range kinds {
			for i, shape := range [][2]int{{30, 3}, {300, 4}, {300, 90}} {
				for seed := range testscale.Rounds(uint64(2)) {
					name := fmt.Sprintf("%s %s %v seed=%d", spec.Name, kind, shape, seed)
					w := &crowd{groups: int32(shape[1]), world: world{rng: rand.New(rand.NewPCG(seed, uint64(i))), name: spec.Name, policy: spec.New(),
						slots: shape[0], node: node, step: 1}}
					grouped := w.node
					w.world.node = func(rng *rand.Rand) Node {
						n := grouped(rng)
						if rng.IntN(4) > 0 && w.step > 30 { // groups come later
							n.Group = rng.Int32N(w.groups + 1)
						}
						return n
					}
					w.policy.(*tournament).window = 1 << (2 * seed)
					w.walk(t, name, 100)
				}
			}
		}
	}
}

// A schedule all of whose nodes are in groups has an empty tournament beside theirs, in
// which there is nothing to park.
func TestPoliciesThatParkBearGroupsForAllNodes(t *testing.T) {
	for _, name := range []string{"freshness", "whittle", "index"} {
		table, p := new(Table), policyNamed(t, name).New()
		rng := rand.New(rand.NewPCG(5, 5))
		for slot := range 60 {
			params := DefaultParams()
			params.Rate, params.Group = .001+rng.Float64(), int32(1+slot%7)
			params.Arrival, params.Decay = params.Rate, .1
			Enter(table, fixed{}, slot, params, 0)
		}
		for g := range 7 {
			table.Groups.Put(int32(g+1), Group{Limits: Limits{Steps: int64(g)}})
		}
		p.Attach(table)
		for step := int64(1); step < 4000; step++ {
			table.Groups.Open(p, 0, step)
			want := scannedGroups(table, name, step, 2)
			picks := p.Pick(nil, step, 2, nil)
			if !slices.Equal(picks, want) {
				t.Fatalf("%s, step %d: picks %v, want %v", name, step, picks, want)
			}
			for _, slot := range picks {
				table.Groups.Give(p, table.GroupOf(slot), 0, step, true)
				Observe(table, p, fixed{}, slot, 1, step)
			}
		}
	}
}
