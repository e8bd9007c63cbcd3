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
	"github.com/vigildb/vigil/server/peers"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// pair is two rooms that ask each other: from has the slots 0 to 8191, and to the others.
type pair struct {
	from, to *room
	down     bool // nobody replies
}

func (p *pair) AskServer(ctx context.Context, address string, request []byte) ([]byte, error) {
	switch {
	case p.down:
	case address == "10.0.0.1:7000":
		return p.from.peers.Respond(ctx, request), nil
	case address == "10.0.0.2:7000":
		return p.to.peers.Respond(ctx, request), nil
	}
	return nil, errors.New("connection refused")
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{from: newRoom(t), to: newRoom(t)}
	m := *p.from.m
	own, other := m.Shards()[0], m.OtherShards[0]
	p.to.m = &commands.Membership{ID: other.ID, Led: true, Leads: true, Slots: other.Slots, Members: other.Members, OtherShards: []commands.Shard{own}}
	for _, r := range []*room{p.from, p.to} {
		r.peers.Open(peers.Options{Network: p, Membership: func() *commands.Membership { return get(r, &r.m) }, Go: func(f func()) { r.work.Go(f) }})
		r.Open(*r.Keys.o)
	}
	return p
}

// tasks returns those of a server in short.
func tasks(r *room, id string) string {
	var all []string
	for _, t := range r.Tasks.List(r.t.Context(), id) {
		way := "to " + t.Dest
		if t.Imports {
			way = "from " + t.Source
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", t.State, t.Slots, way, t.Error)))
	}
	return strings.Join(all, ", ")
}

func (p *pair) ask(of string) (id string) {
	p.to.t.Helper()
	id, err := p.to.Tasks.Import(p.to.t.Context(), here, slotstest.Set(p.to.t, of))
	if err != nil {
		p.to.t.Fatal(err)
	}
	return id
}

// A task is a move of the group that has the slots, and both groups tell of it. It is done when the group that asked has the slots.
func TestTaskIsToldOfByBothGroups(t *testing.T) {
	p := newPair(t)
	id := p.ask("3300")
	p.from.gives()
	if got := tasks(p.from, ""); got != "in_progress 3300 to node-b" {
		t.Errorf("who has the slots says %s", got)
	}
	if got := tasks(p.to, id); got != "in_progress 3300 from node-a" {
		t.Errorf("who gets the slots says %s", got)
	}
	p.from.given <- nil
	p.from.untilProgress("success of 3300 1/1")
	if got := tasks(p.to, id); got != "in_progress 3300 from node-a" {
		t.Errorf("who has not got them yet says %s", got)
	}
	p.to.have(p.to.m.Slots.Union(slotstest.Set(t, "3300")), p.from.m.Slots)
	p.down = true
	if got := tasks(p.to, id) + ", " + tasks(p.from, id); got != "completed 3300 from node-a, completed 3300 to node-b" {
		t.Errorf("at the end they say %s", got)
	}
	if got := tasks(p.to, "another"); got != "" {
		t.Errorf("another task: %s", got)
	}
}

// A task is ended by either group, once.
func TestTaskIsCancelledByEitherGroup(t *testing.T) {
	for _, which := range []func(p *pair) *room{func(p *pair) *room { return p.from }, func(p *pair) *room { return p.to }} {
		p := newPair(t)
		p.ask("3300")
		p.from.clock.Advance(time.Millisecond)
		p.to.clock.Advance(time.Millisecond)
		second := p.ask("3301")
		p.from.order("3302")
		for _, x := range []struct {
			id   string
			want int
		}{{second, 1}, {second, 0}, {"none", 0}, {"", 1}, {"", 0}} {
			if n, err := which(p).Tasks.Cancel(t.Context(), x.id); n != x.want || err != nil {
				t.Errorf("%q: %d have ended, %v; want %d", x.id, n, err, x.want)
			}
		}
		p.from.until("two have ended", func() bool { return strings.Count(p.from.progress(), "canceled") == 2 })
		if got := p.from.gives(); got != "3302" {
			t.Errorf("%s goes", got)
		}
		p.to.until("it is told", func() bool { return strings.Count(tasks(p.to, ""), "canceled") == 2 })
	}
}

// Servers that cannot order a task, or are not there, say so, and nothing is remembered.
func TestTaskThatCannotBeOrderedIsAnError(t *testing.T) {
	for want, spoil := range map[string]func(p *pair){
		ErrNotOwn.Error():         func(p *pair) { p.from.have(slotstest.Set(t, "1"), slots.All()) },
		ErrNowhere.Error():        func(p *pair) { p.to.know(func(m *commands.Membership) { m.OtherShards[0].Leader = -1 }) },
		"connection refused":      func(p *pair) { p.down = true },
		"does not lead its group": func(p *pair) { p.from.know(func(m *commands.Membership) { m.Leads = false }) },
		errLeadership.Error():     func(p *pair) { p.to.know(func(m *commands.Membership) { m.Leads = false }) },
		"too many moves of slots": func(p *pair) { crowd(p.from) },
		"has no leader now":       func(p *pair) { p.to.know(func(m *commands.Membership) { m.OtherShards = nil }) },
	} {
		p := newPair(t)
		spoil(p)
		id, err := p.to.Tasks.Import(t.Context(), here, slotstest.Set(t, "3300"))
		if err == nil || !strings.Contains(err.Error(), want) || id != "" || strings.Contains(err.Error(), "ERR ") {
			t.Errorf("got %q, %v; want %s", id, err, want)
		}
		if got := tasks(p.to, ""); got != "" {
			t.Errorf("%s: %s is remembered", want, got)
		}
	}
}

// crowd orders as many moves as may wait.
func crowd(r *room) {
	for i := range MaxMoves {
		r.order(fmt.Sprint(i))
	}
}

// A task whose move is known no more has failed, and one about which nobody can be asked goes on.
func TestTaskIsAskedForUntilItIsOver(t *testing.T) {
	p := newPair(t)
	id := p.ask("3300")
	p.down = true
	if got := tasks(p.to, id); got != "pending 3300 from node-a connection refused" {
		t.Errorf("got %s", got)
	}
	p.down = false
	p.from.Moves.mu.Lock()
	p.from.Moves.jobs[0].Task = "" // as after a change of the leader of a group that does not keep moves
	p.from.Moves.mu.Unlock()
	for range 2 {
		if got := tasks(p.to, id); got != "failed 3300 from node-a "+errTaskGone.Error() {
			t.Errorf("got %s", got)
		}
	}
}

// What another server asks is checked, and an order counts once.
func TestRequestsAboutTasksAreChecked(t *testing.T) {
	p := newPair(t)
	ask := func(r *TaskRequest) (*TaskReply, error) {
		a, err := asksTask.Ask(t.Context(), &p.to.peers, "10.0.0.1:7000", &TaskQuestion{r})
		if err != nil {
			return nil, err
		}
		return a.Task, nil
	}
	for _, bad := range []*TaskRequest{nil, {}, {ID: "x", To: "nobody", Slots: "5003"}, {ID: "x", To: there, Slots: "16383"}, {ID: "x", To: there, Slots: "7-3"},
		{ID: "x", To: there}} {
		if a, err := ask(bad); err == nil {
			t.Errorf("%+v: %+v", bad, a)
		}
	}
	for range 3 {
		if _, err := ask(&TaskRequest{ID: "f00", To: there, Slots: "3300"}); err != nil {
			t.Error(err)
		}
	}
	if n := len(p.from.Moves.List()); n != 1 {
		t.Errorf("%d moves are ordered", n)
	}
	if a, err := ask(&TaskRequest{ID: "unknown"}); err != nil || *a != (TaskReply{}) {
		t.Errorf("an unknown task: %+v, %v", a, err)
	}
	if a, err := ask(&TaskRequest{ID: "f00", Cancel: true}); err != nil || a.Cancelled != 1 || a.State == "" {
		t.Errorf("a task that ends: %+v, %v", a, err)
	}
}

// As many tasks that are over are remembered as moves, and all that are not.
func TestOldTasksAreForgotten(t *testing.T) {
	r := newRoom(t)
	for i := range 3 * MaxMoves {
		r.Tasks.add(&task{from: here, Task: cluster.Task{ID: fmt.Sprint(i), State: []cluster.TaskState{cluster.TaskDone, cluster.TaskRuns}[i%2]}})
	}
	if n := len(r.Tasks.current("")); n != MaxMoves+3*MaxMoves/2 {
		t.Errorf("%d are remembered", n)
	}
	if n := len(r.Tasks.current("0")); n != 0 {
		t.Error("the first one is remembered")
	}
}
