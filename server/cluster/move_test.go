package cluster

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"
)

// Slots go to another group when their keys have, and come back in the same way.
func TestSlotsMoveToAnotherGroupAndBack(t *testing.T) {
	a, b := twoMoving(t)
	of := slotSet(t, "5-9 100")
	attempt := a.begin(b, of)
	for _, keys := range []string{"first", "second"} {
		if err := a.node.SendKeys(t.Context(), attempt, []byte(keys)); err != nil {
			t.Fatal(err)
		}
	}
	if frames, removals := b.sees(); frames != "first second" || removals != 1 {
		t.Errorf("%q have come, after keys were removed %d times", frames, removals)
	}
	if _, expected, _ := b.node.Passing(); !expected.Equal(of) {
		t.Errorf("expected are the keys of %s", expected)
	}
	if b.claim().Slots.Len() > 0 || b.node.Division().Slots.Len() > 0 {
		t.Error("the slots are claimed before they are given")
	}
	if decided, err := a.node.GiveSlots(t.Context(), attempt); err != nil || !decided {
		t.Fatal(decided, err)
	}
	a.node.EndMove(attempt)
	if got := b.node.Division().Slots; !got.Equal(of) {
		t.Errorf("when GiveSlots returns the other group has %s", got)
	}
	moved(a, b, of)
	if _, removals := a.sees(); removals != 1 {
		t.Errorf("where the slots were keys were removed %d times", removals)
	}
	attempt = b.begin(a, of)
	if _, err := b.node.GiveSlots(t.Context(), attempt); err != nil {
		t.Fatal(err)
	}
	b.node.EndMove(attempt)
	moved(b, a, of)
}

// Shard channels of slots that were given away stay until the other group has the slots, which may take a while, and go
// then. With slots that are given up, or left by a server, they go at once.
func TestShardChannelsGoWhenTheirSlotsHaveGone(t *testing.T) {
	a, b := twoMoving(t)
	of, rest := slotSet(t, "5-9 100"), slots.All().Without(slotSet(t, "5-9 100"))
	a.hears(slots.All())
	b.hears(new(slots.Set))
	node := b.node // Reset makes another one
	a.mu.Lock()
	a.told = func(now *slots.Set) {
		if left, theirs := of.Without(now), node.roster().Claim.Slots; left.Without(theirs).Len() > 0 {
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
	a.node.others.reckon()
	a.hears(rest)
	b.hears(of)
	moved(a, b, of)
	if err := a.node.DropSlots(t.Context(), slotSet(t, "200-300")); err != nil {
		t.Fatal(err)
	}
	a.hears(rest.Without(slotSet(t, "200-300")))
	if err := b.seat.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.node = b.seat.Node()
	b.hears(new(slots.Set))
}

// An attempt that ends before the slots are given away leaves nothing behind.
func TestMoveThatIsGivenUpLeavesNothing(t *testing.T) {
	a, b := twoMoving(t)
	of := slotSet(t, "7")
	attempt := a.begin(b, of)
	if err := a.node.SendKeys(t.Context(), attempt, []byte("k")); err != nil {
		t.Fatal(err)
	}
	a.node.EndMove(attempt)
	stayed(a, b, of)
	if err := a.node.SendKeys(t.Context(), attempt, []byte("late")); !errors.Is(err, errMoveEnded) {
		t.Errorf("keys of an attempt that has ended: %v", err)
	}
	if err := a.node.others.sendKeys(t.Context(), b.node.Name(), attempt, []byte("late")); err == nil {
		t.Error("keys are taken of an attempt that has ended")
	}
	if decided, err := a.node.GiveSlots(t.Context(), attempt); err == nil || !decided {
		t.Errorf("slots of an attempt that has ended: %v, %v", decided, err)
	}
	stayed(a, b, of)
}

// Keys are asked for again when they are about to be taken: the attempt may have ended since they came.
func TestKeysAreRefusedWhenTheirAttemptHasEndedMeanwhile(t *testing.T) {
	a, b := twoMoving(t)
	of := slotSet(t, "7")
	attempt := a.begin(b, of)
	b.amid = func() {
		a.node.EndMove(attempt)
		b.until("the attempt has ended", func() bool { return !b.claim().moving() })
	}
	if err := a.node.SendKeys(t.Context(), attempt, []byte("late")); err == nil {
		t.Error("they are taken")
	}
	stayed(a, b, of)
}

// What a leader began in an earlier term it does not go on with: another one may have led meanwhile.
func TestMoveOfAnEarlierTermIsOver(t *testing.T) {
	a, b := twoMoving(t)
	of := slotSet(t, "7")
	attempt := a.begin(b, of)
	moves := &a.node.others.moves
	moves.mu.Lock()
	moves.leaving.term--
	moves.mu.Unlock()
	if err := a.node.SendKeys(t.Context(), attempt, []byte("k")); !errors.Is(err, errMoveEnded) {
		t.Errorf("keys: %v", err)
	}
	if decided, err := a.node.GiveSlots(t.Context(), attempt); !errors.Is(err, ErrNotLeading) || !decided {
		t.Errorf("the slots: decided %v, %v", decided, err)
	}
	a.node.EndMove(attempt)
	stayed(a, b, of)
}

// A group that has the slots and begins again before it has given them away keeps them; one that has, has not.
func TestLeaderThatEndsAmidAMove(t *testing.T) {
	of := slotSet(t, "7-8")
	for name, step := range map[string]func(a, b *moving, attempt uint64){
		"before all keys are there": func(a, _ *moving, _ uint64) { a.restart() },
		"when all keys are there": func(a, b *moving, attempt uint64) {
			if err := b.node.others.complete(t.Context(), b.node.runner.Load(), a.node.Name(), attempt); err != nil {
				t.Fatal(err)
			}
			a.restart()
		},
		"of the group that gets them, too": func(a, b *moving, _ uint64) { a.stop(); b.restart(); a.start() },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := twoMoving(t)
			attempt := a.begin(b, of)
			if err := a.node.SendKeys(t.Context(), attempt, []byte("k")); err != nil {
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
			if err := a.node.SendKeys(t.Context(), attempt, []byte("k")); err != nil {
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
	of := slotSet(t, "7")
	a.sticks(true)
	attempt := a.begin(b, of)
	if _, _, err := a.node.BeginMove(t.Context(), b.id(), slotSet(t, "8")); !errors.Is(err, errOtherMove) {
		t.Errorf("a second attempt: %v", err)
	}
	if err := b.node.TakeSlots(t.Context(), of); !errors.Is(err, ErrSlotsTaken) {
		t.Errorf("slots of another group are claimed: %v", err)
	}
	a.giveAlone(attempt)
	if err := a.node.TakeSlots(t.Context(), of); !errors.Is(err, errSlotsMove) && !errors.Is(err, ErrSlotsTaken) {
		t.Errorf("slots that were given away are claimed: %v", err)
	}
	a.until("the other group has them", func() bool { return b.claim().Slots.Equal(of) })
	if _, _, left := a.node.Passing(); !left.Equal(of) {
		t.Errorf("keys of %s are left", left)
	}
	r, back := a.node.runner.Load(), Move{Attempt: 5, Group: b.node.Name(), Slots: of}
	if err := a.node.others.expect(t.Context(), r, back); !errors.As(err, &retryable{}) {
		t.Errorf("slots come back while their keys are here: %v", err)
	}
	if taking := a.claim().Taking; len(taking) > 0 {
		t.Errorf("keys are expected of slots whose keys are here: %v", taking)
	}
	a.sticks(false)
	moved(a, b, of)
	if _, _, err := a.node.BeginMove(t.Context(), b.id(), of); !errors.Is(err, errNotOwn) {
		t.Errorf("slots of another group: %v", err)
	}
	if _, _, err := a.node.BeginMove(t.Context(), "nobody", slotSet(t, "9")); err == nil {
		t.Error("slots go to nobody")
	}
}

// Who says what about an attempt is looked at.
func TestWrongRequestsOfMovesChangeNothing(t *testing.T) {
	a, b := twoMoving(t)
	of := slotSet(t, "7")
	attempt := a.begin(b, of)
	o, r := b.node.others, b.node.runner.Load()
	if err := o.keysCome(t.Context(), "stranger", attempt, []byte("k")); !errors.Is(err, errNoSuchMove) {
		t.Errorf("keys from another group: %v", err)
	}
	if err := o.complete(t.Context(), r, "stranger", attempt); !errors.Is(err, errNoSuchMove) {
		t.Errorf("another group says that all keys are there: %v", err)
	}
	if _, err := o.takeGiven(t.Context(), r, &moveRequest{Group: "stranger", Attempt: attempt, Slots: "7"}); !errors.Is(err, errNoSuchMove) {
		t.Errorf("another group gives the slots away: %v", err)
	}
	if err := o.claim(t.Context(), r, attempt); !errors.Is(err, errNoSuchMove) {
		t.Errorf("slots are claimed whose keys are not there: %v", err)
	}
	if state, err := o.takeGiven(t.Context(), r, &moveRequest{Group: a.node.Name(), Attempt: 99, Slots: "7"}); err != nil || state != attemptUnknown {
		t.Errorf("an attempt that is not known: %s, %v", state, err)
	}
	for _, bad := range []string{"{", "{}", `{"What":"expect","Attempt":1,"Slots":"x"}`, `{"What":"expect","Attempt":0,"Slots":"1"}`, `{"What":"nothing"}`, "K", "K\x01", "K\x01a\x05keys"} {
		if reply := string(o.respondToMove(t.Context(), []byte(bad))); !strings.Contains(reply, `"Error"`) {
			t.Errorf("%s: %s", bad, reply)
		}
	}
	if reply := o.respondToMove(t.Context(), []byte("\x01b\x00")); reply != nil {
		t.Errorf("a letter is a request of a move: %s", reply)
	}
	if m := moveOf(b.claim().Taking, attempt); m == nil || m.State != moveOpen || len(b.claim().Taking) != 1 {
		t.Errorf("the moves are %v", b.claim().Taking)
	}
	// The leader of the group that has the slots says how an attempt is, and nobody else.
	for n, want := range map[uint64]string{attempt: attemptRuns, 99: attemptUnknown} {
		if state, err := a.node.others.attempt(a.node.runner.Load(), b.node.Name(), n); err != nil || state != want {
			t.Errorf("attempt %d: %s, %v", n, state, err)
		}
	}
	a.node.runner.Load().lease.Store(0)
	if state, err := a.node.others.attempt(a.node.runner.Load(), b.node.Name(), 99); err == nil && !a.node.Held() {
		t.Errorf("without a lease: %s", state)
	}
}

func someMoves(t testing.TB) []Move {
	return []Move{{1 << 63, "a", slotSet(t, "1-5"), moveOpen}, {2, strings.Repeat("n", maxGroupName), slotSet(t, "9 11"), moveComplete}, {3, "", new(slots.Set), moveVoid}}
}

// Slots on their way are kept with the members and in entries, and what was given is in tables.
func TestMovesAreReadAsTheyWereWritten(t *testing.T) {
	for _, c := range []Claim{{Slots: slotSet(t, "0-9"), Since: 5, Given: someMoves(t)}, {Slots: new(slots.Set), Taking: someMoves(t)[:1]}, {Slots: slotSet(t, "3"), Since: 1, Given: someMoves(t)[1:], Taking: someMoves(t)}} {
		b := c.entry()
		if got := decodeClaim(b, Claim{}); !reflect.DeepEqual(got.entry(), b) || len(got.Given) != len(c.Given) || len(got.Taking) != len(c.Taking) || !got.Slots.Equal(c.Slots) {
			t.Errorf("%+v is read as %+v", c, got)
		}
		for n := len(c.append(nil)) + 1; n < len(b); n++ {
			if got := decodeClaim(b[:n], Claim{Since: 77}); got.Since != 77 {
				t.Errorf("%d of %d bytes: %+v", n, len(b), got)
			}
		}
		m := &Members{Index: 7, Conf: &raftpb.ConfState{Voters: []uint64{4}}, Addresses: map[uint64]string{4: "a:1"}, Claim: c}
		got, err := decodeMembers(7, m.encode())
		if err != nil || !reflect.DeepEqual(got.entry(), b) {
			t.Errorf("members: %+v, %v", got, err)
		}
		all := table{"g": {Name: "g", Index: 4, Claim: c, Term: 2}, "h": {Name: "h", Claim: Claim{Slots: new(slots.Set)}}}
		read, err := decodeTable(all.encode())
		if err != nil || !reflect.DeepEqual(appendMoves(nil, read["g"].Claim.Given), appendMoves(nil, c.Given)) || read["g"].Term != 2 || read["g"].Claim.Taking != nil {
			t.Errorf("table: %+v, %v", read["g"], err)
		}
	}
	for what, bad := range map[string][]Move{
		"no number":      {{0, "a", slotSet(t, "1"), moveOpen}},
		"a number twice": {{5, "a", slotSet(t, "1"), moveOpen}, {5, "a", slotSet(t, "2"), moveOpen}},
		"another state":  {{5, "a", slotSet(t, "1"), moveVoid + 1}},
		"a long name":    {{5, strings.Repeat("n", maxGroupName+1), slotSet(t, "1"), moveOpen}},
		"too many":       make([]Move, maxMoves+1),
	} {
		d := decoder{b: appendMoves(nil, bad)}
		if got := d.moves(); d.err == nil {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// A slot that was given away and is not claimed yet counts as the other group's, and as covered.
func TestSlotThatWasGivenAwayIsAboutToBeAnothers(t *testing.T) {
	given := Move{1, "b", slotSet(t, "5-6"), moveOpen}
	all := table{
		"a": {Name: "a", Claim: Claim{Slots: slotSet(t, "0-4"), Since: 1, Given: []Move{given, {2, "nobody", slotSet(t, "9"), moveOpen}}}},
		"b": {Name: "b", Claim: Claim{Slots: slotSet(t, "7"), Since: 2}},
	}
	of, come, taken := all.divide()
	if of["b"].String() != "7" || come["b"].String() != "5-6" || taken.String() != "0-7" {
		t.Errorf("b has %s and gets %s; taken are %s", of["b"], come["b"], taken)
	}
	all["c"] = &Group{Name: "c", Claim: Claim{Slots: slotSet(t, "6"), Since: 3}}
	if _, come, _ = all.divide(); come["b"].String() != "5" {
		t.Errorf("what another group claims comes to b: %s", come["b"])
	}
	// The order in which news come does not matter.
	r := rand.New(rand.NewPCG(2, 3))
	news := []*Group{{Name: "a", Index: 1, Claim: Claim{Slots: slotSet(t, "0-6"), Since: 1}}, {Name: "a", Index: 2, Claim: all["a"].Claim}, {Name: "a", Index: 3, Claim: Claim{Slots: slotSet(t, "0-4"), Since: 1}}}
	for range 20 {
		r.Shuffle(len(news), func(i, j int) { news[i], news[j] = news[j], news[i] })
		var g *Group
		for _, n := range news {
			g = joined(g, n)
		}
		if g.Index != 3 || len(g.Claim.Given) != 0 {
			t.Fatalf("%+v", g)
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
	if err := b.store.WaitDurable(position); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.node.BeginMove(t.Context(), b.id(), slotSet(t, "1")); err == nil || !strings.Contains(err.Error(), "would hide") {
		t.Errorf("it gets slots: %v", err)
	}
}

// Any server has the leader of a group move slots of that.
func TestMovesAreOrderedOfOtherGroups(t *testing.T) {
	a, b := twoMoving(t)
	if err := b.node.OrderMove(t.Context(), a.id(), b.id(), slotSet(t, "4-6 9")); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	orders := strings.Join(a.orders, ", ")
	a.mu.Unlock()
	if want := "4-6 9 to " + b.id(); orders != want {
		t.Errorf("ordered is %q, want %q", orders, want)
	}
	for _, ids := range [][2]string{{"nobody", b.id()}, {a.id(), "nobody"}} {
		if err := b.node.OrderMove(t.Context(), ids[0], ids[1], slotSet(t, "1")); err == nil {
			t.Errorf("a move from %s to %s is ordered", ids[0], ids[1])
		}
	}
}
