package raftnode

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3/confchange"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

var newest = persistence.NewestLevel()

// upgrade raises the level at the leader, and returns the result.
func (w *world) upgrade() (from, to uint64, err error) {
	w.Helper()
	n := w.elected()
	from, to, err = n.driver.Upgrade(always)
	n.work()
	w.run(10 * tick)
	return from, to, err
}

// The level rises when all members know a higher one, learners included, and whoever is in the way is named.
func TestLevelRisesWhenAllMembersKnowAHigherOne(t *testing.T) {
	w := levelledWorld(t, 61, persistence.SyncAlways, false)
	w.write(w.elected(), "a")
	if from, to, err := w.upgrade(); from != 1 || to != 1 || err != nil {
		t.Errorf("among older members: from %d to %d, %v", from, to, err)
	}
	for id := uint64(1); id <= 2; id++ {
		w.nodes[id].restartAs(newest)
		w.write(w.elected(), "a")
		w.run(2 * timeout) // until all are heard
	}
	if _, _, err := w.upgrade(); !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), "member 3 at "+address(3)+" knows levels up to 1") {
		t.Errorf("with an older member: %v", err)
	}
	w.nodes[3].restartAs(newest)
	w.run(2 * timeout)
	n := w.elected()
	w.promotedNot(n) // a learner counts as others do
	if _, _, err := w.upgrade(); !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), "member 4 ") {
		t.Errorf("with an older learner: %v", err)
	}
	w.removed(4)
	n = w.elected()
	deaf := func(id uint64) bool { return id != n.id%members+1 }
	if _, _, err := n.driver.Upgrade(deaf); !errors.Is(err, ErrUnheard) {
		t.Errorf("with a member that is not heard: %v", err)
	}
	if got := w.at(1); len(got) < members {
		t.Errorf("the level has risen: only members %d have level 1", got)
	}
	if from, to, err := w.upgrade(); from != 1 || to != newest || err != nil {
		t.Errorf("from %d to %d, %v", from, to, err)
	}
	if got := w.at(newest); len(got) < members {
		t.Errorf("only members %d have level %d", got, newest)
	}
	if from, to, err := w.upgrade(); from != newest || to != newest || err != nil {
		t.Errorf("again: from %d to %d, %v", from, to, err)
	}
	w.settle()
	w.judge()
	w.close()
}

// promotedNot adds a server of the older version, which stays a learner.
func (w *world) promotedNot(l *node) {
	w.Helper()
	w.joins(l, persistence.LevelUntold)
	w.until("it is a learner that is heard", func() bool {
		n := w.leader()
		return n != nil && len(n.replica.Members().Conf.GetLearners()) == 1 && n.told[4] == persistence.LevelUntold
	})
}

// The level is as much a part of the group as its members: it outlives power failures, comes with the state to a member that
// lagged, and stays with one that goes on alone.
func TestLevelStays(t *testing.T) {
	w, lags := lagging(t, 62, persistence.SyncAlways)
	for _, n := range w.nodes[1:] {
		n.version = newest
	}
	n := w.elected()
	n.told[lags.id] = newest
	for _, o := range w.nodes[1:] {
		n.told[o.id] = newest
	}
	if _, to, err := w.upgrade(); to != newest || err != nil {
		t.Fatalf("to %d, %v", to, err)
	}
	w.isolate(lags, false)
	w.until("it has the state", func() bool {
		w.ask(w.elected().id, "c", true)
		return w.effects["state taken in"] > 0
	})
	w.settle()
	if got := w.at(newest); len(got) != members {
		t.Errorf("members %d have the level", got)
	}
	for _, n := range w.nodes[1:] {
		n.stop(false)
	}
	for _, n := range w.nodes[1:] {
		n.start()
	}
	w.settle()
	if got := w.at(newest); len(got) != members {
		t.Errorf("after power failures members %d have the level", got)
	}
	n = w.nodes[1]
	n.stop(true)
	n.start()
	if _, err := StandAlone(n.store.Member(), address(1), func(former topology.Assignment) topology.Assignment { return former }); err != nil {
		t.Fatal(err)
	}
	if r, err := OpenReplica(n.store.Member(), nil, false); err != nil || r.Members().EffectiveLevel() != newest || n.store.Level() != newest {
		t.Errorf("one that goes on alone has %+v, %v", r.Members(), err)
	}
	w.close()
}

// A version that does not know the level neither starts from the directory of a member nor goes on alone from it, and a newer one
// finds everything there.
func TestOlderVersionsDoNotStart(t *testing.T) {
	w := levelledWorld(t, 63, persistence.SyncAlways, false)
	w.upgraded()
	w.write(w.elected(), "a")
	w.settle()
	n := w.nodes[1]
	n.restartAs(persistence.LevelUntold)
	if w.effects["version refused"] != 1 || n.knows() != newest {
		t.Errorf("effects %v", w.effects)
	}
	w.settle()
	w.judge()
	w.close()
}

// A member that became an older one again stops before the entry that raises the level, and a newer one goes on from there. An entry of
// a level that no version knows yet stops any.
func TestOlderVersionsStopBeforeTheLevelRises(t *testing.T) {
	w := levelledWorld(t, 64, persistence.SyncAlways, false)
	w.newer()
	w.run(2 * timeout)
	n := w.elected()
	o := w.nodes[n.id%members+1]
	o.doomed = true
	o.restartAs(persistence.LevelUntold)
	n.told[o.id] = newest // the leader has not heard it yet
	if _, to, err := n.driver.Upgrade(always); to != newest || err != nil {
		t.Fatalf("to %d, %v", to, err)
	}
	n.work()
	w.until("it stops", func() bool { return o.ended != nil })
	if !errors.Is(o.ended, ErrLevel) || !strings.Contains(o.ended.Error(), fmt.Sprintf("has level %d, and the server knows levels up to 1: cluster: it needs a newer version of vigil", newest)) {
		t.Errorf("it ended with %v", o.ended)
	}
	o.doomed, o.version = false, newest
	o.start()
	w.settle()
	if got := w.at(newest); len(got) != members {
		t.Errorf("members %d have the level", got)
	}
	w.judge()
	w.close()
}

// While the level rises nobody joins, and while somebody joins it does not rise; then what it is decides.
func TestJoinsAndUpgradesGoOneAfterTheOther(t *testing.T) {
	w := levelledWorld(t, 65, persistence.SyncAlways, false)
	w.newer()
	w.run(2 * timeout)
	n := w.elected()
	if err := n.driver.Join(4, address(4)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.driver.Upgrade(always); !errors.Is(err, ErrChanging) {
		t.Errorf("amid a join: %v", err)
	}
	n.work()
	w.removed(4)
	n = w.elected()
	if err := n.driver.admits(persistence.LevelUntold); err != nil {
		t.Errorf("an older server before: %v", err)
	}
	if _, to, err := n.driver.Upgrade(always); to != newest || err != nil {
		t.Fatalf("to %d, %v", to, err)
	}
	if err := n.driver.Join(5, address(5)); !errors.Is(err, ErrChanging) {
		t.Errorf("amid an upgrade: %v", err)
	}
	n.work()
	w.until("the level has risen", func() bool { return n.store.Level() == newest })
	if err := n.driver.admits(persistence.LevelUntold); !errors.Is(err, ErrLevel) || Transient(err) {
		t.Errorf("an older server afterwards: %v", err)
	}
	if err := n.driver.admits(newest); err != nil {
		t.Errorf("a newer server: %v", err)
	}
	w.settle()
	w.close()
}

// A leader that loses its leadership amid an upgrade leaves it to its successor, as it leaves records: all members have the level, or none.
func TestUpgradeOfADeposedLeaderIsMadeOrNot(t *testing.T) {
	levels := map[uint64]int{}
	for seed := uint64(70); seed < 90; seed++ {
		w := levelledWorld(t, seed, persistence.SyncAlways, false)
		w.newer()
		w.run(2 * timeout)
		n := w.elected()
		if _, _, err := n.driver.Upgrade(always); err != nil {
			t.Fatal(err)
		}
		n.work()
		w.run(time.Duration(seed%20) * tick / 20)
		w.isolate(n, true)
		w.until("another one leads", func() bool { l := w.leader(); return l != nil && l != n })
		w.settle()
		level := w.elected().store.Level()
		if got := w.at(level); len(got) != members {
			t.Errorf("seed %d: only members %d have level %d", seed, got, level)
		}
		levels[level]++
		w.judge()
		w.close()
	}
	if len(levels) != 2 {
		t.Errorf("the levels in the end are %v: the test says little", levels)
	}
}

// A member of an older version is sent no state that it would not read, and takes none in.
func TestStatesOfANewerLevelAreNotForOlderVersions(t *testing.T) {
	w, lags := lagging(t, 66, persistence.SyncAlways)
	n := w.elected()
	for _, o := range w.nodes[1:] {
		o.version, n.told[o.id] = newest, newest
	}
	if _, to, err := w.upgrade(); to != newest || err != nil {
		t.Fatalf("to %d, %v", to, err)
	}
	lags.restartAs(persistence.LevelUntold)
	w.isolate(lags, false)
	w.run(10 * timeout)
	if w.effects["state taken in"] != 0 || lags.version != persistence.LevelUntold || len(w.elected().driver.transfers) != 0 {
		t.Errorf("the effects are %v", w.effects)
	}
	n = w.elected()
	_, state, err := n.replica.Export()
	if err != nil {
		t.Fatal(err)
	}
	in, err := lags.replica.Take(state)
	if err != nil {
		t.Fatal(err)
	}
	applied, snap, from, to := lags.replica.Applied(), raftpb.MsgSnap, n.id, lags.id
	message := &raftpb.Message{Type: &snap, From: &from, To: &to, Snapshot: &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: &in.Index, Term: &in.Term}}}
	if err := errors.Join(lags.driver.Install(lags.clock(), message, in), state.Close()); !errors.Is(err, ErrLevel) {
		t.Errorf("a state that comes in spite of that: %v", err)
	}
	if err := lags.driver.Work(); !errors.Is(err, ErrLevel) || lags.replica.Applied() != applied {
		t.Errorf("it goes on: %v, with entry %d of %d", err, lags.replica.Applied(), applied)
	}
	lags.restartAs(newest)
	w.settle()
	if w.effects["state taken in"] == 0 {
		t.Error("the newer version takes no state in")
	}
	w.judge()
	w.close()
}

// A group of one founder begins with the newest level. Where there are several they may be of different versions.
func TestANewGroupBegins(t *testing.T) {
	for founders, want := range map[int]uint64{1: newest, 3: 1} {
		w := newWorldWith(t, 67, persistence.SyncAlways, rules{}, founders, false)
		w.write(w.elected(), "a")
		if got := w.elected().store.Level(); got != want {
			t.Errorf("a group of %d has level %d, want %d", founders, got, want)
		}
		w.close()
	}
	w := newWorldWith(t, 68, persistence.SyncAlways, rules{}, 0, false)
	w.founders = 1
	n := w.add()
	n.version = persistence.LevelUntold
	n.start()
	w.write(w.elected(), "a")
	if m := w.elected().replica.Members(); m.Level != 0 || m.encode()[0] != membersFormat {
		t.Errorf("an older version founds %+v", m)
	}
	w.close()
}

func TestMembersWithALevelKeepTheirForm(t *testing.T) {
	m := &Members{Conf: &raftpb.ConfState{Voters: []uint64{1, 2}}, Addresses: map[uint64]string{2: address(2)}, Left: []uint64{7}, Base: 9, Level: newest}
	some := new(slots.Set)
	some.Add(slots.Range{First: 3, Last: 5})
	for what, c := range map[string]topology.Assignment{
		"no assignment": {},
		"an assignment": {Slots: some, Since: 4},
		"tombstones":    {Slots: some, Since: 4, Tombstones: []topology.Tombstone{{Group: "g", At: 5}}, Revived: 6},
	} {
		m.Assignment = c
		whole := m.encode()
		got, err := DecodeMembers(1, whole)
		if err != nil || got.Level != newest || got.Base != 9 || !reflect.DeepEqual(got.encode(), whole) || !slices.Equal(got.Left, m.Left) || got.Assigned() != m.Assigned() {
			t.Errorf("%s: %+v became %+v, %v", what, m, got, err)
		}
		if _, err := DecodeMembers(1, append(whole, 0)); err == nil && what != "no assignment" {
			t.Errorf("%s: a byte too much is read", what)
		}
	}
	if _, err := DecodeMembers(1, []byte{membersWithLevel + 1, 0}); !errors.Is(err, errNewer) {
		t.Errorf("members of a newer form: %v", err)
	}
}

// Versions that know nothing of levels have raft read the entry as it is, and stop at it: they must not pass over it, nor take the
// level for a member.
func TestVersionsWithoutLevelsStopAtTheEntry(t *testing.T) {
	_, data, err := raftpb.MarshalConfChange(&raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(changesLevel, newest)}})
	if err != nil {
		t.Fatal(err)
	}
	cc := new(raftpb.ConfChangeV2)
	if err := proto.Unmarshal(data, cc); err != nil || raisesTo(cc) != newest {
		t.Fatalf("%v became %v, %v", newest, cc, err)
	}
	changer := confchange.Changer{Tracker: tracker.MakeProgressTracker(1, 0), LastIndex: 1}
	config, progress, err := confchange.Restore(changer, &raftpb.ConfState{Voters: []uint64{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	changer.Tracker.Config, changer.Tracker.Progress = config, progress
	if _, _, err := changer.Simple(cc.GetChanges()...); err == nil {
		t.Error("they take it for a change of members")
	}
}

// The forms of the level are on disk, and stay.
func TestFormsOfTheLevelAreFrozen(t *testing.T) {
	_, entry, err := raftpb.MarshalConfChange(&raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(changesLevel, 2)}})
	if want := "\x12\x04\x08\x04\x10\x02"; err != nil || string(entry) != want {
		t.Errorf("the entry is %q, %v; want %q", entry, err, want)
	}
	m := &Members{Conf: &raftpb.ConfState{Voters: []uint64{3}}, Addresses: map[uint64]string{3: "a"}, Left: []uint64{1}, Base: 9, Level: 2}
	if got, want := string(m.encode()), "\x05\x01\x03\x00\x00\x00\x00\x01\x03\x01a\x01\x01\x09\x02"; got != want {
		t.Errorf("the members are %q, want %q", got, want)
	}
}

// A server that was made an older one does not start from a log whose last entries raise the level, though the members that it keeps
// beside the log say nothing of that yet.
func TestLevelInTheLogKeepsOlderVersionsOut(t *testing.T) {
	store, err := persistence.Open(persistence.Options{InMemory: true, Databases: 1, Replicator: new(Proposals), NewestLevel: newest})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r, err := NewReplica(store.Member(), []uint64{1}, false)
	if err != nil {
		t.Fatal(err)
	}
	kind, data, err := raftpb.MarshalConfChange(&raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(changesLevel, newest+1)}})
	if err != nil {
		t.Fatal(err)
	}
	_, last := r.log.Bounds()
	term, index := r.log.State().Term, last+1
	entries, err := toEntries([]*raftpb.Entry{{Term: &term, Index: &index, Type: &kind, Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Member.Append(entries, &grouplog.HardState{Term: term, Commit: index}), r.Member.Commit(entries)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReplica(store.Member(), nil, false); !errors.Is(err, ErrLevel) {
		t.Errorf("a log of level %d: %v, want %v", newest+1, err, ErrLevel)
	}
}
