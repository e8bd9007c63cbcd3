package resharding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// Keys are on their way before their slots are fenced, though they do not fill a frame: clients wait only for what has changed
// since. What arrives is what was there last, and nothing of other slots.
func TestKeysAreSentBeforeTheFence(t *testing.T) {
	r := newRoom(t)
	for i := range 3000 {
		r.set(fmt.Sprint("{b}", i), "first")
		r.set(fmt.Sprint("{a}", i), "first")
	}
	frames, fenced := 0, 0
	r.sends = func(keys []byte) error {
		if r.fence.Of() != nil {
			fenced += len(keys)
		}
		if frames++; frames <= 2 { // while all keys are on their way, and while those are that have changed since
			for i := range 1000 / frames {
				r.set(fmt.Sprint("{b}", i), fmt.Sprint(frames))
			}
			r.tx([]string{"{b}2999"}, func(tx *persistence.Tx) { tx.Delete([]byte("{b}2999")) })
		}
		return nil
	}
	r.order("3300 3301")
	if got := r.gives(); got != "3300-3301" || r.fence.Of().String() != got {
		t.Errorf("%s goes, and %v is fenced", got, r.fence.Of())
	}
	r.given <- nil
	r.untilProgress("success of 3300-3301 2/2")
	if frames != 3 || fenced == 0 || fenced > 1000*len("\x07{b}0123k12345678abcd1") {
		t.Errorf("%d frames were sent, and %d bytes while the slots were fenced", frames, fenced)
	}
	if r.fence.Of() != nil || fmt.Sprint(r.away) != "[3300-3301]" {
		t.Errorf("%v is fenced, and clients of %q were sent away", r.fence.Of(), r.away)
	}
	to := newRoom(t)
	to.have(new(slots.Set), slots.All())
	if err := to.Keys.Take(r.sent, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		want := "first"
		switch {
		case i < 500:
			want = "2"
		case i < 1000:
			want = "1"
		case i == 2999:
			want = ""
		}
		if got := to.value(fmt.Sprint("{b}", i)); got != want {
			t.Errorf("{b}%d: got %q, want %q", i, got, want)
		}
		if got := to.value(fmt.Sprint("{a}", i)); got != "" {
			t.Errorf("{a}%d has come", i)
		}
	}
}

// Slots are not given away while a script runs, which may change their keys yet.
func TestSlotsWaitForScripts(t *testing.T) {
	r := newRoom(t)
	r.busy = true
	r.order("3300")
	r.until("the slots are fenced", func() bool { return r.fence.Of() != nil && r.clock.Planned() > 1 })
	r.clock.Advance(lockPause)
	select {
	case <-r.giving:
		t.Fatal("they are given away")
	default:
	}
	r.set("b", "late")
	change(r, func() { r.busy = false })
	r.givesAfter(lockPause / 50)
	if !strings.Contains(string(get(r, &r.sent)), "late") {
		t.Error("what the script has changed does not arrive")
	}
	r.given <- nil
	r.untilProgress("success of 3300 1/1")
}

// A fence ends after a time, and nothing is given away when what is left takes longer.
func TestFenceHasAnEnd(t *testing.T) {
	r := newRoom(t)
	r.busy = true
	r.order("3300")
	r.until("the slots are fenced", func() bool { return r.fence.Of() != nil && r.clock.Planned() > 1 })
	r.clock.Advance(3 * time.Second)
	r.until("the move is tried again", func() bool { return r.Moves.List()[0].Retries == 1 })
	if m := r.Moves.List()[0]; !strings.Contains(m.Message, "longer than cluster-node-timeout, 3s") || r.fence.Of() != nil {
		t.Errorf("got %+v; fenced is %v", m, r.fence.Of())
	}
}

// When the server ends amid a move, nothing is given away that was not copied whole.
func TestNothingIsGivenAwayByAServerThatEnds(t *testing.T) {
	r := newRoom(t)
	r.busy = true
	r.order("3300")
	r.until("the slots are fenced", func() bool { return r.fence.Of() != nil && r.clock.Planned() > 1 })
	r.stop()
	r.until("the move has ended", func() bool { return strings.HasPrefix(r.progress(), "failed") })
	if n := len(r.store.Texts(persistence.Moves)); n != 1 {
		t.Errorf("%d moves are kept for the next leader", n)
	}
	if len(r.away) > 0 {
		t.Errorf("clients of %q were sent away", r.away)
	}
}

// Keys stay fenced as long as it is not decided whose the slots are: until the leadership ends.
func TestFenceGoesOnUntilTheOutcomeIsKnown(t *testing.T) {
	r := newRoom(t)
	r.undone = true
	r.order("3300")
	r.gives()
	r.given <- errors.New("the outcome is not known")
	r.until("the reason is told", func() bool { return r.Moves.List()[0].Message == "the outcome is not known" })
	if r.fence.Of() == nil {
		t.Error("the slots are not fenced any more")
	}
	r.fence.Follow()
	if r.fence.Of() != nil {
		t.Error("the slots are still fenced")
	}
}

// A move that fails is tried again, later each time, and given up after twelve times.
func TestMoveIsTriedAgainForAWhile(t *testing.T) {
	r := newRoom(t)
	r.begins = func(*slots.Set) error { return errors.New("the other group sleeps") }
	start := r.clock.Now()
	r.order("3300")
	r.until("it has failed", func() bool {
		r.clock.Advance(10 * time.Millisecond)
		return r.progress() == "failed of 3300 0/1"
	})
	m := r.Moves.List()[0]
	if took := r.clock.Since(start); m.Retries != maxTries-1 || m.Message != "the other group sleeps" || took < 20*time.Second {
		t.Errorf("after %v: %+v", took, m)
	}
	if kept := r.store.Texts(persistence.Moves); len(kept) > 0 {
		t.Errorf("%q is kept", kept)
	}
}

// While all keys are removed the changed ones are not known: fewer slots go at a time then.
func TestFewerSlotsGoWhenChangesAreLost(t *testing.T) {
	r := newRoom(t)
	r.set("b", "1")
	first := true
	r.sends = func([]byte) error {
		if first {
			first = false
			r.tx(nil, func(tx *persistence.Tx) { tx.Databases().FlushAll() })
		}
		return nil
	}
	r.order("3300-3303")
	for _, want := range []string{"3300-3301", "3302-3303"} {
		if got := r.givesAfter(firstPause); got != want {
			t.Errorf("%s goes, want %s", got, want)
		}
		r.given <- nil
	}
	r.untilProgress("success of 3300-3303 4/4")
}

// A move that was ordered twice is made once, and one of slots that have gone elsewhere fails at once: others wait behind it.
func TestMovesOfSlotsThatHaveGoneDoNotWait(t *testing.T) {
	r := newRoom(t)
	r.order("3300")
	r.gives()
	r.order("3300-3301", "3302-3303", "3304")
	r.given <- nil
	if got := r.gives(); got != "3301" {
		t.Errorf("%s goes", got)
	}
	r.know(func(m *commands.Membership) { m.Slots = m.Slots.Without(slotstest.Set(t, "3302")) }) // a group has it that this server knows little of
	r.given <- nil
	r.gives() // 3304: nobody waits for the clock
	r.given <- nil
	r.untilProgress("success of 3300 1/1, success of 3300-3301 2/2, failed of 3302-3303 0/2, success of 3304 1/1")
	r.order("3305", "3306")
	r.gives()
	r.know(func(m *commands.Membership) { m.OtherShards = nil })
	r.given <- errors.New("nobody is there")
	r.until("moves to a group that is gone fail", func() bool { return strings.HasSuffix(r.progress(), "failed of 3305 0/1, failed of 3306 0/1") })
	if m := r.Moves.List()[5].Message; m != ErrGone.Error() {
		t.Errorf("the reason is %s", m)
	}
}

// As many moves wait as may, and what is refused leaves nothing. All end by Cancel.
func TestTooManyMovesAreRefused(t *testing.T) {
	r := newRoom(t)
	for i := range MaxMoves - 1 {
		r.order(fmt.Sprint(i))
	}
	if err := r.Moves.Order([]cluster.Destination{r.to("5000"), r.to("5001")}); err != error(errTooMany) {
		t.Errorf("got %v", err)
	}
	r.order("5000")
	if n := len(r.store.Texts(persistence.Moves)); n != MaxMoves {
		t.Errorf("%d moves are kept", n)
	}
	if err := r.Moves.Cancel(); err != nil {
		t.Fatal(err)
	}
	r.until("all have ended", func() bool { return strings.Count(r.progress(), "canceled") == MaxMoves })
	if n := len(r.store.Texts(persistence.Moves)); n > 0 {
		t.Errorf("%d moves are kept", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Moves.MoveNow(ctx, r.to("5002")); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that is not waited for: %v", err)
	}
}

// What is kept of a move is read as it was written. What this version does not understand it leaves alone.
func TestKeptMovesAreReadStrictly(t *testing.T) {
	r := newRoom(t)
	for _, text := range []string{"", "a b 5", "a b x 1-2", "a b 5 2-1", "a b 5 16384", "a b 5 x"} {
		if j, err := jobOf("1", text); err == nil {
			t.Errorf("%q is %+v", text, j.Move)
		}
	}
	if err := r.Moves.change(func(tx *persistence.Tx, _ bool) {
		tx.Texts(persistence.Moves).Set("10", "of a later version")
		tx.Texts(persistence.Moves).Set("9", there+" node-b 5000 3300 3302-3303")
		tx.Texts(persistence.Moves).Set("11-f00", there+" node-b 5000 3301")
	}); err != nil {
		t.Fatal(err)
	}
	r.Moves.Follow()
	change(r, func() { r.leads = false })
	if got := r.progress(); got != "waiting of 3300 3302-3303 0/3, waiting of 3301 0/1" {
		t.Errorf("a follower shows %s", got)
	}
	change(r, func() { r.leads = true })
	r.Moves.Lead()
	for _, want := range []string{"3300 3302-3303", "3301"} {
		if got := r.gives(); got != want {
			t.Errorf("%s goes, want %s", got, want)
		}
		r.given <- nil
	}
	r.untilProgress("success of 3300 3302-3303 3/3, success of 3301 1/1")
	if kept := fmt.Sprint(r.store.Texts(persistence.Moves)); kept != "map[10:of a later version]" {
		t.Errorf("%s is kept", kept)
	}
	if m := r.Moves.List(); m[0].Created != 5000 || m[0].Node != "node-b" || m[1].Task != "f00" {
		t.Errorf("they are %+v", m)
	}
	if err := r.Moves.Order(nil); err != nil {
		t.Errorf("nothing is ordered: %v", err)
	}
	r.order("5000")
	if name := r.Moves.List()[2].Name; name != "12" {
		t.Errorf("the next one is named %s", name)
	}
}

func TestNewsOfAnOwnerIsWaitedForAWhile(t *testing.T) {
	r := newRoom(t)
	if err := r.Moves.AwaitOwner(t.Context(), 9000, "node-b"); err != nil {
		t.Error(err)
	}
	await := func(step time.Duration, do func()) (err error) {
		done := make(chan error, 1)
		go func() { done <- r.Moves.AwaitOwner(t.Context(), 3300, "node-b") }()
		r.until("the call waits", func() bool { return r.clock.Planned() > 0 })
		do()
		r.until("it ends", func() bool {
			r.clock.Advance(step)
			select {
			case err = <-done:
				return true
			default:
				return false
			}
		})
		return err
	}
	if err := await(newsPatience, func() {}); err != ErrOtherOwner {
		t.Errorf("a slot that does not come: %v", err)
	}
	if err := await(newsPause/100, func() { r.have(slotstest.Set(t, "0"), slotstest.Set(t, "3300")) }); err != nil {
		t.Errorf("a slot that comes: %v", err)
	}
}

// Clients that wait for keys of slots that have gone are sent away once: when calls are judged by the new division.
func TestClientsAreSentAwayWhenSlotsHaveGone(t *testing.T) {
	r := newRoom(t)
	r.work.Go(r.Departures.Run)
	r.have(slots.All(), new(slots.Set))
	keep := func(of string) {
		change(r, func() { r.kept = slotstest.Set(t, of) })
		r.Departures.Look()
	}
	keep("0-8191")
	r.until("it looks again later", func() bool { return r.clock.Planned() == 1 })
	if away := get(r, &r.away); len(away) > 0 {
		t.Errorf("clients of %q are sent away too early", away)
	}
	r.have(slotstest.Set(t, "0-8191"), new(slots.Set))
	r.clock.Advance(LookAgain)
	r.until("clients are sent away", func() bool { return fmt.Sprint(get(r, &r.away)) == "[8192-16383]" })
	r.Departures.Look()
	r.have(new(slots.Set), new(slots.Set))
	keep("")
	r.until("the others are too", func() bool { return fmt.Sprint(get(r, &r.away)) == "[8192-16383 0-8191]" })
}
