package hold

import (
	"context"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands/conn"
	"github.com/vigildb/vigil/server/internal/clock/clocktest"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// client counts how often it is woken.
type client struct{ kicks int }

func (c *client) Kick() { c.kicks++ }

func (c *client) want(t *testing.T, kicks int) {
	t.Helper()
	if c.kicks != kicks {
		t.Errorf("a client was woken %d times, want %d", c.kicks, kicks)
	}
}

func TestPauseEndsAtItsTime(t *testing.T) {
	clock := clocktest.New()
	var p Pause
	p.Open(clock)
	var a, left client
	if p.Hold(&a) || p.Active() {
		t.Error("a call is held back without a pause")
	}
	until := clock.Now().UnixMilli() + 1000
	p.Set(conn.PauseAll, until)
	p.Set(conn.PauseWrite, until-500) // the stricter mode and the later end
	if !p.Hold(&a) || !p.Hold(&left) || p.Count() != 2 || p.Mode() != conn.PauseAll {
		t.Errorf("%d clients are held back by %v", p.Count(), p.Mode())
	}
	p.Forget(&left)
	clock.Advance(600 * time.Millisecond)
	if reason, actions, ms := p.State(); reason != "client_pause" || actions != "all" || ms != 400 {
		t.Errorf("got %s, %s, %d ms", reason, actions, ms)
	}
	a.want(t, 0)
	clock.Advance(400 * time.Millisecond)
	a.want(t, 1)
	left.want(t, 0)
	if p.Active() || p.Holds(&a) || clock.Planned() > 0 {
		t.Error("the pause goes on")
	}
	p.Set(conn.PauseWrite, until+9000)
	p.Hold(&a)
	p.Set(conn.PauseNone, 0)
	a.want(t, 2)
}

// Clients that settle, for one change of the leader or several, are paused as by CLIENT PAUSE, whose end is no end of that, nor the other way
// round.
func TestPausesOfClientsAndOfChangesOfTheLeaderAreTwo(t *testing.T) {
	clock := clocktest.New()
	var p Pause
	p.Open(clock)
	want := func(mode conn.PauseMode) {
		t.Helper()
		if got := p.Mode(); got != mode {
			t.Errorf("the pause is %v, want %v", got, mode)
		}
	}
	p.Settle(1)
	want(conn.PauseWrite)
	p.Set(conn.PauseAll, clock.Now().UnixMilli()+1000)
	want(conn.PauseAll)
	p.Settle(1)
	p.Settle(-1)
	want(conn.PauseAll)
	p.Set(conn.PauseNone, 0)
	want(conn.PauseWrite)
	p.Set(conn.PauseWrite, clock.Now().UnixMilli()+1000)
	p.Settle(-1)
	want(conn.PauseWrite)
	clock.Advance(2 * time.Second)
	want(conn.PauseNone)
}

func TestFenceEndsWhenItIsKnownWhoseTheSlotsAre(t *testing.T) {
	var f Fence
	var a client
	if f.Hold(&a) {
		t.Error("a call is held back without a fence")
	}
	began := f.Begin(slotstest.Set(t, "0-5"))
	if !f.Hold(&a) || f.Of().Len() != 6 {
		t.Error("a call is not held back")
	}
	f.End(began, true)
	a.want(t, 1)

	began = f.Begin(slotstest.Set(t, "0-5"))
	f.Hold(&a)
	f.End(began, false)
	if a.want(t, 1); f.Of() == nil {
		t.Error("the fence has ended, though it is not known whose the slots are")
	}
	f.Follow()
	if a.want(t, 2); f.Of() != nil {
		t.Error("the fence goes on in another leadership")
	}

	began = f.Begin(slotstest.Set(t, "0-5"))
	f.Hold(&a)
	f.Follow() // during the move
	a.want(t, 2)
	f.End(began, false)
	a.want(t, 3)
}

func TestArrivalsAreWaitedForWithPatience(t *testing.T) {
	clock := clocktest.New()
	coming := slotstest.Set(t, "7")
	done, stop := context.WithCancel(context.Background())
	var a Importing
	a.Open(done, clock, func() *slots.Set { return coming })
	var c client
	if !a.Hold(&c, coming) || !a.Any() {
		t.Error("a call is not held back")
	}
	clock.Advance(10 * ImportPeriod)
	c.want(t, 0)
	coming = slotstest.Set(t, "8") // 7 has come
	clock.Advance(ImportPeriod)
	c.want(t, 1)
	if a.Any() || clock.Planned() > 0 {
		t.Error("the server still looks")
	}
	a.Hold(&c, coming)
	clock.Advance(Patience)
	c.want(t, 2)
	if a.Hold(&c, coming) {
		t.Error("a call is held back for slots that do not come")
	}
	stop()
	clock.Advance(ImportPeriod)
	if clock.Planned() > 0 {
		t.Error("a closed server looks for slots")
	}
}
