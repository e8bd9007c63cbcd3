package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/structures/slots"

	"github.com/vigildb/vigil/server/internal/group"
)

// Moves of slots to other groups, at the leader of the group that has them. Keys are copied while clients use them,
// and those that have changed meanwhile again, until few are left. Then the slots are frozen, what is left is
// copied, and they are given away (held.go, movekeys.go; ADR 0071).

const (
	// slotsAtOnce is how many slots go together: each time all keys are looked at.
	slotsAtOnce = 1024
	// maxMoveJobs is how many moves wait, and as many that are over are remembered.
	maxMoveJobs = 64
	// fewChanges is how many changed keys are copied while their slots are frozen, and maxMoveRounds how often the
	// changed ones are copied before that: once at least, as they are fewer each time.
	fewChanges, maxMoveRounds = 500, 10
	// changesAtOnce is how many changed keys are taken from the tracker at a time.
	changesAtOnce = 256
	// maxMoveTries is how often slots are tried to be moved in a row, with pauses between that double.
	maxMoveTries                  = 12
	firstMovePause, lastMovePause = 100 * time.Millisecond, 3 * time.Second
)

var (
	errMoveLeadership = errors.New("this server has ceased to lead its group")
	errMoveCancelled  = errors.New("cancelled")
	errMoveTracked    = errors.New("too many keys change, or all keys were removed")
	errMoveNotOwn     = errors.New("the server does not lead a group that has all of these slots")
	errMoveGone       = errors.New("the group that slots go to is not in the cluster any more: it lies buried, or its server was reset")
	errMoveNowhere    = errors.New("the group that slots go to has no leader now")
	errMoveBusy       = errors.New("keys are being copied for something else")
	errTooManyMoves   = commands.WireError("ERR too many moves of slots wait")
)

// moves are the moves that this server makes, one after the other.
type moves struct {
	mu      sync.Mutex
	jobs    []*moveJob        // in the order of their calls; guarded by mu
	running bool              // a worker is; guarded by mu
	last    uint64            // number of a job; guarded by mu
	kept    map[string]string // what the leader is to make, as a follower knows; guarded by mu
}

// moveJob is one call's. What changes is guarded by moves.mu.
type moveJob struct {
	cluster.Move
	left   *slots.Set // to be moved
	kept   bool       // with the data of the group
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// MoveSlots implements [cluster.Mover], as do the methods below: it has slots moved in the background, by this leader of the group
// and those after it.
func (h host) MoveSlots(to []cluster.Destination) (err error) {
	if h.srv.opts.Group == nil {
		return errAlone
	}
	h.srv.computes.Abroad(func() { _, err = h.srv.order(to, "") })
	return err
}

// OrderMove implements [members.Rebalancer].
func (h host) OrderMove(ctx context.Context, from, to string, of *slots.Set) error {
	return h.abroadIn(func(g group.Group) error {
		if m := h.Membership(); m != nil && m.ID == from {
			return h.srv.orderMove(to, of)
		}
		return g.OrderMove(ctx, from, to, of)
	})
}

// orderMove has slots of this group moved to the one with an ID.
func (srv *Server) orderMove(to string, of *slots.Set) error { return srv.orderTask(to, of, "") }

// orderTask does the same for a task of that group, by its ID.
func (srv *Server) orderTask(to string, of *slots.Set, task string) error {
	m := host{srv}.Membership()
	if m == nil {
		return errAlone
	}
	if !m.Leads || of.Without(m.Shards()[0].Slots).Len() > 0 {
		return errMoveNotOwn
	}
	s := m.Other(to)
	if s == nil || s.Leader < 0 {
		return errMoveNowhere
	}
	_, err := srv.order([]cluster.Destination{{Shard: to, Node: s.Members[s.Leader].ID, Slots: of}}, task)
	return err
}

// end ends all moves.
func (q *moves) end(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if !j.Over() {
			j.cancel(why)
		}
	}
}

// next returns the next move, nil if there is none: then the worker ends.
func (q *moves) next() *moveJob {
	q.mu.Lock()
	defer q.mu.Unlock()
	over := 0
	for _, j := range q.jobs {
		if !j.Over() {
			return j
		}
		over++
	}
	if drop := over - maxMoveJobs; drop > 0 {
		q.jobs = append([]*moveJob(nil), q.jobs[drop:]...)
	}
	q.running = false
	return nil
}

// runMoves is the worker. It ends when there is no move left; when the server is closed, each ends at once.
func (srv *Server) runMoves() {
	for j := srv.moves.next(); j != nil; j = srv.moves.next() {
		srv.runMove(j)
	}
}

// note changes what is shown of a move.
func (srv *Server) note(j *moveJob, change func(m *cluster.Move)) {
	q := &srv.moves
	q.mu.Lock()
	defer q.mu.Unlock()
	change(&j.Move)
	j.Updated = srv.clock.Now().UnixMilli()
}

// runMove moves the slots of a job, some at a time.
func (srv *Server) runMove(j *moveJob) {
	defer j.cancel(nil)
	srv.note(j, func(m *cluster.Move) { m.State, m.Started = cluster.MoveRuns, srv.clock.Now().UnixMilli() })
	most, tries, pause := slotsAtOnce, 0, firstMovePause
	for srv.skipMoved(j); j.left.Len() > 0; srv.skipMoved(j) {
		some := firstSlots(j.left, most)
		err := cmp.Or(context.Cause(j.ctx), srv.hopeless(j))
		if err == nil {
			err = srv.moveSome(j, some)
		}
		if err == nil {
			j.left = j.left.Without(some)
			tries, pause = 0, firstMovePause
			srv.note(j, func(m *cluster.Move) { m.Moved, m.Message = m.Slots-j.left.Len(), "" })
			continue
		}
		if why := context.Cause(j.ctx); why != nil {
			err, tries = why, maxMoveTries
		} else if why := srv.hopeless(j); why != nil {
			err, tries = why, maxMoveTries
		}
		if errors.Is(err, errMoveTracked) {
			most = max(1, some.Len()/2)
		}
		if tries++; tries >= maxMoveTries {
			srv.logf(logWarning, "Slots are not moved: %v", err)
			srv.forgetMove(j)
			srv.note(j, func(m *cluster.Move) {
				if m.State, m.Message = cluster.MoveFailed, err.Error(); errors.Is(err, errMoveCancelled) {
					m.State = cluster.MoveCancelled
				}
			})
			return
		}
		srv.note(j, func(m *cluster.Move) { m.Message, m.Retries = err.Error(), m.Retries+1 })
		srv.rest(j.ctx, pause)
		pause = min(2*pause, lastMovePause)
	}
	srv.forgetMove(j)
	srv.note(j, func(m *cluster.Move) { m.State = cluster.MoveDone })
}

// rest waits for a time, or until ctx ends.
func (srv *Server) rest(ctx context.Context, d time.Duration) {
	late, cancel := context.WithCancel(ctx)
	defer cancel()
	defer srv.clock.AfterFunc(d, cancel)()
	<-late.Done()
}

// firstSlots returns the first n slots of a set.
func firstSlots(of *slots.Set, n int) *slots.Set {
	some := new(slots.Set)
	for _, r := range of.Ranges() {
		r.Last = min(r.Last, r.First+n-1)
		some.Add(r)
		if n -= r.Last - r.First + 1; n == 0 {
			break
		}
	}
	return some
}

// moveSome moves some slots of a job. With an error nothing has changed, as far as is known.
func (srv *Server) moveSome(j *moveJob, of *slots.Set) error {
	g := srv.opts.Group
	changes := srv.store.Track(func(key []byte) bool { return of.Has(commands.KeySlot(key)) })
	if changes == nil {
		return errMoveBusy
	}
	defer changes.Stop()
	attempt, err := g.BeginMove(j.ctx, j.Shard, of)
	if err != nil {
		return err
	}
	defer g.EndMove(attempt)
	c := &copier{srv: srv, tx: srv.store.NewTx(), send: func(frame []byte) error { return g.SendKeys(j.ctx, attempt, frame) }}
	if err := srv.copyAll(j, c, of); err != nil {
		return err
	}
	// The end of a frame is sent here: while it is on its way, clients of frozen slots would wait for it.
	for round := 0; ; round++ {
		if err := c.flush(); err != nil {
			return err
		}
		if round == maxMoveRounds || round > 0 && changes.Len() <= fewChanges {
			break
		}
		if err := srv.copyChanged(j.ctx, c, changes, changes.Len()); err != nil {
			return err
		}
	}
	freeze, err := srv.giveFrozen(j, c, of, attempt, changes)
	srv.note(j, func(m *cluster.Move) {
		m.Keys, m.Bytes, m.LongestFreeze = m.Keys+c.keys, m.Bytes+c.bytes, max(m.LongestFreeze, freeze)
	})
	return err
}

// copyAll copies all keys of some slots.
func (srv *Server) copyAll(j *moveJob, c *copier, of *slots.Set) error {
	var failed error
	err := host{srv}.scanKeys(j.ctx, of, func(keys [][]byte) bool {
		for _, key := range keys {
			if failed = c.copy(j.ctx, key); failed != nil {
				return false
			}
		}
		return true
	})
	if failed != nil {
		err = failed
	}
	return err
}

// copyChanged copies up to n keys that have changed, as they are now.
func (srv *Server) copyChanged(ctx context.Context, c *copier, changes interface {
	Take(n int) []string
	Lost() bool
}, n int) error {
	for n > 0 {
		keys := changes.Take(min(n, changesAtOnce))
		if len(keys) == 0 {
			break
		}
		n -= len(keys)
		for _, key := range keys {
			if err := c.copy(ctx, []byte(key)); err != nil {
				return err
			}
		}
	}
	if changes.Lost() {
		return errMoveTracked
	}
	return nil
}

// giveFrozen gives slots away after what has changed lately was copied. Meanwhile their keys do not change. It returns for how long they were
// frozen.
func (srv *Server) giveFrozen(j *moveJob, c *copier, of *slots.Set, attempt uint64, changes interface {
	Take(n int) []string
	Lost() bool
}) (took time.Duration, err error) {
	start := srv.clock.Now()
	ctx, cancel := context.WithCancelCause(j.ctx)
	defer cancel(nil)
	patience := srv.settings().conf.ClusterSilence
	defer srv.clock.AfterFunc(patience, func() {
		cancel(fmt.Errorf("what is left to be copied takes longer than cluster-node-timeout, %v", patience))
	})()
	decided, given := true, false
	began := srv.fence.Begin(of)
	defer func() {
		if given {
			srv.sendAway(of)
		}
		srv.fence.End(began, decided)
		took = srv.clock.Since(start)
	}()
	if err := srv.settleDown(ctx, true); err != nil {
		return 0, context.Cause(ctx)
	}
	for more := true; more; {
		keys := c.keys
		if err := srv.copyChanged(ctx, c, changes, changesAtOnce); err != nil {
			return 0, err
		}
		more = c.keys > keys
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	if err := srv.journal.WaitDurable(srv.store.Newest()); err != nil { // the other group has what is committed here
		return 0, err
	}
	if changes.Lost() {
		return 0, errMoveTracked
	}
	decided, err = srv.opts.Group.GiveSlots(ctx, attempt)
	given = err == nil
	return 0, err
}
