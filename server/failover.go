package server

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/source"
)

// Planned hand-over (FAILOVER, ADR 0112). Writes are held back until a replica has confirmed all of the stream. Then this server is a
// replica of it, at the end of its own stream, and asks it to be the master. If that refuses, this server is the master again.

// failover is a hand-over that may be under way. A goroutine of its own does it.
type failover struct {
	srv   *Server
	state atomic.Int32 // failoverState

	mu    sync.Mutex
	abort context.CancelFunc // guarded by mu; nil: none is under way
}

type failoverState int32

const (
	failoverNone failoverState = iota
	failoverWaits
	failoverAsks
)

var failoverNames = [...]string{"no-failover", "waiting-for-sync", "failover-in-progress"}

func (f *failover) name() string { return failoverNames[f.state.Load()] }

// failoverLook is how often it is looked whether the replica has everything.
const failoverLook = 10 * time.Millisecond

// Failover begins to hand over to a replica, or ends that.
func (h host) Failover(o admin.Failover) error {
	srv := h.srv
	f := &srv.failover
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case o.Abort && f.abort == nil:
		return errNoFailover
	case o.Abort:
		f.abort()
		return nil
	case f.abort != nil:
		return errFailoverTwice
	case srv.following.active.Load():
		return errFailoverReplica
	case len(srv.source.Report().Replicas) == 0:
		return errFailoverAlone
	case o.Force && (o.Timeout == 0 || o.Host == ""):
		return errFailoverForce
	}
	if o.Host != "" {
		if _, err := srv.source.Heir(o.Host, o.Port); errors.Is(err, source.ErrNotOnline) {
			return errFailoverOffline
		} else if err != nil {
			return errFailoverStranger
		}
	}
	ctx, abort := context.WithCancel(srv.done)
	f.abort = abort
	f.state.Store(int32(failoverWaits))
	srv.pause.Settle(1)
	srv.logf(logNotice, "FAILOVER requested: writes wait until a replica has everything")
	srv.workers.Go(func() { srv.failover.run(ctx, &o) }) // ends with the hand-over, ABORT or the server
	return nil
}

// run hands over, and lets clients write again if this is a master in the end.
func (f *failover) run(ctx context.Context, o *admin.Failover) {
	if err := f.handOver(ctx, o); err != nil {
		f.srv.logf(logWarning, "FAILOVER aborted: %v", err)
	} else {
		f.srv.logf(logNotice, "FAILOVER: the replica has taken over")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.abort()
	f.abort = nil
	f.state.Store(int32(failoverNone))
	f.srv.pause.Settle(-1)
}

func (f *failover) handOver(ctx context.Context, o *admin.Failover) error {
	forced, err := f.awaitHeir(ctx, o)
	if err != nil {
		return err
	}
	answer := make(chan error, 1) // of capacity 1: there is one answer
	for begun := false; !begun; {
		if begun, err = f.becomeReplica(o, forced, answer); err != nil {
			return errors.Join(err, f.takeBack())
		}
		if !begun { // something was written at the last moment, as a key that expired
			if forced, err = f.awaitHeir(ctx, o); err != nil {
				return err
			}
		}
	}
	f.state.Store(int32(failoverAsks))
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = errFailoverAborted
	}
	if err != nil && f.srv.done.Err() == nil {
		return errors.Join(err, f.takeBack())
	}
	return err
}

// awaitHeir waits until a replica has everything, or until the time is over and it is forced to take over all the same.
func (f *failover) awaitHeir(ctx context.Context, o *admin.Failover) (forced bool, err error) {
	srv := f.srv
	begin := srv.clock.Now()
	for asked := false; ; asked = true {
		if heir, err := srv.source.Heir(o.Host, o.Port); err == nil && heir.HasAll {
			return false, nil
		}
		if !asked { // once: what asks is a part of the stream, too, and is confirmed within a second
			srv.source.Ask()
		}
		if o.Timeout > 0 && srv.clock.Since(begin) >= o.Timeout {
			if o.Force {
				return true, nil
			}
			return false, errors.New("no replica had everything in time")
		}
		look := make(chan struct{})
		stop := srv.clock.AfterFunc(failoverLook, func() { close(look) })
		select {
		case <-look:
		case <-ctx.Done():
			stop()
			return false, errFailoverAborted
		}
	}
}

// becomeReplica makes this server a replica of its heir, if that still has everything.
func (f *failover) becomeReplica(o *admin.Failover, forced bool, answer chan error) (begun bool, err error) {
	srv := f.srv
	following := &srv.following
	following.change.Lock()
	defer following.change.Unlock()
	var heir source.Heir
	_, err = srv.lockAll(0, func(s *session) { // no member of a group hands over like this
		var none error
		heir, none = srv.source.Heir(o.Host, o.Port)
		if begun = none == nil && (heir.HasAll || forced); begun {
			following.activate(0, true) // nothing is written behind this
			s.tx.SetReplicated(persistence.Replicated{Follows: true, ID: heir.Stream, Offset: heir.Offset, DB: heir.DB})
		}
	})
	if err == nil && !begun && forced {
		err = errors.New("the replica is not there any more")
	}
	if err != nil || !begun {
		return begun, err
	}
	srv.source.End("another server takes over")
	srv.logf(logNotice, "FAILOVER: asking %s:%d to take over at offset %d", heir.Host, heir.Port, heir.Offset)
	if _, err := following.remember(0, heir.Host+" "+strconv.Itoa(heir.Port)); err != nil {
		return true, err
	}
	return true, following.followHeir(0, heir.Host, heir.Port, func(refused error) {
		select {
		case answer <- refused:
		default: // there was one already
		}
	})
}

// takeBack makes this server the master again.
func (f *failover) takeBack() error {
	following := &f.srv.following
	following.change.Lock()
	defer following.change.Unlock()
	if !following.active.Load() {
		return nil
	}
	_, err := following.remember(0, "no one")
	_, failed := following.promote(0)
	return errors.Join(err, failed)
}

// changesRole reports whether a client may change the role of the server now.
func (f *failover) changesRole(locked *persistence.Shards) error {
	switch {
	case !locked.Empty():
		return errRoleAmidKeys
	case f.state.Load() != int32(failoverNone):
		return errRoleAmidFailover
	}
	return nil
}

var errFailoverAborted = errors.New("by a client, or the end of the server")

// Errors of FAILOVER, word for word as in Redis.
const (
	errRoleAmidFailover = commands.WireError("ERR REPLICAOF not allowed while failing over.")
	errNoFailover       = commands.WireError("ERR No failover in progress.")
	errFailoverTwice    = commands.WireError("ERR FAILOVER already in progress.")
	errFailoverReplica  = commands.WireError("ERR FAILOVER is not valid when server is a replica.")
	errFailoverForce    = commands.WireError("ERR FAILOVER with force option requires both a timeout and target HOST and IP.")
	errFailoverAlone    = commands.WireError("ERR FAILOVER requires connected replicas.")
	errFailoverOffline  = commands.WireError("ERR FAILOVER target replica is not online.")
	errFailoverStranger = commands.WireError("ERR FAILOVER target HOST and PORT is not a replica.")
)
