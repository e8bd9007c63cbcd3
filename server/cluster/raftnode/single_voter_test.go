package raftnode

import (
	"slices"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence"
)

// singleVoter runs a group of one voter and two learners, under a policy that forces nothing to the device at once, while
// its members lose what their devices do not have, and the voter changes places with a learner.
func singleVoter(t testing.TB, seed uint64, without rules) *world {
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
		w := singleVoter(t, seed, rules{})
		for what, n := range w.effects {
			effects[what] += n
		}
		w.close()
	}
	wantEffects(t, effects, 20, "voter lost", "learner lost", "swap")
}

// amid kills members, one at a time, while learners become voters beside the only one, or one of them in its place.
func amid(t testing.TB, seed uint64, without rules) *world {
	w := newWorldWith(t, seed, persistence.SyncEverySecond, without, 1, seed%2 == 1)
	w.elected()
	w.write(w.elected(), "a")
	a, b := w.joined(), w.joined()
	n := w.elected()
	ask := func() error { return n.driver.Promote(a.id, b.id) }
	if seed%4 < 2 {
		ask = func() error { return n.driver.Swap(b.id) }
	}
	w.until("a change begins", func() bool { return ask() == nil })
	n.work()
	for range 1 + w.rand.IntN(3) {
		w.loss = float64(w.rand.IntN(2)) / 2
		for range w.rand.IntN(40) {
			key := "a" // the only voter may lose acknowledged writes of it
			if n.replica.Members().Joint() {
				key = "b"
			}
			if w.rand.IntN(5) == 0 {
				w.ask(n.id, key, true)
			}
			w.step()
		}
		lost := w.anyone()
		if slices.ContainsFunc(w.nodes[1:], func(o *node) bool { return o.replica.Members().Joint() }) {
			w.effects["amid a change"]++
		}
		lost.stop(false)
		w.loss = 0
		w.run(time.Duration(w.rand.IntN(2)) * 5 * timeout)
		lost.start()
		w.elected()
		w.until("it has what it lost", func() bool { return !lost.replica.Lost() })
	}
	w.write(w.elected(), "a")
	w.settle()
	if v := violation(w.history["b"]); v != "" {
		w.Errorf("seed %d: %s", seed, v)
	}
	return w
}

// A voter that decides alone before or after a change of the members, and is lost amid it, does not stop its group.
func TestTheOnlyVoterMayBeLostAmidAChange(t *testing.T) {
	effects := map[string]int{}
	for seed := *firstSeed; seed < *firstSeed+*howMany; seed++ {
		w := amid(t, seed, rules{})
		for what, n := range w.effects {
			effects[what] += n
		}
		w.close()
	}
	wantEffects(t, effects, 10, "amid a change")
}

// The only voter acknowledges the second step of a change, one learner hears that it is committed, and the voter loses what its
// device does not have. With the other learner, which has never got that step, it must not agree on something else.
func TestTheOnlyVoterKeepsTheSecondStep(t *testing.T) {
	effects := map[string]int{}
	for seed := *firstSeed; seed < *firstSeed+*howMany; seed++ {
		w := newWorldWith(t, seed, persistence.SyncEverySecond, rules{}, 1, false)
		n := w.elected()
		a, b := w.joined(), w.joined()
		w.until("a change begins", func() bool { return n.driver.Promote(a.id, b.id) == nil })
		w.isolate(b, true)
		n.work()
		for range w.rand.IntN(30) {
			w.ask(n.id, "a", true) // commits are told with the next entries
			w.step()
		}
		n.disk.broken.Store(true) // messages go out before the turn writes
		w.run(3 * tick)
		n.stop(false)
		if a.replica.Members().Voter(a.id) && !a.replica.Members().Joint() {
			effects["a second step that was heard of"]++
		}
		w.isolate(b, false)
		w.isolate(a, true)
		if w.run(timeout); !n.up {
			n.start()
		}
		w.run(10 * timeout)
		w.settle()
		w.judge()
		w.close()
	}
	wantEffects(t, effects, 1, "a second step that was heard of")
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
