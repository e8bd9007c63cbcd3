package raftnode

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/grouplog"
)

func addition(id uint64) *raftpb.ConfChangeV2 {
	return &raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(raftpb.ConfChangeAddNode, id)}, Context: []byte(address(id))}
}

// A group of three grows to five, and its founders leave, the leader among them; all that was
// written is there.
func TestMembersComeAndGo(t *testing.T) {
	for _, policy := range []persistence.SyncPolicy{persistence.SyncAlways, persistence.SyncEverySecond} {
		w, _ := ledWorld(t, 21, policy, rules{})
		for range 2 {
			w.promoted(w.joined())
			w.write(w.elected(), "a")
		}
		for _, n := range w.nodes[1:3] {
			w.removed(n.id)
			w.write(w.elected(), "a")
			n.stop(true)
			n.gone = true
		}
		w.settle()
		m := w.elected().replica.Members()
		if !slices.Equal(m.IDs(), []uint64{3, 4, 5}) || !slices.Equal(m.Left, []uint64{1, 2}) ||
			!reflect.DeepEqual(m.Addresses, map[uint64]string{3: address(3), 4: address(4), 5: address(5)}) {
			t.Errorf("policy %d: the members are %+v", policy, m)
		}
		if got := w.write(w.elected(), "a"); len(got.list) != 6 {
			t.Errorf("policy %d: there are %v", policy, got.list)
		}
		w.judge()
		w.close()
	}
}

// A leader that shows more voters has told the others before: whoever sees them can rely on them, be the leader lost
// at once.
func TestAGroupIsWhatItsLeaderShows(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorldWith(t, seed, persistence.SyncAlways, rules{}, 1, false)
		n := w.elected()
		w.promoted(w.joined())
		o := w.joined()
		w.until("it is asked to be promoted", func() bool { return n.driver.Promote(o.id) == nil })
		n.work()
		for m := n.replica.Members(); !m.Voter(o.id) || m.Joint(); m = n.replica.Members() {
			w.step()
		}
		w.lose(n)
		w.until("another one leads", func() bool { return w.leader() != nil })
		w.close()
	}
}

// A learner takes the place of a voter in one change, and no member notices the end of the former one.
func TestALearnerReplacesAVoter(t *testing.T) {
	w, n := ledWorld(t, 22, persistence.SyncAlways, rules{})
	lost := w.nodes[n.id%members+1]
	w.lose(lost)
	o := w.joined()
	w.change("one replaces the other", func(d *Driver) error { return d.Replace(o.id, lost.id) },
		func(m *Members) bool { return slices.Contains(m.Left, lost.id) && m.Voter(o.id) })
	third := w.nodes[6-n.id-lost.id]
	third.stop(true)
	w.write(w.elected(), "a")
	w.settle()
	w.judge()
	w.close()
}

func TestChangesThatCannotBeAreRefused(t *testing.T) {
	w, _ := ledWorld(t, 23, persistence.SyncAlways, rules{})
	o := w.joined()
	w.removed(w.joined().id) // 5 has left
	n := w.elected()
	follower := w.nodes[n.id%members+1]
	refuse := func(what string, got, want error) {
		t.Helper()
		if !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	refuse("a follower is asked", follower.driver.Join(9, ""), ErrNotLeading)
	refuse("a voter joins", n.driver.Join(follower.id, ""), ErrKnownMember)
	refuse("a learner joins", n.driver.Join(o.id, ""), ErrKnownMember)
	refuse("a former member joins", n.driver.Join(5, ""), ErrKnownMember)
	refuse("member 0 joins", n.driver.Join(0, ""), ErrKnownMember)
	refuse("a stranger is promoted", n.driver.Promote(9), ErrUnknownMember)
	refuse("a voter is promoted", n.driver.Promote(follower.id), ErrUnknownMember)
	refuse("a learner replaces a stranger", n.driver.Replace(o.id, 9), ErrUnknownMember)
	refuse("a learner replaces a learner", n.driver.Replace(o.id, o.id), ErrUnknownMember)
	refuse("a stranger leaves", n.driver.Remove(9), ErrUnknownMember)
	o.stop(true)
	for range maxBehind + 1 {
		w.ask(n.id, "b", true)
		w.run(tick / 4)
	}
	w.run(3 * timeout)
	refuse("one that lags is promoted", n.driver.Promote(o.id), ErrBehind)
	o.start()
	w.isolate(n, true)
	if err := n.driver.Join(9, ""); err != nil {
		t.Error(err)
	}
	refuse("a second change", n.driver.Join(10, ""), ErrChanging)
	n.work()
	refuse("a second change", n.driver.Remove(follower.id), ErrChanging)
	w.isolate(n, false)
	w.removed(9)
	for range 2 {
		n = w.elected()
		w.removed(w.nodes[n.replica.Members().Conf.GetVoters()[0]].id)
	}
	n = w.elected()
	refuse("the last voter leaves", n.driver.Remove(n.id), ErrLastVoter)
	w.write(n, "a")
	w.judge()
	w.close()
}

// A leader that is to leave hands over, and the next one removes it.
func TestALeaderHandsOverBeforeItLeaves(t *testing.T) {
	w, n := ledWorld(t, 24, persistence.SyncAlways, rules{})
	w.run(2 * timeout)
	if err := n.driver.Remove(n.id); !errors.Is(err, ErrHandsOver) {
		t.Fatal(err)
	}
	n.work()
	begin := w.now
	if next := w.elected(); next == n || w.now-begin > timeout/2 {
		t.Errorf("member %d leads after %v", next.id, w.now-begin)
	}
	w.removed(n.id)
	if n.driver.Leading() != 0 || w.elected() == n {
		t.Error("a former member leads")
	}
	w.settle()
	w.judge()
	w.close()
}

// Two of five founders have never got an entry. Without a third one they would be half of the voters, who
// vote for nobody that has entries.
func TestVotersWithoutEntriesDoNotBecomeHalfOfAll(t *testing.T) {
	w := newWorldWith(t, 21, persistence.SyncAlways, rules{}, 5, false)
	w.isolate(w.nodes[1], true)
	w.isolate(w.nodes[2], true)
	n := w.elected()
	w.write(n, "a")
	for _, o := range w.nodes[3:] {
		if o != n {
			if err := n.driver.Remove(o.id); !errors.Is(err, ErrBehind) {
				t.Errorf("member %d leaves: %v", o.id, err)
			}
		}
	}
	if err := n.driver.Remove(1); err != nil {
		t.Errorf("a founder without entries leaves: %v", err)
	}
	n.work()
	w.isolate(w.nodes[1], false)
	w.isolate(w.nodes[2], false)
	w.settle()
	w.judge()
	w.close()
}

// What the group agreed on is known after a start, whenever the power fails.
func TestMembersOutliveRestarts(t *testing.T) {
	for _, at := range []int{0, 1, 3, 5, 8, 13, 21} {
		w, n := ledWorld(t, 25, persistence.SyncAlways, rules{})
		o := w.joined()
		w.until("it has caught up", func() bool { return n.driver.Promote(o.id) == nil })
		n.work()
		for range at {
			w.run(tick / 20)
		}
		for _, n := range w.nodes[1:] {
			n.stop(false)
			n.start()
		}
		w.settle() // all agree
		m := w.elected().replica.Members()
		if slices.Contains(m.Conf.GetLearners(), o.id) == m.Voter(o.id) || m.Addresses[o.id] != address(o.id) {
			t.Errorf("after %d steps the members are %+v", at, m)
		}
		w.judge()
		w.close()
	}
}

// A leader that hears learners only has no majority.
func TestALearnerCountsForNothing(t *testing.T) {
	w := learnersLease(t, 26, rules{})
	w.judge()
	w.close()
}

// learnersLease leaves a leader alone with two learners.
func learnersLease(t testing.TB, seed uint64, without rules) *world {
	w, _ := ledWorld(t, seed, persistence.SyncAlways, without)
	w.joined()
	w.joined()
	n := w.elected()
	for _, o := range w.nodes[1 : members+1] {
		if o != n {
			for _, p := range w.nodes[1:] {
				if p == n || p.id > members {
					w.cut[o.id][p.id], w.cut[p.id][o.id] = true, true
				}
			}
		}
	}
	w.rivals(n)
	w.rivals(n)
	w.settle()
	return w
}

// Members whose disks were replaced have forgotten what they acknowledged: with their votes one
// that has slept would lead without what was committed meanwhile.
func TestAMemberWithANewDiskDoesNotVote(t *testing.T) {
	w := rebornVoters(t, 27, rules{})
	w.judge()
	w.close()
}

func rebornVoters(t testing.TB, seed uint64, without rules) *world {
	w := newWorldWith(t, seed, persistence.SyncAlways, without, 5, false)
	w.until("1 leads", func() bool {
		if n := w.leader(); n != nil && n.id > 1 {
			n.driver.Transfer(n.clock(), 1)
			n.work()
		}
		return w.leader() == w.nodes[1]
	})
	w.write(w.nodes[1], "a")
	w.isolate(w.nodes[3], true)
	w.removed(5)
	w.removed(4)
	for _, old := range w.nodes[4:] {
		old.stop(false)
		*old = *reborn(old)
	}
	w.write(w.elected(), "a")
	w.isolate(w.nodes[3], false)
	for _, n := range w.nodes[1:3] {
		for _, o := range w.nodes[3:] {
			w.cut[n.id][o.id], w.cut[o.id][n.id] = true, true
		}
	}
	w.nodes[4].start()
	w.nodes[5].start()
	for range 20 * election {
		for _, n := range w.nodes[3:] {
			if n.driver.Leading() != 0 {
				w.ask(n.id, "a", true)
			}
		}
		w.run(tick)
	}
	w.judge() // two groups would not get on with each other
	w.settle()
	return w
}

func reborn(n *node) *node {
	next := newNode(n.w, n.id)
	next.life = n.life
	return next
}

// A voter that comes back with an empty disk under its old id says so, and the group goes on.
func TestAMemberThatLacksWhatItAcknowledgedStops(t *testing.T) {
	w, n := ledWorld(t, 28, persistence.SyncAlways, rules{})
	o := w.nodes[n.id%members+1]
	o.stop(false)
	*o = *reborn(o)
	o.doomed = true
	o.start()
	w.until("it stops", func() bool { return errors.Is(o.ended, ErrLostDisk) })
	o.gone = true
	w.write(w.elected(), "a")
	w.removed(o.id)
	w.promoted(w.joined())
	w.settle()
	w.judge()
	w.close()
}

// A former member that does not know it asks for votes in vain, and ends no leadership.
func TestAFormerMemberDoesNotDisturb(t *testing.T) {
	w, n := ledWorld(t, 29, persistence.SyncAlways, rules{})
	w.run(2 * timeout)
	o := w.nodes[n.id%members+1]
	w.isolate(o, true)
	w.removed(o.id)
	term := n.driver.Leading()
	w.isolate(o, false)
	w.run(50 * timeout)
	if n.driver.Leading() != term || !o.replica.Members().Voter(o.id) {
		t.Errorf("member %d leads term %d, before %d; the former one knows of %v", n.id, n.driver.Leading(), term, o.replica.Members().Conf)
	}
	w.settle()
	w.judge()
	w.close()
}

func TestMembersKeepTheirForm(t *testing.T) {
	m := &Members{Conf: &raftpb.ConfState{}}
	for id := uint64(1); id <= 3; id++ {
		conf, err := change(m.Conf, addition(id*300))
		if err != nil {
			t.Fatal(err)
		}
		m = m.after(id, addition(id*300), conf)
	}
	joint := raftpb.ConfChangeTransitionJointImplicit
	cc := &raftpb.ConfChangeV2{Transition: &joint, Changes: []*raftpb.ConfChangeSingle{
		single(raftpb.ConfChangeRemoveNode, 300), single(raftpb.ConfChangeAddLearnerNode, 600), single(raftpb.ConfChangeAddLearnerNode, 7)}}
	conf, err := change(m.Conf, cc)
	if err != nil {
		t.Fatal(err)
	}
	m = m.after(4, cc, conf)
	m.Left = []uint64{1, 5}
	got, err := DecodeMembers(4, m.encode())
	if err != nil || !got.Joint() || !reflect.DeepEqual(got.encode(), m.encode()) || !slices.Equal(got.IDs(), m.IDs()) ||
		!reflect.DeepEqual(got.Addresses, m.Addresses) || !slices.Equal(got.Conf.GetLearnersNext(), []uint64{600}) {
		t.Errorf("%+v became %+v, %v", m, got, err)
	}
	if _, err := change(m.Conf, cc); err == nil {
		t.Error("a second change is made while one is under way")
	}
	r := rand.New(rand.NewPCG(13, 13))
	for whole, i := m.encode(), 0; i < len(whole); i++ {
		if _, err := DecodeMembers(4, whole[:i]); i > 0 && !errors.Is(err, grouplog.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", i, len(whole), err)
		}
		bad := slices.Clone(whole)
		bad[i] ^= byte(1 + r.IntN(255))
		_, _ = DecodeMembers(4, bad) // neither panics nor takes memory for what is not there
	}
	if _, err := DecodeMembers(4, append(m.encode(), 0)); !errors.Is(err, grouplog.ErrCorrupt) {
		t.Errorf("a byte too much: %v", err)
	}
}

// Members that come and go while everything fails change nothing of what clients see.
func TestTurnoverIsLinearizable(t *testing.T) {
	wantEffects(t, play(t, turnover), 3, "done", "join", "promote", "replace", "swap", "remove", "disk lost", "roll back")
}
