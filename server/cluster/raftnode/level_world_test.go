package raftnode

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
)

// newForm is a key that stands for what came with LevelTold: a member of a version that knows no such level must not
// get a record with it.
var newForm = []byte("new form")

// versioned is a machine of a version.
type versioned struct {
	*Replica
	n *node
}

// Commit implements [Machine].
func (v versioned) Commit(entries []*raftpb.Entry) error {
	for _, e := range entries {
		if v.n.knows() < persistence.LevelTold && bytes.Contains(e.GetData(), newForm) {
			v.n.w.Errorf("member %d gets entry %d, in a form that it does not know", v.n.id, e.GetIndex())
		}
	}
	return v.Replica.Commit(entries)
}

// knows returns the newest level that a member knows.
func (n *node) knows() uint64 {
	if n.version == 0 {
		return newest
	}
	return n.version
}

// levelOf returns what a member has heard of another one.
func (n *node) levelOf(id uint64) uint64 {
	if n.version == 0 {
		return newest
	}
	return n.told[id]
}

// refuseVersion starts a member again, with the newest version: the older one does not read what it has.
func (n *node) refuseVersion() {
	n.w.effects["version refused"]++
	if n.up = false; n.store != nil {
		_ = n.store.Close() // which may have been refused before it was open
	}
	n.version = newest
	n.start()
}

// stopVersion ends a member whose version does not know the level to which its group has risen, and starts the
// newest one.
func (n *node) stopVersion() {
	n.w.effects["version stopped"]++
	n.stop(true)
	n.version = newest
	n.w.after(tick, func() {
		if !n.up && !n.gone {
			n.start()
		}
	})
}

// restartAs starts a member anew, with another version.
func (n *node) restartAs(version uint64) {
	n.stop(true)
	n.version = version
	n.start()
}

// levelledWorld is a world of members of the version before LevelTold.
func levelledWorld(t testing.TB, seed uint64, policy persistence.SyncPolicy, short bool) *world {
	w := newWorldWith(t, seed, policy, rules{}, 0, short)
	w.founders = members
	for range members {
		n := w.add()
		n.version = persistence.LevelUntold
		n.start()
	}
	return w
}

// upgraded raises the group to the newest level, which all members know then.
func (w *world) upgraded() {
	w.Helper()
	for _, n := range w.nodes[1:] {
		if !n.gone && n.knows() < newest {
			n.restartAs(newest)
			w.elected()
		}
	}
	w.until("the group has the newest level", func() bool {
		n := w.leader()
		if n == nil {
			return false
		}
		_, _, err := n.driver.Upgrade(always)
		n.work()
		return err == nil && n.replica.Members().EffectiveLevel() == newest
	})
}

// newer replaces all members by those of the newest version, one after the other, while the group goes on.
func (w *world) newer() {
	w.Helper()
	for _, n := range w.nodes[1:] {
		n.restartAs(newest)
		w.write(w.elected(), "a")
	}
}

func always(uint64) bool { return true }

// mixed runs clients while everything fails, and members are replaced by those of other versions, older ones too, join, and
// raise the level.
func mixed(t testing.TB, seed uint64, _ rules, length time.Duration) *world {
	w := levelledWorld(t, seed, policyOf(seed), seed%3 == 0)
	for range 4 {
		w.client(length, w.anyone().id)
	}
	w.fault(length)
	w.versions(length)
	w.run(length)
	w.replaceOlder()
	w.settle()
	w.upgraded()
	w.settle()
	return w
}

// replaceOlder has members that do not know the level of the group be of the newest version: one of an older version that lacks what was cut off
// gets no state, and waits.
func (w *world) replaceOlder() {
	w.Helper()
	w.heal()
	w.run(time.Second)
	level := w.elected().store.Level()
	for _, n := range w.nodes[1:] {
		if !n.gone && n.knows() < level {
			n.restartAs(newest)
		}
	}
}

// versions replaces members and raises the level every now and then.
func (w *world) versions(until time.Duration) {
	w.after(time.Duration(20+w.rand.IntN(100))*time.Millisecond, func() {
		if w.now >= until {
			return
		}
		n, l, version := w.anyone(), w.leader(), persistence.LevelUntold+uint64(w.rand.IntN(5)/2)
		version = min(version, newest)
		switch k := w.rand.IntN(6); {
		case k < 3 && n.up && !n.disk.broken.Load():
			n.restartAs(version)
		case k == 3 && l != nil && len(l.replica.Members().IDs()) < 5 && len(w.nodes) <= most:
			w.joins(l, version)
		case k > 3 && l != nil:
			from, to, err := l.driver.Upgrade(always)
			if err == nil && from < to {
				w.effects["upgrade"]++
			}
			l.work()
		}
		w.versions(until)
	})
}

// joins adds a server of a version at a leader, if it may join.
func (w *world) joins(l *node, version uint64) {
	o := w.add()
	o.version = version
	err := l.driver.admits(version)
	if err != nil {
		w.effects["join refused"]++
	} else {
		err = l.driver.Join(o.id, address(o.id))
	}
	if err != nil {
		o.gone = true
		return
	}
	o.start()
	l.work()
	w.effects["join"]++
}

// Members of two versions work together, whatever fails: none gets what it does not read, and in the end all have the newest level.
func TestMembersOfTwoVersionsAreOneGroup(t *testing.T) {
	effects := play(t, mixed)
	wantEffects(t, effects, 1, "done", "upgrade", "join", "join refused", "version refused", "new form", "roll back", "state taken in")
}

// at returns the members whose group has a level, as they know it.
func (w *world) at(level uint64) (ids []uint64) {
	for _, n := range w.nodes[1:] {
		if n.up && n.store.Level() == level {
			ids = append(ids, n.id)
		}
	}
	slices.Sort(ids)
	return ids
}
