package migrate

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/server/internal/clock/clocktest"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

func someTombstones(n int) (all []topology.Tombstone) {
	for i := range n {
		all = topology.WithTombstone(all, topology.Tombstone{Group: strconv.Itoa(i), At: uint64(1000 + i)})
	}
	return all
}

// alone is the group a, of one server that is always of one mind, and hears of others only what a test tells it.
type alone struct {
	t          *testing.T
	slots      *Slots
	assignment topology.Assignment
	term       uint64 // 0: another one leads
	held       bool
	ends       uint64
	busy       bool // another change is under way
	written    bool
	agreed     int    // changes
	reply      []byte // of other groups
}

func newAlone(t *testing.T, restored *snapshot.Origin) *alone {
	t.Helper()
	g := &alone{t: t, term: 7, held: true}
	logf, due := func(logs.Level, string, ...any) {}, func(string) bool { return true }
	clock := clocktest.New()
	began := clock.Now()
	now := func() time.Duration { return clock.Since(began) }
	c, err := topology.New(topology.Options{Self: &topology.Identity{Name: "a", Restored: restored}, Own: own{g}, Network: network{g}, Silence: time.Minute,
		Now: now, Clock: clock, Done: t.Context(), Logf: logf, Due: due})
	if err != nil {
		t.Fatal(err)
	}
	g.slots = New(Options{Group: g, Cluster: c, Network: network{g}, Written: func() (bool, error) { return g.written, nil },
		Refer: func() (why, leader string) { return "", "" }, Now: now, Clock: clock, Done: t.Context(), Logf: logf, Due: due})
	return g
}

func (g *alone) Assignment() (now topology.Assignment, leads bool) { return g.assignment, g.term != 0 }

func (g *alone) Agree(_ context.Context, c topology.Change) (proposed bool, err error) {
	if g.busy {
		return false, raftnode.ErrChanging
	}
	next, err := c.Next(g.term, g.assignment)
	if err != nil {
		return false, err
	}
	g.agreed++
	if g.assignment = next; !c.Done(next) {
		g.t.Errorf("%+v is not what was wanted", next)
	}
	return true, nil
}

func (g *alone) Leading() uint64                 { return g.term }
func (g *alone) Lease() (held bool, ends uint64) { return g.held, g.ends }
func (g *alone) Settled() (uint64, topology.Assignment, error) {
	return uint64(g.agreed), g.assignment, nil
}

// own is the group as the cluster sees it.
type own struct{ *alone }

func (o own) Group() *topology.Group {
	return &topology.Group{Name: "a", Index: uint64(o.agreed) + 1, Assignment: o.assignment, Members: []topology.GroupMember{{ID: 1, Address: "127.0.0.1:1"}}}
}
func (own) Gone() bool     { return false }
func (own) Dismiss(string) {}
func (own) Keep([]byte)    {}
func (own) Last() uint64   { return 0 }

type network struct{ *alone }

func (n network) Ask(context.Context, string, uint64, []byte) ([]byte, error) { return n.reply, nil }
func (network) SetPeers(map[uint64]string)                                    {}

// hears tells it of another group, which has claimed something, and has one member.
func (g *alone) hears(name string, c topology.Assignment) {
	g.t.Helper()
	news := topology.Table{name: {Name: name, Index: 1, Term: 1, Leader: 1, Assignment: c, Members: []topology.GroupMember{{ID: 1, Address: "127.0.0.1:2"}}}}
	if err := g.slots.cluster.Take(topology.AppendGossip(nil, name, true, news)); err != nil {
		g.t.Fatal(err)
	}
}

// removed tells it that it was removed.
func (g *alone) removed() {
	g.hears("c", topology.Assignment{Slots: new(slots.Set), Since: 1, Tombstones: []topology.Tombstone{{Group: "a", At: 100}}})
}

// A restored group has the slots of its part at first, all of them at once and no others, whatever keys it has.
func TestRestoredGroupBeginsWithTheSlotsOfItsPart(t *testing.T) {
	g := newAlone(t, &snapshot.Origin{Group: "b", Whole: &snapshot.Whole{Name: "monday", ID: "x", Parts: []snapshot.Part{{Group: "a", Slots: "0-5"}, {Group: "b", Slots: "6-16383"}}}})
	g.written = true
	for _, text := range []string{"6-16382", "0-16383", "0-5"} {
		if err := g.slots.Claim(t.Context(), slotstest.Set(t, text)); !errors.Is(err, errRestoredSlots) {
			t.Errorf("%s: %v", text, err)
		}
	}
	g.slots.First()
	if g.assignment.Slots.String() != "6-16383" || g.assignment.Since != g.slots.wall() {
		t.Errorf("it has %+v", g.assignment)
	}
	if err := g.slots.Claim(t.Context(), slotstest.Set(t, "3")); err != nil {
		t.Errorf("a group that has claimed its slots is like others: %v", err)
	}
}

// A group that has written before it claimed anything gets no slots but all of them: some would hide the rest.
func TestGroupWithDataHasAllSlotsOrNone(t *testing.T) {
	g := newAlone(t, nil)
	g.written = true
	if err := g.slots.Claim(t.Context(), slotstest.Set(t, "1")); !errors.Is(err, errHasData) {
		t.Errorf("some: %v", err)
	}
	if err := g.slots.Claim(t.Context(), slots.All()); err != nil {
		t.Errorf("all: %v", err)
	}
}

// A removed group forgets when it is revived what it gave away, and is not revived while keys come.
func TestRemovedGroupIsRevivedWithoutItsMoves(t *testing.T) {
	moving := func() *alone {
		g := newAlone(t, nil)
		g.assignment = topology.Assignment{Slots: slotstest.Set(t, "0-9"), Since: 1 << 60, Given: []topology.Move{{Attempt: 1, Group: "b", Slots: slotstest.Set(t, "20")}}, Tombstones: someTombstones(2)}
		return g
	}
	g := moving()
	if err := g.slots.Claim(t.Context(), slotstest.Set(t, "20")); !errors.Is(err, errSlotsMove) {
		t.Errorf("a group that is not removed takes what it gave: %v", err)
	}
	g.removed()
	err := g.slots.Claim(t.Context(), slotstest.Set(t, "8 20"))
	if c := g.assignment; err != nil || c.Slots.String() != "8 20" || c.Moving() || c.Since <= 1<<60 || c.Revived != 100 || len(c.Tombstones) != 2 {
		t.Errorf("it is revived as %+v, %v", c, err)
	}
	g = moving()
	g.removed()
	g.assignment.Taking, g.assignment.Given = g.assignment.Given, nil
	if err := g.slots.Claim(t.Context(), slotstest.Set(t, "8")); !errors.Is(err, errSlotsMove) || g.agreed > 0 {
		t.Errorf("it is revived while keys come: %v", err)
	}
}

// A group that others know a later state of claims its slots again after some exchanges in a row, unless it was removed.
func TestGroupThatBeganAgainClaimsItsSlots(t *testing.T) {
	for what, x := range map[string]struct {
		change  func(g *alone)
		outdone []bool
		want    bool
	}{
		"three in a row":    {func(*alone) {}, []bool{true, true, true}, true},
		"not in a row":      {func(*alone) {}, []bool{true, true, false, true, true}, false},
		"one that follows":  {func(g *alone) { g.term = 0 }, []bool{true, true, true}, false},
		"a removed one":     {(*alone).removed, []bool{true, true, true}, false},
		"one without slots": {func(g *alone) { g.assignment = topology.Assignment{} }, []bool{true, true, true}, false},
	} {
		g := newAlone(t, nil)
		g.assignment = topology.Assignment{Slots: slotstest.Set(t, "0-9"), Since: 5}
		x.change(g)
		for _, outdone := range x.outdone {
			g.slots.Renew(outdone)
		}
		if got := g.assignment.Since == g.slots.wall(); got != x.want {
			t.Errorf("%s: it has claimed its slots again: %v", what, got)
		}
	}
}

// What a leader began in an earlier term it does not go on with: another one may have led meanwhile.
func TestMoveOfAnEarlierTermIsOver(t *testing.T) {
	g := newAlone(t, nil)
	g.assignment = topology.Assignment{Slots: slotstest.Set(t, "0-9"), Since: 5}
	g.hears("b", topology.Assignment{Slots: new(slots.Set), Since: 9})
	g.slots.cluster.Look()
	g.reply = []byte("{}")
	attempt, _, err := g.slots.Begin(t.Context(), topology.GroupPublicID("", "b"), slotstest.Set(t, "7"))
	if err != nil {
		t.Fatal(err)
	}
	g.term++
	if err := g.slots.Send(t.Context(), attempt, []byte("k")); !errors.Is(err, errMoveEnded) {
		t.Errorf("keys: %v", err)
	}
	if decided, err := g.slots.Give(t.Context(), attempt); !errors.Is(err, raftnode.ErrNotLeading) || !decided || g.agreed > 0 {
		t.Errorf("the slots: decided %v, %v", decided, err)
	}
}

// Whether the slots of an attempt were given away says only a leader that still is one.
func TestAttemptIsNotForgottenWithoutALease(t *testing.T) {
	g := newAlone(t, nil)
	if state, err := g.slots.attempt("b", 99); err != nil || state != attemptUnknown {
		t.Errorf("%s, %v", state, err)
	}
	g.held = false
	if state, err := g.slots.attempt("b", 99); !errors.Is(err, raftnode.ErrNotLeading) {
		t.Errorf("without a lease: %s, %v", state, err)
	}
}
