package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/structures/slots"
)

// Calls that wait for a move of slots, where MIGRATESLOTS replies at once.

const (
	// newsPatience is how long a call waits for what other groups tell.
	newsPatience = 5 * time.Second
	// newsPause is how often it looks.
	newsPause = 10 * time.Millisecond
)

var errOtherOwner = errors.New("the slot is another node's: CLUSTER SETSLOT MIGRATING at that one moves it")

// MoveNow has slots moved while the call waits.
func (h host) MoveNow(ctx context.Context, to cluster.Destination) (err error) {
	srv := h.srv
	if srv.opts.Group == nil {
		return errAlone
	}
	srv.computes.Abroad(func() {
		var jobs []*moveJob
		if jobs, err = srv.order([]cluster.Destination{to}, ""); err == nil {
			err = srv.moved(ctx, jobs[0])
		}
	})
	return err
}

// moved waits until a job is over.
func (srv *Server) moved(ctx context.Context, j *moveJob) error {
	select {
	case <-j.ctx.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	srv.moves.mu.Lock()
	state, message := j.State, j.Message
	srv.moves.mu.Unlock()
	switch {
	case state == cluster.MoveFailed:
		return errors.New(message)
	case state != cluster.MoveDone:
		return context.Cause(j.ctx)
	}
	return nil
}

// Departed returns the slots that were given away a moment ago.
func (h host) Departed() *slots.Set {
	if h.srv.opts.Group == nil {
		return nil
	}
	_, _, left := h.srv.opts.Group.Passing()
	return left
}

// AwaitOwner waits for news of who has a slot.
func (h host) AwaitOwner(ctx context.Context, slot int, node string) (err error) {
	srv := h.srv
	late, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer srv.clock.AfterFunc(newsPatience, func() { cancel(errOtherOwner) })()
	srv.computes.Abroad(func() {
		err = srv.until(late, func() bool {
			m := h.Membership()
			return m != nil && slices.ContainsFunc(m.Shards(), func(s commands.Shard) bool {
				return s.Slots.Has(slot) && slices.ContainsFunc(s.Members, func(o commands.Member) bool { return o.ID == node })
			})
		})
	})
	return err
}

// until waits until a condition holds.
func (srv *Server) until(ctx context.Context, holds func() bool) error {
	for !holds() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		srv.rest(ctx, newsPause)
	}
	return nil
}
