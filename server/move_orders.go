package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"
)

// Moves that are to be made are kept with the data of the group from the moment that they are ordered, so that its next
// leader goes on with them: which slots are to go where. How far a move has come need not be kept, as it shows in who
// has the slots. ADR 0071.

// orderText is what is kept of a job: see docs/format.md.
func orderText(j *moveJob) string {
	return fmt.Sprintf("%s %s %d %s", j.Shard, j.Node, j.Created, j.Destination.Slots)
}

// key is what an order is kept under: the name of the job, and the ID of its task if it has one.
func (j *moveJob) key() string {
	if j.Task == "" {
		return j.Name
	}
	return j.Name + "-" + j.Task
}

// jobOf reads what orderText wrote, and was kept under key.
func jobOf(key, text string) (*moveJob, error) {
	name, task, _ := strings.Cut(key, "-")
	words := strings.SplitN(text, " ", 4)
	if len(words) != 4 {
		return nil, fmt.Errorf("it has %d words", len(words))
	}
	created, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		return nil, err
	}
	of, err := slots.Parse(words[3])
	if err != nil {
		return nil, err
	}
	j := newMoveJob(name, cluster.Destination{Shard: words[0], Node: words[1], Slots: of}, created)
	j.Task = task
	return j, nil
}

func newMoveJob(name string, d cluster.Destination, created int64) *moveJob {
	return &moveJob{Move: cluster.Move{Name: name, Destination: d, State: cluster.MoveWaits, Created: created, Updated: created, Slots: d.Slots.Len()}, left: d.Slots}
}

// number is that of the job's name, which says which one was ordered first.
func (j *moveJob) number() uint64 {
	n, _ := strconv.ParseUint(j.Name, 10, 64)
	return n
}

// jobsOf reads all that is kept, in the order in which it was ordered. What a later version has written is left out.
func (srv *Server) jobsOf(kept map[string]string) (all []*moveJob) {
	for key, text := range kept {
		j, err := jobOf(key, text)
		if err != nil {
			srv.logf(logWarning, "The move %.40q of slots is not understood: %v", key, err)
			continue
		}
		j.kept = true
		all = append(all, j)
	}
	slices.SortFunc(all, func(a, b *moveJob) int { return cmp.Compare(a.number(), b.number()) })
	return all
}

// changeMoves changes which moves are kept, and returns when the group has agreed on that. A group that may have members of a
// version which does not read them keeps none: the error is a NeedsLevelError. do is called with the lock of the moves, in
// that case too.
func (srv *Server) changeMoves(do func(tx *persistence.Tx, keeps bool)) error {
	tx := srv.store.NewTx()
	var set persistence.Shards
	set.AddTexts()
	for !tx.Lock(&set, srv.clock.Now().UnixMilli()) {
		if srv.waitABit(); srv.done.Err() != nil {
			return srv.done.Err()
		}
	}
	err := error(persistence.ErrNotLeader)
	if tx.Writable() {
		err = nil
		do(tx, tx.Require(persistence.LevelTold) == nil)
	}
	err = errors.Join(err, tx.Err())
	position := tx.Commit()
	tx.Unlock()
	if err != nil || position == 0 {
		return err
	}
	return srv.journal.WaitDurable(position)
}

// order has slots moved, and returns when the group has agreed on that: a job for each destination. A task is ordered once, however
// often it is asked for.
func (srv *Server) order(to []cluster.Destination, task string) (jobs []*moveJob, err error) {
	q, now := &srv.moves, srv.clock.Now().UnixMilli()
	var refused error
	err = srv.changeMoves(func(tx *persistence.Tx, keeps bool) {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.waitingLocked()+len(to) > maxMoveJobs {
			refused = errTooManyMoves
			return
		}
		if task != "" && slices.ContainsFunc(q.jobs, func(j *moveJob) bool { return j.Task == task }) {
			return
		}
		for _, d := range to {
			q.last++
			j := newMoveJob(strconv.FormatUint(q.last, 10), d, now)
			j.Task = task
			if j.kept = keeps; keeps {
				tx.Texts(persistence.Moves).Set(j.key(), orderText(j))
			}
			srv.enqueueLocked(j)
			jobs = append(jobs, j)
		}
	})
	if refused != nil {
		return nil, refused
	}
	srv.startMoves() // also after an error, with which they may have been ordered
	return jobs, err
}

// enqueueLocked puts a job behind the others. srv.moves.mu is held.
func (srv *Server) enqueueLocked(j *moveJob) {
	j.ctx, j.cancel = context.WithCancelCause(srv.done)
	srv.moves.jobs = append(srv.moves.jobs, j)
}

// waitingLocked counts the jobs that are not over.
func (q *moves) waitingLocked() (n int) {
	for _, j := range q.jobs {
		if !j.Over() {
			n++
		}
	}
	return n
}

// startMoves has a worker make the moves that wait, if there are any and none does.
func (srv *Server) startMoves() {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	q := &srv.moves
	q.mu.Lock()
	defer q.mu.Unlock()
	if !srv.closed && !q.running && q.waitingLocked() > 0 {
		q.running = true
		srv.workers.Go(srv.runMoves)
	}
}

// dropLocked ends the jobs of a leadership that is over. They are not this server's any more: the worker
// ends the one that it is at.
func (q *moves) dropLocked() {
	q.jobs = slices.DeleteFunc(q.jobs, func(j *moveJob) bool {
		if j.Over() {
			return false
		}
		j.cancel(errMoveLeadership)
		return true
	})
}

// leadMoves goes on with the moves that the leaders before have left, when this server is about to lead: it has all that was
// committed by then.
func (srv *Server) leadMoves() {
	all, q := srv.jobsOf(srv.store.Texts(persistence.Moves)), &srv.moves
	q.mu.Lock()
	q.dropLocked()
	for _, j := range all {
		q.last = max(q.last, j.number())
		q.jobs = slices.DeleteFunc(q.jobs, func(over *moveJob) bool { return over.Name == j.Name })
		srv.enqueueLocked(j)
	}
	q.mu.Unlock()
	if len(all) > 0 {
		srv.logf(logNotice, "This member goes on with %d moves of slots that were ordered before it led", len(all))
	}
	srv.startMoves()
}

// followMoves ends the moves of this server, whose leadership is over.
func (srv *Server) followMoves() {
	kept, q := srv.store.Texts(persistence.Moves), &srv.moves
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropLocked()
	q.kept = kept
}

// takeMoves notes which moves the group is to make, at a follower.
func (srv *Server) takeMoves(kept map[string]string, _ []string) {
	q := &srv.moves
	q.mu.Lock()
	defer q.mu.Unlock()
	q.kept = maps.Clone(kept)
}

// Moves returns the moves that this server makes, has made lately and is to make, the first one first. A follower
// shows what its leader is to make.
func (h host) Moves() (all []cluster.Move) {
	q := &h.srv.moves
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		all = append(all, j.Move)
	}
	if m := h.srv.store.Member(); m != nil && !m.Leads() {
		for _, j := range h.srv.jobsOf(q.kept) {
			j.Message, j.Moved = "the leader of the group makes this move", h.srv.arrived(j)
			all = append(all, j.Move)
		}
	}
	return all
}

// CancelMoves ends all moves: slots that are not given away stay, whoever leads the group.
func (h host) CancelMoves() (err error) {
	srv := h.srv
	if srv.opts.Group == nil {
		return errAlone
	}
	srv.computes.Abroad(func() {
		err = srv.changeMoves(func(tx *persistence.Tx, _ bool) {
			moves := tx.Texts(persistence.Moves)
			for _, key := range slices.Collect(moves.Names()) {
				moves.Delete(key)
			}
			srv.moves.end(errMoveCancelled)
		})
	})
	return err
}

// cancelTasks ends the move of a task, or of all tasks (""), and returns how many were not over.
func (srv *Server) cancelTasks(task string) (n int, err error) {
	err = srv.changeMoves(func(tx *persistence.Tx, _ bool) {
		q := &srv.moves
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, j := range q.jobs {
			if j.Task != "" && (task == "" || task == j.Task) && !j.Over() && context.Cause(j.ctx) == nil {
				tx.Texts(persistence.Moves).Delete(j.key())
				j.cancel(errMoveCancelled)
				n++
			}
		}
	})
	return n, err
}

// forgetMove has the group make a move no more that is over, unless it is the next leader's. If the group does not agree,
// the next leader finds that nothing is left of it, or fails as well.
func (srv *Server) forgetMove(j *moveJob) {
	if !j.kept || context.Cause(j.ctx) != nil {
		return
	}
	if err := srv.changeMoves(func(tx *persistence.Tx, _ bool) { tx.Texts(persistence.Moves).Delete(j.key()) }); err != nil {
		srv.logf(logVerbose, "The move %s of slots is over, and the group does not note that: %v", j.Name, err)
	}
}
