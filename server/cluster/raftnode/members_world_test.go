package raftnode

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
)

func address(id uint64) string { return fmt.Sprintf("member-%d:1", id) }

// founding returns what a member is told at its start of who founds the group.
func (w *world) founding(n *node) (founders []Peer) {
	if n.id > uint64(w.founders) {
		return nil
	}
	for id := uint64(1); id <= uint64(w.founders); id++ {
		founders = append(founders, Peer{id, address(id)})
	}
	return founders
}

// foundingMembers are those that a log begins with, in place of what became of them.
func (w *world) foundingMembers() *Members {
	m := &Members{Conf: &raftpb.ConfState{}}
	for id := uint64(1); id <= uint64(w.founders); id++ {
		m.Conf, _ = change(m.Conf, addition(id))
	}
	return m
}

// group returns the members in the leader's eyes whose disks are there.
func (w *world) group(leader *node) (group []*node) {
	for _, id := range leader.replica.Members().IDs() {
		if !w.nodes[id].gone {
			group = append(group, w.nodes[id])
		}
	}
	return group
}

// counts reports whether a member is one in the eyes of any.
func (w *world) counts(n *node) bool {
	return slices.ContainsFunc(w.nodes[1:], func(o *node) bool { return !o.gone && slices.Contains(o.replica.Members().IDs(), n.id) })
}

// lose takes a member's disk away for good.
func (w *world) lose(n *node) {
	n.stop(false)
	n.gone, n.lost = true, false
	w.effects["disk lost"]++
}

// expendable reports whether the group can do without a voter, and whoever else fails now.
func (w *world) expendable(n *node) bool {
	for _, o := range w.nodes[1:] {
		if o.gone && w.counts(o) || w.policy != persistence.SyncAlways && o.lost && o != n {
			return false
		}
	}
	return !w.sparse()
}

// sparse reports whether the group may need each of its voters, or some would not vote.
func (w *world) sparse() bool {
	return slices.ContainsFunc(w.nodes[1:], func(o *node) bool {
		if o.gone {
			return false // perhaps it was never started
		}
		m := o.replica.Members()
		old := len(m.Conf.GetVotersOutgoing())
		empty, err := blank(o.replica)
		return m.Voter(o.id) && (len(m.Conf.GetVoters()) < 3 || old > 0 && old < 3 || empty || err != nil)
	})
}

// administer changes the members every now and then.
func (w *world) administer(until time.Duration) {
	w.after(time.Duration(20+w.rand.IntN(150))*time.Millisecond, func() {
		if w.now >= until {
			return
		}
		if n := w.leader(); n != nil {
			if err := w.rearrange(n); err == nil {
				n.work()
			} else {
				w.note("%v", err)
			}
		}
		w.administer(until)
	})
}

// rearrange makes some change of the members, at a leader.
func (w *world) rearrange(n *node) error {
	m := n.replica.Members()
	voters, learners := m.Conf.GetVoters(), m.Conf.GetLearners()
	for _, id := range m.IDs() {
		if w.nodes[id].gone {
			return n.driver.Remove(id)
		}
	}
	for _, o := range w.nodes[1:] {
		if slices.Contains(m.Left, o.id) && !o.gone && w.rand.IntN(3) == 0 {
			o.stop(true)
			o.gone = true
		}
	}
	voter := voters[w.rand.IntN(len(voters))]
	switch k := w.rand.IntN(10); {
	case k < 2 && len(m.IDs()) < 5 && len(w.nodes) <= most:
		o := w.add()
		if err := n.driver.Join(o.id, address(o.id)); err != nil {
			o.gone = true
			return err
		}
		o.start()
		w.effects["join"]++
	case k < 5 && len(learners) > 0:
		return w.count("promote", n.driver.Promote(learners[0]))
	case k < 6 && len(learners) > 0 && w.rand.IntN(2) == 0:
		return w.count("swap", n.driver.Swap(learners[0]))
	case k < 6 && len(learners) > 0:
		return w.count("replace", n.driver.Replace(learners[0], voter))
	case k < 8 && len(voters) > 3:
		return w.count("remove", n.driver.Remove(voter))
	case k == 8 && len(learners) > 0 && w.rand.IntN(4) == 0:
		return w.count("remove", n.driver.Remove(learners[0]))
	case k == 9 && w.expendable(w.nodes[voter]):
		w.lose(w.nodes[voter])
	}
	return nil
}

func (w *world) count(what string, err error) error {
	if err == nil {
		w.effects[what]++
	}
	return err
}

// replaceGone removes members whose disks are gone, so that all that remain can be waited for.
func (w *world) replaceGone() {
	w.Helper()
	w.until("members without a disk have left", func() bool {
		n := w.leader()
		if n == nil {
			return false
		}
		for _, id := range n.replica.Members().IDs() {
			if w.nodes[id].gone {
				if n.driver.Remove(id) == nil {
					n.work()
				}
				return false
			}
		}
		return !n.replica.Members().Joint()
	})
}

// turnover runs clients while everything fails and members come and go.
func turnover(t testing.TB, seed uint64, without rules, length time.Duration) *world {
	return turnoverOf(t, seed, without, length, false)
}

// catchUp is turnover with logs that are cut off all the time.
func catchUp(t testing.TB, seed uint64, without rules, length time.Duration) *world {
	return turnoverOf(t, seed, without, length, true)
}

func turnoverOf(t testing.TB, seed uint64, without rules, length time.Duration, short bool) *world {
	// Founders are odd in number, as ParseMembers wants it: if half of them have an entry and the
	// other half has none, no member of either half gets a majority (R7).
	w := newWorldWith(t, seed, policyOf(seed), without, 3+2*int(seed/2%2), short)
	for range 4 {
		w.client(length, w.anyone().id)
	}
	w.fault(length)
	w.administer(length)
	w.run(length)
	w.settle()
	return w
}

// change asks whoever leads for a change until it is made.
func (w *world) change(what string, try func(d *Driver) error, made func(m *Members) bool) {
	w.Helper()
	asked := false
	w.until(what, func() bool {
		n := w.leader()
		if n == nil {
			return false
		}
		if !asked {
			err := try(n.driver)
			n.work()
			switch {
			case err == nil:
				asked = true
			case !errors.Is(err, ErrHandsOver) && !errors.Is(err, ErrNotLeading) && !errors.Is(err, ErrChanging) && !errors.Is(err, ErrBehind):
				w.Fatalf("%s: %v", what, err)
			}
		}
		m := n.replica.Members()
		return asked && made(m) && !m.Joint()
	})
}

// joined returns a new member that has caught up as a learner.
func (w *world) joined() *node {
	w.Helper()
	o := w.add()
	o.start()
	w.change("it joins", func(d *Driver) error { return d.Join(o.id, address(o.id)) },
		func(m *Members) bool { return slices.Contains(m.Conf.GetLearners(), o.id) })
	return o
}

func (w *world) promoted(o *node) {
	w.Helper()
	w.change("it is promoted", func(d *Driver) error { return d.Promote(o.id) },
		func(m *Members) bool { return slices.Contains(m.Conf.GetVoters(), o.id) })
}

func (w *world) removed(id uint64) {
	w.Helper()
	w.change("it is removed", func(d *Driver) error { return d.Remove(id) },
		func(m *Members) bool { return slices.Contains(m.Left, id) })
}
