package resharding

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
)

// asksTask asks the leader of a group that has slots about a task.
var asksTask = peers.Kind[TaskQuestion, TaskAnswer]{What: "task", Leader: true}

// TaskQuestion is what the leader of a group is asked about a task.
type TaskQuestion struct{ Task *TaskRequest }

// TaskAnswer is what it replies.
type TaskAnswer struct{ Task *TaskReply }

// TaskRequest is what is asked about a task.
type TaskRequest struct {
	ID     string
	To     string `json:",omitempty"` // ID of the group that is to get the slots Slots; "": how is the task?
	Slots  string `json:",omitempty"`
	Cancel bool   `json:",omitempty"` // the task is to end
}

// TaskReply says how a task is. It is empty if there is none with the ID.
type TaskReply struct {
	State                 cluster.TaskState `json:",omitempty"`
	Error                 string            `json:",omitempty"`
	Retries               int               `json:",omitempty"`
	Started, Ended, Pause int64             `json:",omitempty"`
	Cancelled             int               `json:",omitempty"`
}

// Tasks are the moves that other groups have asked this one for, and those that this server has asked others for: CLUSTER
// MIGRATION. The leader of the group that gets slots asks the one that has them to order a move, under an ID that the former has
// made. How far the move has come is asked of that leader each time that a client wants to know; what is remembered here is lost
// with the leadership, the move is not.
type Tasks struct {
	o     *Options
	moves *Moves

	mu  sync.Mutex
	all []*task // that this server has asked for, the first one first; guarded by mu, and what they point to
}

// task is a task at the group that gets the slots.
type task struct {
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

// serve does what the leader of another group asks for, and returns the result.
func (q *Tasks) serve(_ context.Context, _ *commands.Membership, request *TaskQuestion) (*TaskAnswer, error) {
	r := request.Task
	if r == nil || r.ID == "" {
		return nil, errors.New("the request has no task")
	}
	a := new(TaskReply)
	if r.To != "" {
		of, err := slots.Parse(r.Slots)
		if err == nil && of.Len() == 0 {
			err = ErrNotOwn
		}
		if err == nil {
			err = q.moves.orderTask(r.To, of, r.ID)
		}
		return &TaskAnswer{a}, err
	}
	if r.Cancel {
		var err error
		if a.Cancelled, err = q.moves.cancelTasks(r.ID); err != nil {
			return nil, err
		}
	}
	for _, t := range q.here(r.ID) {
		a.State, a.Error, a.Retries = t.State, t.Error, t.Retries
		a.Started, a.Ended, a.Pause = t.Started, t.Ended, t.Pause
	}
	return &TaskAnswer{a}, nil
}

// here returns the tasks of other groups that this server makes, has made lately or is to make: the one with an ID, or all (""). They
// have no Source.
func (q *Tasks) here(id string) (all []cluster.Task) {
	for _, v := range q.moves.List() {
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

// ask asks the leader of a group about a task.
func (q *Tasks) ask(ctx context.Context, m *commands.Membership, group string, r *TaskRequest) (*TaskReply, error) {
	s := m.Other(group)
	if s == nil {
		return nil, ErrNowhere
	}
	a, err := asksTask.AskLeader(ctx, q.o.Peers, s, &TaskQuestion{r})
	if err == nil && a.Task == nil {
		err = ErrNowhere
	}
	if err != nil {
		return nil, err
	}
	return a.Task, nil
}

// Import asks the group with an ID to move slots to this server's group, and returns the ID of the task.
func (q *Tasks) Import(ctx context.Context, from string, of *slots.Set) (id string, err error) {
	m := q.o.Membership()
	if m == nil || !m.Leads {
		return "", errLeadership
	}
	s := m.Other(from)
	if s == nil || s.Leader < 0 {
		return "", ErrNowhere
	}
	t := &task{from: from, Task: cluster.Task{ID: q.o.ID(), Slots: of, Source: s.Members[s.Leader].ID, Dest: m.Members[m.Self].ID,
		Imports: true, State: cluster.TaskWaits, Created: q.o.Clock.Now().UnixMilli()}}
	if _, err := q.ask(ctx, m, from, &TaskRequest{ID: t.ID, To: m.ID, Slots: of.String()}); err != nil {
		return "", err
	}
	q.add(t)
	return t.ID, nil
}

// add remembers a task. As many as of moves that are over are remembered.
func (q *Tasks) add(t *task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = append(q.all, t)
	over := 0
	for _, t := range q.all {
		if t.State.Over() {
			over++
		}
	}
	q.all = slices.DeleteFunc(q.all, func(t *task) bool {
		if over <= MaxMoves || !t.State.Over() {
			return false
		}
		over--
		return true
	})
}

// current returns the tasks as they were when they were looked at last: the one with an ID, or all.
func (q *Tasks) current(id string) (all []*task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.all {
		if id == "" || t.ID == id {
			all = append(all, &task{t.Task, t.from})
		}
	}
	return all
}

// note notes what is known of a task now.
func (q *Tasks) note(now *task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.all {
		if t.ID == now.ID && !t.State.Over() {
			*t = *now
		}
	}
}

// List returns the tasks of both kinds, the last one first: the one with an ID, or all ("").
func (q *Tasks) List(ctx context.Context, id string) (all []cluster.Task) {
	m := q.o.Membership()
	if m == nil {
		return nil
	}
	for _, t := range q.current(id) {
		if !t.State.Over() {
			q.inquire(ctx, m, t)
		}
		all = append(all, t.Task)
	}
	source := m.Members[m.Self].ID
	if m.Led {
		source = m.Members[m.Leader].ID
	}
	for _, t := range q.here(id) {
		t.Source = source
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b cluster.Task) int { return cmp.Compare(b.Created, a.Created) })
	return all
}

// inquire asks how a task of this server is that was not over, and notes that. It is done when this group has the slots.
func (q *Tasks) inquire(ctx context.Context, m *commands.Membership, t *task) {
	a, err := q.ask(ctx, m, t.from, &TaskRequest{ID: t.ID})
	has := t.Slots.Without(m.Shards()[0].Slots).Len() == 0
	ended := q.o.Clock.Now().UnixMilli()
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
	q.note(t)
}

// Cancel ends the tasks that this server has asked for and those that it makes: the one with an ID, or all ("").
func (q *Tasks) Cancel(ctx context.Context, id string) (n int, err error) {
	m := q.o.Membership()
	if m == nil || !m.Leads {
		return 0, errLeadership
	}
	var failed error
	for _, t := range q.current(id) {
		if t.State.Over() {
			continue
		}
		a, err := q.ask(ctx, m, t.from, &TaskRequest{ID: t.ID, Cancel: true})
		if err != nil {
			failed = err
			continue
		}
		n += a.Cancelled
	}
	own, err := q.moves.cancelTasks(id)
	return n + own, errors.Join(failed, err)
}
