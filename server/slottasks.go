package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/server/peers"
	"github.com/vigildb/vigil/structures/slots"

	"github.com/vigildb/vigil/server/internal/group"
)

// A group that gets slots may ask for them: CLUSTER MIGRATION. Its leader asks the one that has them to order a move, under an ID that the
// asking one has made. How far the move has come is asked of that leader each time that a client wants to know; what is remembered
// here is lost with the leadership, the move is not.

// asksTask asks the leader of a group that has slots about a task.
var asksTask = peers.Kind[taskQuestion, taskAnswer]{What: "task", Leader: true}

type (
	taskQuestion struct{ Task *taskRequest }
	taskAnswer   struct{ Task *taskReply }
)

// taskRequest is what is asked about a task.
type taskRequest struct {
	ID     string
	To     string `json:",omitempty"` // ID of the group that is to get the slots Slots; "": how is the task?
	Slots  string `json:",omitempty"`
	Cancel bool   `json:",omitempty"` // the task is to end
}

// taskReply says how a task is. It is empty if there is none with the ID.
type taskReply struct {
	State                 cluster.TaskState `json:",omitempty"`
	Error                 string            `json:",omitempty"`
	Retries               int               `json:",omitempty"`
	Started, Ended, Pause int64             `json:",omitempty"`
	Cancelled             int               `json:",omitempty"`
}

// slotTasks are the tasks that this server has asked for, the first one first.
type slotTasks struct {
	mu  sync.Mutex
	all []*slotTask // guarded by mu, and what they point to
}

// slotTask is a task at the group that gets the slots.
type slotTask struct {
	cluster.Task
	from string // ID of the group that has them
}

// taskStates are the states of tasks by those of moves.
var taskStates = map[cluster.MoveState]cluster.TaskState{
	cluster.MoveWaits: cluster.TaskWaits, cluster.MoveRuns: cluster.TaskRuns, cluster.MoveDone: cluster.TaskDone,
	cluster.MoveFailed: cluster.TaskFailed, cluster.MoveCancelled: cluster.TaskCancelled,
}

// errTaskGone is the error of a task that the group which has the slots knows no more: its leader has changed before the group kept
// moves, or it was long ago.
var errTaskGone = errors.New("the group that has the slots does not know the task any more")

// serveTask does what the leader of another group asks for, and says how that went.
func (srv *Server) serveTask(_ context.Context, _ *commands.Membership, q *taskQuestion) (*taskAnswer, error) {
	if q.Task == nil || q.Task.ID == "" {
		return nil, errors.New("the request has no task")
	}
	a, err := srv.doTask(q.Task)
	return &taskAnswer{a}, err
}

func (srv *Server) doTask(q *taskRequest) (*taskReply, error) {
	if q.To != "" {
		of, err := slots.Parse(q.Slots)
		if err == nil && of.Len() == 0 {
			err = errMoveNotOwn
		}
		if err == nil {
			err = srv.orderTask(q.To, of, q.ID)
		}
		return new(taskReply), err
	}
	a := new(taskReply)
	if q.Cancel {
		var err error
		if a.Cancelled, err = srv.cancelTasks(q.ID); err != nil {
			return nil, err
		}
	}
	for _, t := range srv.sourceTasks(q.ID) {
		a.State, a.Error, a.Retries = t.State, t.Error, t.Retries
		a.Started, a.Ended, a.Pause = t.Started, t.Ended, t.Pause
	}
	return a, nil
}

// sourceTasks returns the tasks of other groups that this server makes, has made lately or is to make: the one with an ID, or all (""). They
// have no Source.
func (srv *Server) sourceTasks(id string) (all []cluster.Task) {
	for _, v := range (host{srv}).Moves() {
		if v.Task == "" || id != "" && v.Task != id {
			continue
		}
		t := cluster.Task{ID: v.Task, Slots: v.Destination.Slots, Dest: v.Node, State: taskStates[v.State], Error: v.Message,
			Retries: v.Retries, Created: v.Created, Started: v.Started, Pause: v.LongestFreeze.Milliseconds()}
		if t.State.Over() {
			t.Ended = v.Updated
		}
		all = append(all, t)
	}
	return all
}

// askTask asks the leader of a group about a task.
func (srv *Server) askTask(ctx context.Context, m *commands.Membership, group string, q *taskRequest) (*taskReply, error) {
	s := m.Other(group)
	if s == nil {
		return nil, errMoveNowhere
	}
	a, err := asksTask.AskLeader(ctx, &srv.peers, s, &taskQuestion{q})
	if err == nil && a.Task == nil {
		err = errMoveNowhere
	}
	if err != nil {
		return nil, err
	}
	return a.Task, nil
}

// ImportSlots implements [cluster.Importer], as do the methods below.
func (h host) ImportSlots(ctx context.Context, from string, of *slots.Set) (id string, err error) {
	err = h.abroadIn(func(group.Group) error {
		m := h.Membership()
		if m == nil || !m.Leads {
			return errMoveLeadership
		}
		s := m.Other(from)
		if s == nil || s.Leader < 0 {
			return errMoveNowhere
		}
		t := &slotTask{from: from, Task: cluster.Task{ID: h.RandomHex(40), Slots: of, Source: s.Members[s.Leader].ID, Dest: m.Members[m.Self].ID,
			Imports: true, State: cluster.TaskWaits, Created: h.srv.clock.Now().UnixMilli()}}
		if _, err := h.srv.askTask(ctx, m, from, &taskRequest{ID: t.ID, To: m.ID, Slots: of.String()}); err != nil {
			return err
		}
		id = t.ID
		h.srv.tasks.add(t)
		return nil
	})
	return id, err
}

// add remembers a task. As many as of moves that are over are remembered.
func (q *slotTasks) add(t *slotTask) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = append(q.all, t)
	over := 0
	for _, t := range q.all {
		if t.State.Over() {
			over++
		}
	}
	q.all = slices.DeleteFunc(q.all, func(t *slotTask) bool {
		if over <= maxMoveJobs || !t.State.Over() {
			return false
		}
		over--
		return true
	})
}

// current returns the tasks as they were when they were looked at last: the one with an ID, or all.
func (q *slotTasks) current(id string) (all []*slotTask) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.all {
		if id == "" || t.ID == id {
			all = append(all, &slotTask{t.Task, t.from})
		}
	}
	return all
}

// note notes what is known of a task now.
func (q *slotTasks) note(now *slotTask) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.all {
		if t.ID == now.ID && !t.State.Over() {
			*t = *now
		}
	}
}

// Tasks returns those of both kinds.
func (h host) Tasks(ctx context.Context, id string) (all []cluster.Task, err error) {
	err = h.abroadIn(func(group.Group) error {
		m := h.Membership()
		if m == nil {
			return errAlone
		}
		for _, t := range h.srv.tasks.current(id) {
			if !t.State.Over() {
				h.srv.inquire(ctx, m, t)
			}
			all = append(all, t.Task)
		}
		source := m.Members[m.Self].ID
		if m.Led {
			source = m.Members[m.Leader].ID
		}
		for _, t := range h.srv.sourceTasks(id) {
			t.Source = source
			all = append(all, t)
		}
		slices.SortStableFunc(all, func(a, b cluster.Task) int { return cmp.Compare(b.Created, a.Created) })
		return nil
	})
	return all, err
}

// inquire asks how a task of this server is that was not over, and notes that. It is done when this group has the slots.
func (srv *Server) inquire(ctx context.Context, m *commands.Membership, t *slotTask) {
	a, err := srv.askTask(ctx, m, t.from, &taskRequest{ID: t.ID})
	has := t.Slots.Without(m.Shards()[0].Slots).Len() == 0
	ended := srv.clock.Now().UnixMilli()
	switch {
	case has:
		t.State, t.Error = cluster.TaskDone, ""
		if err == nil {
			t.Retries, t.Started = a.Retries, a.Started
			if a.State == cluster.TaskDone {
				ended = a.Ended
			}
		}
	case err != nil:
		t.Error = peers.Text(err)
	case a.State == "":
		t.State, t.Error = cluster.TaskFailed, errTaskGone.Error()
	default:
		if t.State, t.Error, t.Retries, t.Started = a.State, a.Error, a.Retries, a.Started; t.State == cluster.TaskDone {
			t.State = cluster.TaskRuns // until this group has the slots, too
		}
	}
	if t.State.Over() {
		t.Ended = ended
	}
	srv.tasks.note(t)
}

// CancelTasks ends those that this server has asked for and those that it makes.
func (h host) CancelTasks(ctx context.Context, id string) (n int, err error) {
	err = h.abroadIn(func(group.Group) error {
		m := h.Membership()
		if m == nil || !m.Leads {
			return errMoveLeadership
		}
		var failed error
		for _, t := range h.srv.tasks.current(id) {
			if t.State.Over() {
				continue
			}
			a, err := h.srv.askTask(ctx, m, t.from, &taskRequest{ID: t.ID, Cancel: true})
			if err != nil {
				failed = err
				continue
			}
			n += a.Cancelled
		}
		own, err := h.srv.cancelTasks(id)
		n += own
		return errors.Join(failed, err)
	})
	return n, err
}
