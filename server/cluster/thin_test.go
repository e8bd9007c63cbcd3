package cluster

import (
	"slices"
	"testing"

	"github.com/vigildb/vigil/persistence"
)

// thin has a group of one voter and two learners, under a policy that forces nothing to the device at once, work while
// its members lose what their devices do not have, and the voter changes places with a learner.
func thin(t testing.TB, seed uint64, without rules) *world {
	w := newWorldWith(t, seed, persistence.SyncEverySecond, without, 1, seed%2 == 1)
	w.elected()
	w.joined()
	w.joined()
	for range 30 {
		n := w.elected()
		for range 1 + w.rand.IntN(5) {
			op := w.ask(n.id, "a", true)
			w.until("a write", func() bool {
				if l := w.leader(); l != nil && (op.outcome == refused || op.outcome == unknown) {
					op = w.ask(l.id, "a", true)
				}
				return op.outcome == done
			})
		}
		n = w.elected()
		learners := n.replica.Members().Conf.GetLearners()
		id := learners[w.rand.IntN(len(learners))]
		switch o := w.nodes[id]; w.rand.IntN(4) {
		case 0:
			n.stop(false)
			n.start()
			w.effects["voter lost"]++
		case 1:
			o.stop(false)
			o.start()
			w.effects["learner lost"]++
		case 2:
			w.change("a learner takes over", func(d *Driver) error { return d.Swap(id) },
				func(m *Members) bool { return slices.Equal(m.Conf.GetVoters(), []uint64{id}) })
			w.effects["swap"]++
		}
	}
	w.settle()
	return w
}

// The only voter of a group begins again by itself, with what its device has. Learners never have more as
// committed, and follow it from there.
func TestTheOnlyVoterGoesOnWithWhatItsDeviceHas(t *testing.T) {
	effects := map[string]int{}
	for seed := range uint64(12) {
		w := thin(t, seed, rules{})
		for what, n := range w.effects {
			effects[what] += n
		}
		w.close()
	}
	wantEffects(t, effects, 20, "voter lost", "learner lost", "swap")
}

// Learners wait for each other rather than make voters even in number, and a learner that takes over leaves the
// number as it is.
func TestSwapLeavesTheNumberOfVoters(t *testing.T) {
	w, n := ledWorld(t, 31, persistence.SyncAlways, rules{})
	o := w.joined()
	w.change("it takes over", func(d *Driver) error { return d.Swap(o.id) },
		func(m *Members) bool { return m.Voter(o.id) && slices.Equal(m.Conf.GetLearners(), []uint64{n.id}) })
	w.write(w.elected(), "a")
	w.settle()
	w.judge()
	w.close()
}
