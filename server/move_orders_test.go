package server

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
	"github.com/vigildb/vigil/server/resharding"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// heirs are two members of a group which moves slots: the second one has what the first one commits, and leads next.
type heirs struct {
	*movesRig
	next *movesRig
}

func newHeirs(t *testing.T) *heirs {
	t.Helper()
	h := &heirs{next: newMovesRig(t)}
	h.next.follow()
	h.movesRig = newMovesRig(t)
	h.g.to = h.next.g
	return h
}

// lead makes a server lead again that was deposed.
func (r *movesRig) lead() {
	r.know(func(m *commands.Membership) { m.Leader, m.Leads = 0, true })
	r.g.elect()
}

// fail transfers leadership to the second member, with the slots that the first one has.
func (h *heirs) fail() {
	own := h.g.own.Load()
	gone := h.next.g.own.Load().Without(own)
	h.g.to = nil
	h.follow()
	h.next.have(own, gone)
	h.next.lead()
}

// order orders a move of slots to the other group, by ranges.
func (r *movesRig) order(c *testClient, ranges ...string) {
	r.t.Helper()
	for _, of := range ranges {
		c.want("CLUSTER MIGRATESLOTS SLOTSRANGE "+of+" NODE "+strings.Repeat("c", 40), "OK")
	}
}

// gives waits until slots are given away, while time passes, and lets them go.
func (r *movesRig) gives() *slots.Set {
	r.t.Helper()
	r.until("slots are about to be given away", func() bool {
		r.clock.advance(time.Second)
		select {
		case <-r.giving:
			return true
		default:
			return false
		}
	})
	r.g.testMoves.mu.Lock()
	of := r.g.under
	r.g.testMoves.mu.Unlock()
	r.given <- nil
	return of
}

// progress returns what a server tells of moves.
func (r *movesRig) progress() string {
	var all []string
	for _, m := range (host{r.srv}).Moves() {
		all = append(all, fmt.Sprintf("%s of %s %d/%d", m.State, m.Destination.Slots, m.Moved, m.Slots))
	}
	return strings.Join(all, ", ")
}

func (r *movesRig) untilProgress(want string) {
	r.t.Helper()
	r.until("the moves are: "+want, func() bool { return r.progress() == want })
}

// The next leader goes on with all moves where the former one has left them, and tells how far they are. Followers
// show them meanwhile.
func TestNextLeaderGoesOnWithMoves(t *testing.T) {
	h := newHeirs(t)
	c := h.dial()
	h.order(c, "0 2047", "3300 3300")
	h.order(c, "5000 5001 5003 5003")
	if got := h.gives().String(); got != "0-1023" {
		t.Fatalf("the first slots that go are %s", got)
	}
	<-h.giving
	h.untilProgress("moving of 0-2047 1024/2048, waiting of 3300 0/1, waiting of 5000-5001 5003 0/3")
	h.next.untilProgress("waiting of 0-2047 0/2048, waiting of 3300 0/1, waiting of 5000-5001 5003 0/3")
	follower := h.next.dial()
	if got := follower.do("CLUSTER", "GETSLOTMIGRATIONS"); !strings.Contains(got, `"the leader of the group makes this move"`) || !strings.Contains(got, `"source_node" "2222`) {
		t.Errorf("a follower shows %s", got)
	}
	h.next.have(h.next.g.own.Load().Without(slotstest.Set(t, "0-1023")), slotstest.Set(t, "0-1023"))
	h.next.untilProgress("waiting of 0-2047 1024/2048, waiting of 3300 0/1, waiting of 5000-5001 5003 0/3")
	h.fail()
	h.untilProgress("waiting of 0-2047 1024/2048, waiting of 3300 0/1, waiting of 5000-5001 5003 0/3")
	h.next.order(h.next.dial(), "6000 6000")
	if kept := h.next.srv.store.Texts(persistence.Moves); len(kept) != 4 {
		t.Errorf("%q are kept, want 4", kept)
	}
	for _, want := range []string{"1024-2047", "3300", "5000-5001 5003", "6000"} {
		if got := h.next.gives().String(); got != want {
			t.Errorf("%s goes, want %s", got, want)
		}
	}
	h.next.untilProgress("success of 0-2047 2048/2048, success of 3300 1/1, success of 5000-5001 5003 3/3, success of 6000 1/1")
	if left := h.next.srv.store.Texts(persistence.Moves); len(left) > 0 {
		t.Errorf("%q are kept after they were made", left)
	}
}

// A server that leads again makes each move once, although an earlier attempt of its own has not ended.
func TestLeaderThatComesBackMakesEachMoveOnce(t *testing.T) {
	r := newMovesRig(t)
	stuck, free := make(chan struct{}), make(chan struct{})
	sends := r.g.sends
	r.g.sends = func(keys []byte) error {
		close(stuck)
		<-free
		return errors.New("the connection broke")
	}
	c := r.dial()
	c.want("SET b 1", "OK")
	r.order(c, "3300 3300", "3301 3301")
	<-stuck
	r.follow()
	r.g.testMoves.mu.Lock()
	r.g.sends = sends
	r.g.testMoves.mu.Unlock()
	r.lead()
	r.untilProgress("waiting of 3300 0/1, waiting of 3301 0/1")
	close(free)
	for _, want := range []string{"3300", "3301"} {
		if got := r.gives().String(); got != want {
			t.Errorf("%s goes, want %s", got, want)
		}
	}
	r.untilProgress("success of 3300 1/1, success of 3301 1/1")
}

// Moves that were cancelled before the leader was lost are not made by the next one.
func TestCancelledMovesAreNotMadeByTheNextLeader(t *testing.T) {
	h := newHeirs(t)
	c := h.dial()
	h.order(c, "3300 3300", "3301 3301")
	<-h.giving
	h.next.dial().want("CLUSTER CANCELSLOTMIGRATIONS", "(error) ERR The specified node is not a master")
	c.want("CLUSTER CANCELSLOTMIGRATIONS", "OK")
	h.untilProgress("canceled of 3300 0/1, canceled of 3301 0/1")
	h.next.untilProgress("")
	h.fail()
	h.next.untilProgress("")
	h.next.order(h.next.dial(), "3302 3302")
	if got := h.next.gives().String(); got != "3302" {
		t.Errorf("%s goes", got)
	}
}

// An order, and the end of one, count when the group has agreed: before, the client has no reply.
func TestOrdersOfMovesWaitForTheGroup(t *testing.T) {
	h := newHeirs(t)
	c := h.dial()
	h.order(c, "3300 3300")
	<-h.giving
	h.g.holdBack(true)
	orders, cancels := h.dial(), h.dial()
	orders.send(strings.Fields("CLUSTER MIGRATESLOTS SLOTSRANGE 5000 5000 NODE " + strings.Repeat("c", 40))...)
	h.untilProgress("moving of 3300 0/1, waiting of 5000 0/1")
	cancels.send("CLUSTER", "CANCELSLOTMIGRATIONS")
	h.untilProgress("canceled of 3300 0/1, canceled of 5000 0/1")
	h.fail()
	orders.ended()
	cancels.ended()
	if got := h.next.gives().String(); got != "3300" {
		t.Errorf("%s goes", got)
	}
	h.next.untilProgress("success of 3300 1/1")
	h.untilProgress("canceled of 3300 0/1, canceled of 5000 0/1, waiting of 3300 0/1") // what was lost is not kept here either
}

// Moves that are ordered are kept when the server of the leader ends, with order or without.
func TestServerThatEndsLeavesItsMoves(t *testing.T) {
	h := newHeirs(t)
	h.order(h.dial(), "3300 3300")
	<-h.giving
	h.g.to = nil
	if err := h.srv.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.next.lead()
	if got := h.next.gives().String(); got != "3300" {
		t.Errorf("%s goes", got)
	}
}

// A group of a level without moves in its log makes them as long as its leader leads.
func TestGroupOfALowerLevelKeepsNoMoves(t *testing.T) {
	r := newMovesRig(t)
	r.g.m.SetLevel(persistence.LevelUntold)
	c := r.dial()
	r.order(c, "3300 3300", "3301 3301")
	r.gives()
	<-r.giving
	if kept := r.srv.store.Texts(persistence.Moves); len(kept) > 0 {
		t.Errorf("%q are kept", kept)
	}
	r.follow()
	r.lead()
	r.untilProgress("success of 3300 1/1")
}

// As many moves wait as may, and what is refused leaves nothing.
func TestTooManyMovesAreRefused(t *testing.T) {
	r := newMovesRig(t)
	c := r.dial()
	r.order(c, "3300 3300")
	<-r.giving
	for i := range resharding.MaxMoves - 2 {
		r.order(c, fmt.Sprint(i, " ", i))
	}
	const to = " NODE cccccccccccccccccccccccccccccccccccccccc"
	c.want("CLUSTER MIGRATESLOTS SLOTSRANGE 5000 5000"+to+" SLOTSRANGE 5001 5001"+to, "(error) ERR too many moves of slots wait")
	r.order(c, "5000 5000")
	if n := len(r.srv.store.Texts(persistence.Moves)); n != resharding.MaxMoves {
		t.Errorf("%d moves are kept", n)
	}
	c.want("MULTI", "OK")
	c.want("CLUSTER CANCELSLOTMIGRATIONS", queued)
	c.want("EXEC", "[(error) ERR Command not allowed inside a transaction]")
	c.want("CLUSTER CANCELSLOTMIGRATIONS", "OK")
}

// What is ordered while the leadership ends is lost with it, and not made when the server leads again.
func TestMoveThatIsOrderedAmidTheEndOfALeadershipIsNotMade(t *testing.T) {
	r := newMovesRig(t)
	failed := make(chan error, 1)
	r.g.amid = func() {
		go func() {
			failed <- r.srv.resharding.Moves.Order([]cluster.Destination{{Shard: strings.Repeat("a", 40), Node: strings.Repeat("c", 40), Slots: slotstest.Set(t, "5000")}})
		}()
		r.until("it is ordered", func() bool { return strings.Contains(r.progress(), "5000 0/1") })
	}
	r.follow()
	if err := <-failed; err == nil {
		t.Error("the order is acknowledged")
	}
	r.g.amid = nil
	r.lead()
	r.untilProgress("")
	r.order(r.dial(), "3300 3300")
	if got := r.gives().String(); got != "3300" {
		t.Errorf("%s goes", got)
	}
}

// A server that has left its group has nothing to do with what that is to move.
func TestServerThatHasLeftItsGroupShowsNoMoves(t *testing.T) {
	r := newMovesRig(t)
	r.order(r.dial(), "3300 3300")
	<-r.giving
	r.g.renew()
	r.untilProgress("")
	r.lead()
	r.untilProgress("")
}

// An order of another group's task is made once, however often it is asked for, goes on under the next leader with its ID, and ends by
// it alone.
func TestTaskOfAnotherGroupIsOrderedOnceAndSurvivesItsLeader(t *testing.T) {
	h := newHeirs(t)
	q := &resharding.TaskRequest{ID: "f00", To: strings.Repeat("a", 40), Slots: "5000-5001"}
	for range 3 {
		if _, err := h.askTaskOf(q); err != "" {
			t.Fatal(err)
		}
	}
	if got := h.progress(); strings.Count(got, ",") != 0 {
		t.Errorf("it is ordered more than once: %s", got)
	}
	h.order(h.dial(), "5002 5002")
	h.fail()
	h.next.until("the next leader goes on", func() bool { return strings.Count(h.next.progress(), "0/") == 2 })
	a, err := h.next.askTaskOf(&resharding.TaskRequest{ID: "f00", Cancel: true})
	if err != "" || a.Cancelled != 1 {
		t.Fatalf("%+v %s", a, err)
	}
	h.next.until("the task has ended", func() bool {
		a, _ := h.next.askTaskOf(&resharding.TaskRequest{ID: "f00"})
		return a.State == cluster.TaskCancelled
	})
	if kept := h.next.srv.store.Texts(persistence.Moves); len(kept) != 1 {
		t.Errorf("kept: %v", kept)
	}
}

// askTaskOf asks a server about a task, as another one does. It returns the reply, and the error that was sent in its place.
func (r *movesRig) askTaskOf(q *resharding.TaskRequest) (a resharding.TaskReply, failed string) {
	r.t.Helper()
	reply := r.g.request(r.t.(*testing.T), &wireRequest{What: "task", Task: q})
	if reply.Task != nil {
		a = *reply.Task
	}
	return a, reply.Error
}
