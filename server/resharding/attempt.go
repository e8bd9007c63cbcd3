package resharding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/structures/slots"
)

const (
	// slotsAtOnce is how many slots go together: each time all keys are looked at.
	slotsAtOnce = 1024
	// fewChanges is how many changed keys are copied while their slots are fenced, and maxRounds how often the
	// changed ones are copied before that: once at least, as they are fewer each time.
	fewChanges, maxRounds = 500, 10
	// changesAtOnce is how many changed keys are taken from the tracker at a time.
	changesAtOnce = 256
	// maxTries is how often slots are tried to be moved in a row, with pauses between that double.
	maxTries              = 12
	firstPause, lastPause = 100 * time.Millisecond, 3 * time.Second
)

var (
	errTracked = errors.New("too many keys change, or all keys were removed")
	errBusy    = errors.New("keys are being copied for something else")
)

// run is the worker. It ends when there is no move left; when the server is closed, each ends at once.
func (v *Moves) run() {
	for j := v.next(); j != nil; j = v.next() {
		v.make(j)
	}
}

// next returns the next move, nil if there is none: then the worker ends.
func (v *Moves) next() *job {
	v.mu.Lock()
	defer v.mu.Unlock()
	over := 0
	for _, j := range v.jobs {
		if !j.Over() {
			return j
		}
		over++
	}
	if drop := over - MaxMoves; drop > 0 {
		v.jobs = append([]*job(nil), v.jobs[drop:]...)
	}
	v.running = false
	return nil
}

// note changes what is shown of a move.
func (v *Moves) note(j *job, change func(m *cluster.Move)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change(&j.Move)
	j.Updated = v.o.Clock.Now().UnixMilli()
}

// make moves the slots of a job, some at a time.
func (v *Moves) make(j *job) {
	defer j.cancel(nil)
	v.note(j, func(m *cluster.Move) { m.State, m.Started = cluster.MoveRuns, v.o.Clock.Now().UnixMilli() })
	most, tries, pause := slotsAtOnce, 0, firstPause
	for v.skip(j); j.left.Len() > 0; v.skip(j) {
		some := first(j.left, most)
		err := cmp.Or(context.Cause(j.ctx), v.hopeless(j))
		if err == nil {
			err = v.try(j, some)
		}
		if err == nil {
			j.left = j.left.Without(some)
			tries, pause = 0, firstPause
			v.note(j, func(m *cluster.Move) { m.Moved, m.Message = m.Slots-j.left.Len(), "" })
			continue
		}
		if why := cmp.Or(context.Cause(j.ctx), v.hopeless(j)); why != nil {
			err, tries = why, maxTries
		}
		if errors.Is(err, errTracked) {
			most = max(1, some.Len()/2)
		}
		if tries++; tries >= maxTries || errors.As(err, new(TooFewError)) {
			v.fail(j, err)
			return
		}
		v.note(j, func(m *cluster.Move) { m.Message, m.Retries = err.Error(), m.Retries+1 })
		clock.Rest(j.ctx, v.o.Clock, pause)
		pause = min(2*pause, lastPause)
	}
	v.forget(j)
	v.note(j, func(m *cluster.Move) { m.State = cluster.MoveDone })
}

// fail ends a move that is not made.
func (v *Moves) fail(j *job, why error) {
	v.o.Logf(persistence.LevelWarn, "Slots are not moved: %v", why)
	v.forget(j)
	v.note(j, func(m *cluster.Move) {
		if m.State, m.Message = cluster.MoveFailed, why.Error(); errors.Is(why, errCancelled) {
			m.State = cluster.MoveCancelled
		}
	})
}

// Slots of a move can have gone when its turn comes: moves are made one after the other, and others can be asked for, or
// the same ones again, while they wait.

// skip drops slots of a job that have gone where they are to go: it was asked for twice, as by a REBALANCE that
// was repeated before the moves of the first one were over.
func (v *Moves) skip(j *job) {
	here, there := v.sides(j)
	if here == nil {
		return
	}
	if gone := j.left.Without(here).Both(there); gone.Len() > 0 {
		j.left = j.left.Without(gone)
		v.note(j, func(m *cluster.Move) { m.Moved = m.Slots - j.left.Len() })
	}
}

// hopeless returns why a job cannot be done by waiting, which the moves behind it would do too: slots of it have gone to a
// third group, or the one that is to get them is gone. It is nil for others.
func (v *Moves) hopeless(j *job) error {
	switch here, there := v.sides(j); {
	case here == nil:
		return nil
	case there == nil:
		return ErrGone
	case j.left.Without(here).Without(there).Len() > 0:
		return ErrNotOwn
	}
	return nil
}

// sides returns the slots of this group and those of the one to which a job moves slots: none if this server does not lead, and
// there is nil for a group that is not in the cluster.
func (v *Moves) sides(j *job) (here, there *slots.Set) {
	m := v.o.Membership()
	if m == nil || !m.Leads {
		return nil, nil
	}
	if to := m.Other(j.Shard); to != nil {
		there = to.Slots.Union(nil)
	}
	return m.Shards()[0].Slots, there
}

// arrived counts the slots of a job that this server, which may be a follower, knows to be where they are to go.
func (v *Moves) arrived(j *job) int {
	if m := v.o.Membership(); m != nil {
		if to := m.Other(j.Shard); to != nil {
			return j.left.Both(to.Slots).Len()
		}
	}
	return 0
}

// first returns the first n slots of a set.
func first(of *slots.Set, n int) *slots.Set {
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

// attempt is one to move some slots of a job.
type attempt struct {
	v       *Moves
	j       *job
	of      *slots.Set
	number  uint64 // as the group knows it
	changes *persistence.Tracker
	copier
}

// try moves some slots of a job. With an error nothing is known to have changed.
func (v *Moves) try(j *job, of *slots.Set) error {
	a := &attempt{v: v, j: j, of: of, copier: copier{k: v.keys, tx: v.o.Store.NewTx()}}
	a.changes = v.o.Store.Track(func(key []byte) bool { return of.Has(commands.KeySlot(key)) })
	if a.changes == nil {
		return errBusy
	}
	defer a.changes.Stop()
	var err error
	if a.number, a.databases, err = v.o.Group.BeginMove(j.ctx, j.Shard, of); err != nil {
		return err
	}
	defer v.o.Group.EndMove(a.number)
	a.send = func(frame []byte) error { return v.o.Group.SendKeys(j.ctx, a.number, frame) }
	if err := a.copyAll(); err != nil {
		return err
	}
	// The end of a frame is sent here: while it is on its way, clients of fenced slots would wait for it.
	for round := 0; ; round++ {
		if err := a.flush(); err != nil {
			return err
		}
		if round == maxRounds || round > 0 && a.changes.Len() <= fewChanges {
			break
		}
		if err := a.copyChanged(j.ctx, a.changes.Len()); err != nil {
			return err
		}
	}
	fenced, err := a.give()
	v.note(j, func(m *cluster.Move) {
		m.Keys, m.Bytes, m.LongestFreeze = m.Keys+a.keys, m.Bytes+a.bytes, max(m.LongestFreeze, fenced)
	})
	return err
}

// copyAll copies all keys of the slots.
func (a *attempt) copyAll() error {
	return a.v.keys.each(a.j.ctx, a.of, func(keys []DBKey) error {
		for _, key := range keys {
			if err := a.copy(a.j.ctx, key); err != nil {
				return err
			}
		}
		return nil
	})
}

// copyChanged copies up to n keys that have changed, as they are now.
func (a *attempt) copyChanged(ctx context.Context, n int) error {
	for n > 0 {
		keys := a.changes.Take(min(n, changesAtOnce))
		if len(keys) == 0 {
			break
		}
		n -= len(keys)
		for _, key := range keys {
			if err := a.copy(ctx, DBKey{key.DB, []byte(key.Name)}); err != nil {
				return err
			}
		}
	}
	if a.changes.Lost() {
		return errTracked
	}
	return nil
}

// give gives the slots away after what has changed lately was copied. Meanwhile their keys do not change. It returns for how long
// that was.
func (a *attempt) give() (took time.Duration, err error) {
	o := a.v.o
	start, patience := o.Clock.Now(), o.MaxFence()
	ctx, cancel := clock.WithinCause(a.j.ctx, o.Clock, patience,
		fmt.Errorf("what is left to be copied takes longer than cluster-node-timeout, %v", patience))
	defer cancel()
	decided, given := true, false
	began := o.Fence.Begin(a.of)
	defer func() {
		if given {
			sendAway(o, a.v.keys, a.of)
		}
		o.Fence.End(began, decided)
		took = o.Clock.Since(start)
	}()
	if err := a.copyLast(ctx); err != nil {
		return 0, err
	}
	decided, err = o.Group.GiveSlots(ctx, a.number)
	given = err == nil
	return 0, err
}

// copyLast copies what has changed until no call is under way that may change keys of the slots, and returns when that is
// committed here: the other group has nothing else.
func (a *attempt) copyLast(ctx context.Context) error {
	if err := a.v.keys.drain(ctx, true); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	for more := true; more; {
		keys := a.keys
		if err := a.copyChanged(ctx, changesAtOnce); err != nil {
			return err
		}
		more = a.keys > keys
	}
	if err := a.flush(); err != nil {
		return err
	}
	if err := a.v.o.Durable(a.v.o.Store.Commits().Newest()); err != nil {
		return err
	}
	if a.changes.Lost() {
		return errTracked
	}
	return nil
}
