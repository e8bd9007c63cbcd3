package cluster

import (
	"errors"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/cluster/migrate"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// Slots go to another group when their keys have, and come back in the same way.
func TestSlotsMoveToAnotherGroupAndBack(t *testing.T) {
	a, b := twoMoving(t)
	of := slotstest.Set(t, "5-9 100")
	attempt := a.begin(b, of)
	for _, keys := range []string{"first", "second"} {
		if err := a.handle.SendKeys(t.Context(), attempt, []byte(keys)); err != nil {
			t.Fatal(err)
		}
	}
	if frames, removals := b.sees(); frames != "first second" || removals != 1 {
		t.Errorf("%q have come, after keys were removed %d times", frames, removals)
	}
	if _, expected, _ := b.handle.Passing(); !expected.Equal(of) {
		t.Errorf("expected are the keys of %s", expected)
	}
	if b.assignment().Slots.Len() > 0 || b.node.Division().Slots.Len() > 0 {
		t.Error("the slots are claimed before they are given")
	}
	if decided, err := a.handle.GiveSlots(t.Context(), attempt); err != nil || !decided {
		t.Fatal(decided, err)
	}
	a.handle.EndMove(attempt)
	if got := b.node.Division().Slots; !got.Equal(of) {
		t.Errorf("when GiveSlots returns the other group has %s", got)
	}
	moved(a, b, of)
	if _, removals := a.sees(); removals != 1 {
		t.Errorf("where the slots were keys were removed %d times", removals)
	}
	attempt = b.begin(a, of)
	if _, err := b.handle.GiveSlots(t.Context(), attempt); err != nil {
		t.Fatal(err)
	}
	b.handle.EndMove(attempt)
	moved(b, a, of)
}

// Shard channels of slots that were given away stay until the other group has the slots, which may take a while, and go
// then. With slots that are given up, or left by a server, they go at once.
func TestShardChannelsGoWhenTheirSlotsHaveGone(t *testing.T) {
	a, b := twoMoving(t)
	of, rest := slotstest.Set(t, "5-9 100"), slots.All().Without(slotstest.Set(t, "5-9 100"))
	a.hears(slots.All())
	b.hears(new(slots.Set))
	node := b.node // Reset makes another one
	a.mu.Lock()
	a.told = func(now *slots.Set) {
		if left, theirs := of.Without(now), node.roster().Assignment.Slots; left.Without(theirs).Len() > 0 {
			t.Errorf("the shard channels of %s have gone, and the other group has the slots %s", left, theirs)
		}
	}
	a.mu.Unlock()
	b.mu.Lock()
	b.told = func(now *slots.Set) {
		if early := now.Both(node.Division().Slots); early.Len() > 0 {
			t.Errorf("clients can subscribe to channels of %s before the server knows that it has them", early)
		}
	}
	b.mu.Unlock()
	a.giveAlone(a.begin(b, of))
	news := topology.Table{"stranger": {Name: "stranger", Index: 1, Members: []topology.GroupMember{{ID: 1, Address: "127.0.0.1:1"}}}}
	if err := a.node.cluster.Take(topology.AppendGossip(nil, "", false, news)); err != nil { // the slots are divided anew
		t.Fatal(err)
	}
	a.hears(rest)
	b.hears(of)
	moved(a, b, of)
	if err := a.handle.DropSlots(t.Context(), slotstest.Set(t, "200-300")); err != nil {
		t.Fatal(err)
	}
	a.hears(rest.Without(slotstest.Set(t, "200-300")))
	if err := b.handle.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.node = b.handle.Node()
	b.hears(new(slots.Set))
}

// An attempt that ends before the slots are given away leaves nothing behind.
func TestMoveThatIsGivenUpLeavesNothing(t *testing.T) {
	a, b := twoMoving(t)
	of := slotstest.Set(t, "7")
	attempt := a.begin(b, of)
	if err := a.handle.SendKeys(t.Context(), attempt, []byte("k")); err != nil {
		t.Fatal(err)
	}
	a.handle.EndMove(attempt)
	stayed(a, b, of)
	if err := a.handle.SendKeys(t.Context(), attempt, []byte("late")); !says(err, "the move has ended") {
		t.Errorf("keys of an attempt that has ended: %v", err)
	}
	if got := b.asked(frame(a.node.Name(), attempt, "late")); got.Error == "" {
		t.Error("keys are taken of an attempt that has ended")
	}
	if decided, err := a.handle.GiveSlots(t.Context(), attempt); err == nil || !decided {
		t.Errorf("slots of an attempt that has ended: %v, %v", decided, err)
	}
	stayed(a, b, of)
}

// Keys are asked for again when they are about to be taken: the attempt may have ended since they came.
func TestKeysAreRefusedWhenTheirAttemptHasEndedMeanwhile(t *testing.T) {
	a, b := twoMoving(t)
	of := slotstest.Set(t, "7")
	attempt := a.begin(b, of)
	b.amid = func() {
		a.handle.EndMove(attempt)
		b.until("the attempt has ended", func() bool { return !b.assignment().Moving() })
	}
	if err := a.handle.SendKeys(t.Context(), attempt, []byte("late")); err == nil {
		t.Error("they are taken")
	}
	stayed(a, b, of)
}

// A group that has the slots and begins again before it has given them away keeps them; one that has, has not.
func TestLeaderThatEndsAmidAMove(t *testing.T) {
	of := slotstest.Set(t, "7-8")
	for name, step := range map[string]func(a, b *moving, attempt uint64){
		"before all keys are there": func(a, _ *moving, _ uint64) { a.restart() },
		"when all keys are there": func(a, b *moving, attempt uint64) {
			if got := b.askedBy(a.node.Name(), "complete", attempt, ""); got.Error != "" {
				t.Fatal(got.Error)
			}
			a.restart()
		},
		"of the group that gets them, too": func(a, b *moving, _ uint64) { a.stop(); b.restart(); a.start() },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := twoMoving(t)
			attempt := a.begin(b, of)
			if err := a.handle.SendKeys(t.Context(), attempt, []byte("k")); err != nil {
				t.Fatal(err)
			}
			step(a, b, attempt)
			stayed(a, b, of)
		})
	}
	for name, step := range map[string]func(a, b *moving){
		"after they were given away":                   func(a, _ *moving) { a.restart() },
		"of the group that gets them, after they were": func(_, b *moving) { b.restart() },
		"of both": func(a, b *moving) { a.stop(); b.stop(); b.start(); a.start() },
		"and nobody is there to take them for some time": func(a, b *moving) { b.stop(); a.restart(); b.start() },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := twoMoving(t)
			attempt := a.begin(b, of)
			if err := a.handle.SendKeys(t.Context(), attempt, []byte("k")); err != nil {
				t.Fatal(err)
			}
			a.giveAlone(attempt)
			step(a, b)
			moved(a, b, of)
			if frames, _ := b.sees(); frames != "k" {
				t.Errorf("the keys are %q", frames)
			}
		})
	}
}

// Until the group that gave slots away has removed their keys they cannot come back, and those that keys come for cannot be
// claimed otherwise.
func TestSlotsThatAreOnTheirWayGoNowhereElse(t *testing.T) {
	a, b := twoMoving(t)
	of := slotstest.Set(t, "7")
	a.sticks(true)
	attempt := a.begin(b, of)
	if _, _, err := a.handle.BeginMove(t.Context(), b.id(), slotstest.Set(t, "8")); !says(err, "about to move other slots") {
		t.Errorf("a second attempt: %v", err)
	}
	if err := b.handle.TakeSlots(t.Context(), of); !errors.Is(err, migrate.ErrSlotsTaken) {
		t.Errorf("slots of another group are claimed: %v", err)
	}
	a.giveAlone(attempt)
	if err := a.handle.TakeSlots(t.Context(), of); !says(err, "on their way") && !errors.Is(err, migrate.ErrSlotsTaken) {
		t.Errorf("slots that were given away are claimed: %v", err)
	}
	a.until("the other group has them", func() bool { return b.assignment().Slots.Equal(of) })
	if _, _, left := a.handle.Passing(); !left.Equal(of) {
		t.Errorf("keys of %s are left", left)
	}
	if got := a.askedBy(b.node.Name(), "expect", 5, of.String()); !got.Again {
		t.Errorf("slots come back while their keys are here: %+v", got)
	}
	if taking := a.assignment().Taking; len(taking) > 0 {
		t.Errorf("keys are expected of slots whose keys are here: %v", taking)
	}
	a.sticks(false)
	moved(a, b, of)
	if _, _, err := a.handle.BeginMove(t.Context(), b.id(), of); !says(err, "does not have all of the slots") {
		t.Errorf("slots of another group: %v", err)
	}
	if _, _, err := a.handle.BeginMove(t.Context(), "nobody", slotstest.Set(t, "9")); err == nil {
		t.Error("slots go to nobody")
	}
}

// Who says what about an attempt is looked at.
func TestWrongRequestsOfMovesChangeNothing(t *testing.T) {
	a, b := twoMoving(t)
	of := slotstest.Set(t, "7")
	attempt := a.begin(b, of)
	for what, got := range map[string]told{
		"keys from another group":                       b.asked(frame("stranger", attempt, "k")),
		"another group says that all keys are there":    b.askedBy("stranger", "complete", attempt, ""),
		"another group gives the slots away":            b.askedBy("stranger", "take", attempt, "7"),
		"slots are given away whose keys are not there": b.askedBy(a.node.Name(), "take", attempt, "7"),
	} {
		if !strings.Contains(got.Error, "no such move is expected") {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if got := b.askedBy(a.node.Name(), "take", 99, "7"); got.Error != "" || got.State != "unknown" {
		t.Errorf("an attempt that is not known: %+v", got)
	}
	for _, bad := range []string{"{", "{}", `{"What":"expect","Attempt":1,"Slots":"x"}`, `{"What":"expect","Attempt":0,"Slots":"1"}`, `{"What":"nothing"}`, "K", "K\x01", "K\x01a\x05keys"} {
		if reply := string(b.node.slots.Respond(t.Context(), []byte(bad))); !strings.Contains(reply, `"Error"`) {
			t.Errorf("%s: %s", bad, reply)
		}
	}
	if reply := b.node.slots.Respond(t.Context(), []byte("\x01b\x00")); reply != nil {
		t.Errorf("gossip is a request of a move: %s", reply)
	}
	if m := topology.MoveOf(b.assignment().Taking, attempt); m == nil || m.State != topology.MoveOpen || len(b.assignment().Taking) != 1 {
		t.Errorf("the moves are %v", b.assignment().Taking)
	}
	// The leader of the group that has the slots says how an attempt is, and nobody else.
	for n, want := range map[uint64]string{attempt: "runs", 99: "unknown"} {
		if got := a.askedBy(b.node.Name(), "how", n, ""); got.Error != "" || got.State != want {
			t.Errorf("attempt %d: %+v", n, got)
		}
	}
}

// A group that has data of all slots, as it was no part of a cluster when that was written, gets no slots: they would hide
// the rest.
func TestGroupWithDataOfAllSlotsGetsNone(t *testing.T) {
	a, b := twoMoving(t)
	tx := b.store.NewTx()
	var set persistence.Shards
	set.Add(b.store.Hash([]byte("k")))
	tx.Lock(&set, 1000)
	tx.SetString([]byte("k"), []byte("v"), persistence.NoExpiry)
	position := tx.Commit()
	tx.Unlock()
	if err := b.store.Commits().WaitDurable(position); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.handle.BeginMove(t.Context(), b.id(), slotstest.Set(t, "1")); err == nil || !strings.Contains(err.Error(), "would hide") {
		t.Errorf("it gets slots: %v", err)
	}
}

// Any server can tell the leader of a group to move slots of that.
func TestMovesAreOrderedOfOtherGroups(t *testing.T) {
	a, b := twoMoving(t)
	if err := b.handle.OrderMove(t.Context(), a.id(), b.id(), slotstest.Set(t, "4-6 9")); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	orders := strings.Join(a.orders, ", ")
	a.mu.Unlock()
	if want := "4-6 9 to " + b.id(); orders != want {
		t.Errorf("ordered is %q, want %q", orders, want)
	}
	for _, ids := range [][2]string{{"nobody", b.id()}, {a.id(), "nobody"}} {
		if err := b.handle.OrderMove(t.Context(), ids[0], ids[1], slotstest.Set(t, "1")); err == nil {
			t.Errorf("a move from %s to %s is ordered", ids[0], ids[1])
		}
	}
}

// says reports whether an error has a text.
func says(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
