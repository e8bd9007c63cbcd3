package resharding

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/structures/slots"
)

const (
	// MaxMoves is how many moves wait, and as many that are over are remembered.
	MaxMoves = 64
	// newsPatience is how long a call waits for what other groups tell, and newsPause how often it looks.
	newsPatience = 5 * time.Second
	newsPause    = 10 * time.Millisecond
)

var (
	errLeadership = errors.New("this server has ceased to lead its group")
	errCancelled  = errors.New("cancelled")
	// ErrNotOwn is returned for slots that this server cannot move.
	ErrNotOwn = errors.New("the server does not lead a group that has all of these slots")
	// ErrGone is the error of a move whose destination is in the cluster no more.
	ErrGone = errors.New("the group that slots go to is not in the cluster any more: it was removed, or its server was reset")
	// ErrNowhere is returned for a destination that nobody leads.
	ErrNowhere = errors.New("the group that slots go to has no leader now")
	// ErrOtherOwner is returned when a slot does not come to the node that is waited for.
	ErrOtherOwner = errors.New("the slot is another node's: CLUSTER SETSLOT MIGRATING at that one moves it")
	errTooMany    = commands.WireError("ERR too many moves of slots wait")
)

// Moves are the moves that this server makes, one after the other.
type Moves struct {
	o    *Options
	keys *Keys

	mu      sync.Mutex
	jobs    []*job            // in the order of their calls; guarded by mu
	running bool              // a worker is; guarded by mu
	last    uint64            // number of a job; guarded by mu
	kept    map[string]string // what the leader is to make, as a follower knows; guarded by mu
}

// job is a move. What changes is guarded by Moves.mu.
type job struct {
	cluster.Move
	left   *slots.Set // to be moved; for the worker
	kept   bool       // with the data of the group
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Order orders moves, which are made in the background by this leader of the group and those after it.
func (v *Moves) Order(to []cluster.Destination) error {
	_, err := v.order(to, "")
	return err
}

// OrderTo orders a move of slots of this group to the one with an ID.
func (v *Moves) OrderTo(to string, of *slots.Set) error { return v.orderTask(to, of, "") }

// orderTask is OrderTo for a task of that group, by its ID.
func (v *Moves) orderTask(to string, of *slots.Set, task string) error {
	m := v.o.Membership()
	if m == nil || !m.Leads || of.Without(m.Shards()[0].Slots).Len() > 0 {
		return ErrNotOwn
	}
	s := m.Other(to)
	if s == nil || s.Leader < 0 {
		return ErrNowhere
	}
	_, err := v.order([]cluster.Destination{{Shard: to, Node: s.Members[s.Leader].ID, Slots: of}}, task)
	return err
}

// MoveNow orders a move, and waits until it is over.
func (v *Moves) MoveNow(ctx context.Context, to cluster.Destination) error {
	jobs, err := v.order([]cluster.Destination{to}, "")
	if err != nil {
		return err
	}
	j := jobs[0]
	select {
	case <-j.ctx.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	v.mu.Lock()
	state, message := j.State, j.Message
	v.mu.Unlock()
	switch {
	case state == cluster.MoveFailed:
		return errors.New(message)
	case state != cluster.MoveDone:
		return context.Cause(j.ctx)
	}
	return nil
}

// AwaitOwner waits for some seconds until this server knows that the group of a node has a slot.
func (v *Moves) AwaitOwner(ctx context.Context, slot int, node string) error {
	late, cancel := clock.WithinCause(ctx, v.o.Clock, newsPatience, ErrOtherOwner)
	defer cancel()
	for !v.has(slot, node) {
		if late.Err() != nil {
			return context.Cause(late)
		}
		clock.Rest(late, v.o.Clock, newsPause)
	}
	return nil
}

// has reports whether the group of a node is known to have a slot.
func (v *Moves) has(slot int, node string) bool {
	m := v.o.Membership()
	return m != nil && slices.ContainsFunc(m.Shards(), func(s commands.Shard) bool {
		return s.Slots.Has(slot) && slices.ContainsFunc(s.Members, func(o commands.Member) bool { return o.ID == node })
	})
}

// order orders moves, and returns when the group has agreed on that: a job for each destination. A task is ordered once, however
// often it is asked for.
func (v *Moves) order(to []cluster.Destination, task string) (jobs []*job, err error) {
	now := v.o.Clock.Now().UnixMilli()
	var refused error
	err = v.change(func(tx *persistence.Tx, keeps bool) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.waitingLocked()+len(to) > MaxMoves {
			refused = errTooMany
			return
		}
		if task != "" && slices.ContainsFunc(v.jobs, func(j *job) bool { return j.Task == task }) {
			return
		}
		for _, d := range to {
			v.last++
			j := newJob(strconv.FormatUint(v.last, 10), d, now)
			j.Task = task
			if j.kept = keeps; keeps {
				tx.Texts(persistence.Moves).Set(j.key(), j.text())
			}
			v.enqueueLocked(j)
			jobs = append(jobs, j)
		}
	})
	if refused != nil {
		return nil, refused
	}
	v.start() // also after an error, with which they may have been ordered
	return jobs, err
}

// enqueueLocked puts a job behind the others.
func (v *Moves) enqueueLocked(j *job) {
	j.ctx, j.cancel = context.WithCancelCause(v.o.Done)
	v.jobs = append(v.jobs, j)
}

// waitingLocked counts the jobs that are not over.
func (v *Moves) waitingLocked() (n int) {
	for _, j := range v.jobs {
		if !j.Over() {
			n++
		}
	}
	return n
}

// start starts a worker for the moves that wait, if there are any and none runs.
func (v *Moves) start() {
	v.mu.Lock()
	begins := !v.running && v.waitingLocked() > 0
	v.running = v.running || begins
	v.mu.Unlock()
	if begins {
		v.o.Go(v.run)
	}
}

// Lead goes on with the moves that the leaders before have left, when this server is about to lead: it has all that was
// committed by then.
func (v *Moves) Lead() {
	all := v.jobsOf(v.o.Store.Texts(persistence.Moves))
	v.mu.Lock()
	v.dropLocked()
	for _, j := range all {
		v.last = max(v.last, j.number())
		v.jobs = slices.DeleteFunc(v.jobs, func(over *job) bool { return over.Name == j.Name })
		v.enqueueLocked(j)
	}
	v.mu.Unlock()
	if len(all) > 0 {
		v.o.Logf(persistence.LevelInfo, "This member goes on with %d moves of slots that were ordered before it led", len(all))
	}
	v.start()
}

// Follow ends the moves of this server, whose leadership is over.
func (v *Moves) Follow() {
	kept := v.o.Store.Texts(persistence.Moves)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dropLocked()
	v.kept = kept
}

// dropLocked ends the jobs of a leadership that is over. They are not this server's any more: the worker
// ends the one that it is at.
func (v *Moves) dropLocked() {
	v.jobs = slices.DeleteFunc(v.jobs, func(j *job) bool {
		if j.Over() {
			return false
		}
		j.cancel(errLeadership)
		return true
	})
}

// Note notes which moves the group is to make, at a follower: it may be called before Open.
func (v *Moves) Note(kept map[string]string, _ []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept = maps.Clone(kept)
}

// List returns the moves that this server makes, has made lately and is to make, the first one first. A follower
// shows what its leader is to make.
func (v *Moves) List() (all []cluster.Move) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, j := range v.jobs {
		all = append(all, j.Move)
	}
	if !v.o.Leads() {
		for _, j := range v.jobsOf(v.kept) {
			j.Message, j.Moved = "the leader of the group makes this move", v.arrived(j)
			all = append(all, j.Move)
		}
	}
	return all
}

// Cancel ends all moves: slots that are not given away stay, whoever leads the group.
func (v *Moves) Cancel() error {
	return v.change(func(tx *persistence.Tx, _ bool) {
		moves := tx.Texts(persistence.Moves)
		for _, key := range slices.Collect(moves.Names()) {
			moves.Delete(key)
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, j := range v.jobs {
			if !j.Over() {
				j.cancel(errCancelled)
			}
		}
	})
}

// cancelTasks ends the move of a task, or of all tasks (""), and returns how many were not over.
func (v *Moves) cancelTasks(task string) (n int, err error) {
	err = v.change(func(tx *persistence.Tx, _ bool) {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, j := range v.jobs {
			if j.Task != "" && (task == "" || task == j.Task) && !j.Over() && context.Cause(j.ctx) == nil {
				tx.Texts(persistence.Moves).Delete(j.key())
				j.cancel(errCancelled)
				n++
			}
		}
	})
	return n, err
}
