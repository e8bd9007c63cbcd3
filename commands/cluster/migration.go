package cluster

import (
	"context"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// CLUSTER MIGRATION asks the node that is to get slots, where MIGRATESLOTS asks the one that has them. The move is made by the
// latter all the same, and known by an ID at both.

// Task is a move of slots that was asked for by the group that gets them, as a node of either group shows it.
type Task struct {
	ID           string // 40 hexadecimal digits
	Slots        *slots.Set
	Source, Dest string // IDs of nodes
	Imports      bool   // the slots come to this group
	State        TaskState
	Error        string // the last one
	Retries      int
	// Times are in ms of Unix time, 0 for what has not happened; Pause is for how many ms writes of slots waited, at the source.
	Created, Started, Ended, Pause int64
}

// TaskState is how far a task has come.
type TaskState string

// States of tasks. The words are shown to clients.
const (
	TaskWaits     TaskState = "pending"
	TaskRuns      TaskState = "in_progress"
	TaskDone      TaskState = "completed"
	TaskFailed    TaskState = "failed"
	TaskCancelled TaskState = "canceled"
)

// Over reports whether nothing of the task is done any more.
func (s TaskState) Over() bool { return s != TaskWaits && s != TaskRuns }

// Importer is a server that takes slots from other groups.
type Importer interface {
	// ImportSlots asks the group with an ID to move slots to this server's group, which this server leads. It returns the ID of the task when the other
	// group has agreed that they are to be moved.
	ImportSlots(ctx context.Context, from string, of *slots.Set) (task string, err error)
	// Tasks returns the tasks of this server, the last one first, or the one with an ID.
	Tasks(ctx context.Context, id string) ([]Task, error)
	// CancelTasks ends the task with an ID, or all ("") that are not over, and returns how many these were.
	CancelTasks(ctx context.Context, id string) (n int, err error)
}

func migration(c *commands.Ctx, m *commands.Membership) error {
	switch {
	case c.Args.Is("IMPORT"):
		return importSlots(c, m)
	case c.Args.Is("CANCEL"):
		id, err := taskID(c)
		if err != nil {
			return err
		}
		return arrange(c, func(ctx context.Context, node Node) (func(*commands.Reply), error) {
			n, err := node.CancelTasks(ctx, id)
			return func(r *commands.Reply) { r.Int(int64(n)) }, err
		})
	case c.Args.Is("STATUS"):
		id, err := taskID(c)
		if err != nil {
			return err
		}
		return arrange(c, func(ctx context.Context, node Node) (func(*commands.Reply), error) {
			all, err := node.Tasks(ctx, id)
			return func(r *commands.Reply) { replyTasks(r, all) }, err
		})
	}
	c.Args.Syntax()
	return c.Args.Err()
}

// taskID reads "ID task" or "ALL", which is "".
func taskID(c *commands.Ctx) (id string, err error) {
	switch {
	case c.Args.Is("ID"):
		if id = c.Args.String(); c.Args.Err() == nil && id == "" {
			c.Args.Fail(errNoTask)
		}
	case !c.Args.Is("ALL"):
		c.Args.Syntax()
	}
	return id, c.Args.Done()
}

// importSlots takes slots from another group.
func importSlots(c *commands.Ctx, m *commands.Membership) error {
	of, err := ranges(c, new(slots.Set), func() bool { return false })
	if err != nil {
		return err
	}
	if !m.Leads {
		return errNotMaster
	}
	shards := m.Shards()
	if own := of.Both(shards[0].Slots).Ranges(); len(own) > 0 {
		return errSlotOwned(own[0].First)
	}
	first := of.Ranges()[0].First
	for _, s := range shards[1:] {
		if !s.Slots.Has(first) {
			continue
		}
		if rest := of.Without(s.Slots).Ranges(); len(rest) > 0 {
			return errSlotOfOther(rest[0].First)
		}
		return arrange(c, func(ctx context.Context, node Node) (func(*commands.Reply), error) {
			id, err := node.ImportSlots(ctx, s.ID, of)
			return func(r *commands.Reply) { r.BulkString(id) }, err
		})
	}
	return errSlotOfNone(first)
}

func replyTasks(r *commands.Reply, all []Task) {
	r.Array(len(all))
	for i := range all {
		t := &all[i]
		operation := "migrate"
		if t.Imports {
			operation = "import"
		}
		texts := [...]struct{ name, text string }{{"id", t.ID}, {"slots", t.Slots.String()}, {"source", t.Source}, {"dest", t.Dest},
			{"operation", operation}, {"state", string(t.State)}, {"last_error", t.Error}}
		numbers := [...]struct {
			name string
			n    int64
		}{{"retries", int64(t.Retries)}, {"create_time", t.Created}, {"start_time", t.Started}, {"end_time", t.Ended}, {"write_pause_ms", t.Pause}}
		r.Map(len(texts) + len(numbers))
		for _, f := range texts {
			r.BulkString(f.name)
			r.BulkString(f.text)
		}
		for _, f := range numbers {
			r.BulkString(f.name)
			r.Int(f.n)
		}
	}
}
