package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/cluster/migrate"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// buries removes another group, which has ended and counts as silent for long enough.
func (m *moving) buries(other *moving) (freed *slots.Set) {
	m.t.Helper()
	name, err := other.node.Name(), error(nil)
	m.later.Add(int64(time.Hour))
	m.until("the group is buried", func() bool {
		var known bool
		freed, known, err = m.handle.BuryGroup(m.t.Context(), topology.MemberPublicID(moveSecret, name, singleID))
		if err == nil && !known {
			m.t.Fatalf("group %s is not known", name)
		}
		return err == nil || !strings.Contains(err.Error(), "only one that has been silent") // a last message was under way
	})
	if err != nil {
		m.t.Fatal(err)
	}
	if !m.node.cluster.Removed(name) {
		m.t.Error("the group is not removed when BuryGroup returns")
	}
	return freed
}

// adds gives slots that nobody has to the group, as CLUSTER ADDSLOTS does.
func (m *moving) adds(of *slots.Set) {
	m.t.Helper()
	if err := m.handle.TakeSlots(m.t.Context(), of); err != nil {
		m.t.Fatal(err)
	}
}

// Slots that were given to a group which is lost before it has taken them come back with their keys, also to a giver that begins again.
func TestSlotsGivenToALostGroupComeBack(t *testing.T) {
	for name, again := range map[string]func(a *moving){"": func(*moving) {}, "after a restart": (*moving).restart} {
		t.Run(name, func(t *testing.T) {
			a, b := twoMoving(t)
			of := slotstest.Set(t, "5-9")
			a.mu.Lock()
			a.frames = []string{"kept"}
			a.told = func(now *slots.Set) {
				if of.Without(now).Len() > 0 {
					t.Errorf("shard channels of slots that come back are ended: they are those of %s", now)
				}
			}
			a.mu.Unlock()
			a.hears(slots.All())
			attempt := a.begin(b, of)
			b.stop()
			a.giveWithout(attempt)
			again(a)
			name := b.node.Name()
			if freed := a.buries(b); freed.Len() > 0 {
				t.Errorf("slots are free that are about to come back: %s", freed)
			}
			if got := a.askedBy(name, "how", attempt, ""); got.State == "given" {
				t.Errorf("the removed group is told that the slots are given: %+v", got)
			}
			if _, _, err := a.handle.BeginMove(t.Context(), b.id(), slotstest.Set(t, "100")); err == nil {
				t.Error("slots are moved to a removed group")
			}
			a.until("the slots are back", func() bool { return !a.assignment().Moving() && a.node.Division().Slots.Len() == slots.Count })
			if frames, removals := a.sees(); frames != "kept" || removals > 0 {
				t.Errorf("keys of the slots were removed %d times", removals)
			}
			a.hears(slots.All())
			if d := a.node.Division(); !d.Covered || len(d.Others) > 0 {
				t.Errorf("the division is %+v", d)
			}
		})
	}
}

// giveWithout makes the entry by which slots are given away, for which the other group is not asked: it said before that all keys are there.
func (m *moving) giveWithout(attempt uint64) {
	m.t.Helper()
	given := topology.Move{Attempt: attempt, Group: m.last.to.node.Name(), Slots: m.last.of}
	if _, err := (group{m.node}).Agree(m.t.Context(), topology.Change{Patient: true, Next: func(_ uint64, now topology.Assignment) (topology.Assignment, error) { return now.Gives(given), nil },
		Done: func(now topology.Assignment) bool { return topology.MoveOf(now.Given, attempt) != nil }}); err != nil {
		m.t.Fatal(err)
	}
	m.handle.EndMove(attempt)
}

// Slots that the lost group is known to have taken are lost with it: the giver may have only some of their keys left.
func TestSlotsThatALostGroupHadTakenAreFree(t *testing.T) {
	a, b := twoMoving(t)
	of := slotstest.Set(t, "5-9")
	a.sticks(true)
	a.giveAlone(a.begin(b, of))
	a.until("the other group is heard to have them", func() bool {
		return a.node.Division().Others[0].Assignment.Slots.Equal(of)
	})
	b.stop()
	a.buries(b)
	a.sticks(false)
	a.until("the move is over", func() bool { return !a.assignment().Moving() })
	a.until("the slots are of nobody", func() bool { // which is known a moment after the roster
		got := a.node.Division()
		return got.Slots.Both(of).Len() == 0 && got.Importing.Len() == 0 && !got.Covered
	})
	if _, removals := a.sees(); removals == 0 {
		t.Error("keys that may not be all are left")
	}
	a.adds(of)
}

// Slots whose keys have all come from a group that is lost are taken: nobody knows more of them. Without all keys they are not, nor if
// another group has taken one of them meanwhile.
func TestSlotsThatHaveAllComeFromALostGroupAreTaken(t *testing.T) {
	of := slotstest.Set(t, "5-9")
	begun := func(t *testing.T, complete bool) (a, b *moving) {
		t.Helper()
		a, b = twoMoving(t)
		attempt := a.begin(b, of)
		if err := a.handle.SendKeys(t.Context(), attempt, []byte("k")); err != nil {
			t.Fatal(err)
		}
		if complete {
			if got := b.askedBy(a.node.Name(), "complete", attempt, ""); got.Error != "" {
				t.Fatal(got.Error)
			}
		}
		a.stop()
		return a, b
	}
	for what, x := range map[string]struct {
		complete bool
		third    bool // another group takes one
		slots    string
		keys     string
	}{"all keys": {true, false, "5-9", "k"}, "some keys": {false, false, "", ""}, "all keys, and one slot is taken": {true, true, "", ""}} {
		t.Run(what, func(t *testing.T) {
			a, b := begun(t, x.complete)
			if x.third {
				gossip := topology.AppendGossip(nil, "", false, topology.Table{"third": {Name: "third", Index: 1, Term: 1, Leader: 1, Assignment: topology.Assignment{Slots: slotstest.Set(t, "9"), Since: 1 << 50}, Members: []topology.GroupMember{{ID: 1, Address: "127.0.0.1:1"}}}})
				if err := b.node.cluster.Take(gossip); err != nil {
					t.Fatal(err)
				}
			}
			if freed := b.buries(a); freed.Len() < slots.Count-1-of.Len() {
				t.Errorf("free are %s", freed)
			}
			b.until("the move is over", func() bool { return !b.assignment().Moving() && b.node.Division().Slots.String() == x.slots })
			if frames, _ := b.sees(); frames != x.keys {
				t.Errorf("the keys are %q, want %q", frames, x.keys)
			}
		})
	}
}

// A removed group that comes back has no slots, whatever it claims, takes none, and is revived by slots that are given to it by
// hand and that no group has.
func TestRemovedGroupThatComesBackHasNothing(t *testing.T) {
	a, b := twoMoving(t)
	if err := a.handle.DropSlots(t.Context(), slotstest.Set(t, "0-99")); err != nil {
		t.Fatal(err)
	}
	b.until("slots are free", func() bool { return b.node.Division().Others[0].Slots.Len() == slots.Count-100 })
	b.adds(slotstest.Set(t, "0-99"))
	a.until("the groups have slots", func() bool { return a.node.Division().Covered })
	b.stop()
	if freed := a.buries(b); !freed.Equal(slotstest.Set(t, "0-99")) {
		t.Errorf("free are %s", freed)
	}
	a.adds(slotstest.Set(t, "0-49"))
	before := b.assignment()
	b.with = []string{"127.0.0.1:1"} // it is told of nobody new
	b.start()
	b.until("it has heard of its tombstone", func() bool { return b.node.cluster.Removed(b.node.Name()) })
	if d := b.node.Division(); d.Slots.Len() > 0 || len(d.Others) != 1 || d.Others[0].Slots.Len() != slots.Count-50 {
		t.Errorf("it has %s; the others are %+v", d.Slots, d.Others)
	}
	if _, _, err := b.handle.BuryGroup(t.Context(), topology.MemberPublicID(moveSecret, a.node.Name(), singleID)); !errors.Is(err, topology.ErrSelfRemoved) {
		t.Errorf("it buries another one: %v", err)
	}
	if got := a.askedBy(b.node.Name(), "expect", 7, "60"); got.Error == "" || len(a.assignment().Taking) > 0 {
		t.Errorf("its keys are expected: %+v", got)
	}
	if got := b.askedBy(a.node.Name(), "expect", 7, "200"); !strings.Contains(got.Error, topology.ErrRemoved.Error()) {
		t.Errorf("it expects keys: %+v", got)
	}
	if err := b.handle.TakeSlots(t.Context(), slotstest.Set(t, "49-50")); !errors.Is(err, migrate.ErrSlotsTaken) {
		t.Errorf("it takes slots that another group has: %v", err)
	}
	if got := a.node.Division(); len(got.Others) > 0 {
		t.Errorf("the other group sees it: %+v", got.Others)
	}
	b.adds(slotstest.Set(t, "60-69"))
	a.until("it is back", func() bool {
		d := a.node.Division()
		return len(d.Others) == 1 && d.Others[0].Slots.String() == "60-69"
	})
	if got := b.assignment(); got.Since <= before.Since || got.Slots.String() != "60-69" || b.node.Division().Slots.String() != "60-69" {
		t.Errorf("it claims %s since %d", got.Slots, got.Since)
	}
	b.stop()
	if freed := a.buries(b); freed.String() != "60-69" {
		t.Errorf("buried again, free are %s", freed)
	}
}

// A tombstone is in the logs of all groups: when that which made it is gone, too, the others know of it.
func TestTombstoneIsKnownAsLongAsAGroupIsLeft(t *testing.T) {
	a, b := twoMoving(t)
	c := newMoving(t, nil, a.with...)
	c.with = []string{"127.0.0.1:1"}
	meets := func(from, to *moving) {
		t.Helper()
		if err := from.handle.Meet(t.Context(), to.node.self.Address); err != nil {
			t.Fatal(err)
		}
	}
	meets(b, c)
	if err := a.handle.DropSlots(t.Context(), slotstest.Set(t, "0-99")); err != nil {
		t.Fatal(err)
	}
	b.until("slots are free", func() bool { return b.handle.TakeSlots(t.Context(), slotstest.Set(t, "0-49")) == nil })
	c.until("slots are free", func() bool {
		return len(c.node.Division().Others) == 2 && c.handle.TakeSlots(t.Context(), slotstest.Set(t, "50-99")) == nil
	})
	b.until("all have slots", func() bool { return b.node.Division().Covered && a.node.Division().Covered })
	c.stop()
	a.buries(c)
	b.until("the other log has it", func() bool { return topology.TombstoneOf(b.assignment().Tombstones, c.node.Name()) > 0 })
	a.stop()
	b.buries(a)
	b.node.note(func(self *topology.Identity) { self.Others = nil }) // the table is lost, which the log makes up for
	b.with = []string{"127.0.0.1:1"}
	b.stop()
	b.start()
	c.start()
	c.until("it has heard of its tombstone", func() bool {
		_ = b.handle.Meet(t.Context(), c.node.self.Address)
		return c.node.cluster.Removed(c.node.Name())
	})
	if d := c.node.Division(); d.Slots.Len() > 0 {
		t.Errorf("it has %s", d.Slots)
	}
	if d := b.node.Division(); len(d.Others) > 0 || d.Slots.String() != "0-49" {
		t.Errorf("the group that is left has %s, and sees %+v", d.Slots, d.Others)
	}
}
