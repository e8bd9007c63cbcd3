package server

import (
	"context"
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"

	"github.com/vigildb/vigil/server/internal/group"
	"github.com/vigildb/vigil/server/resharding"
)

// ScanSlots implements [cluster.Keys].
func (h host) ScanSlots(ctx context.Context, of *slots.Set, visit func(key []byte) bool) error {
	await, err := h.srv.resharding.Keys.Scan(ctx, of, visit)
	if err == nil {
		h.srv.computes.Abroad(func() { err = await() })
	}
	return err
}

// EmptySlots removes the keys of some slots, of those that the group has, and returns when that is committed. It fails while one of
// them is about to be another group's.
func (h host) EmptySlots(ctx context.Context, of *slots.Set) error {
	srv := h.srv
	own := func() *slots.Set {
		own, _ := srv.opts.Group.Shard()
		if own == nil {
			return of
		}
		return of.Both(own)
	}
	mine, err := own(), error(nil)
	if mine.Len() == 0 {
		return nil
	}
	srv.computes.Abroad(func() {
		err = srv.removeKeys(ctx, mine, func() bool { return srv.fence.Of().Both(mine).Len() == 0 && own().Equal(mine) })
	})
	if errors.Is(err, persistence.ErrNotLeader) {
		return errTryAgain
	}
	return err
}

// removeKeys removes all keys of some slots while allowed says so under their locks, and returns when that is committed.
// Clients that watch such a key or keep it are told, and no event is published.
func (srv *Server) removeKeys(ctx context.Context, of *slots.Set, allowed func() bool) error {
	s := &session{host: host{srv}, tx: srv.store.NewTx()}
	s.ctx.Client, s.ctx.Host, s.ctx.Table, s.ctx.Tx = &s.Client, s, srv.table, s.tx
	for shard := range uint64(persistence.ShardCount) {
		for from, first := shard<<56, true; first || from != 0; first = false {
			s.turn.start(srv.clock.Now())
			s.ctx.Now = s.turn.millis()
			s.shards = persistence.Shards{}
			s.shards.Add(shard << 56)
			if err := srv.resharding.Keys.Lock(ctx, s.tx, &s.shards); err != nil {
				return err
			}
			s.locked = true
			var err error
			from, err = s.removeSome(from, of, allowed)
			s.release()
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
		}
	}
	if lsn := s.dur.awaited(); lsn > 0 {
		return srv.journal.WaitDurable(lsn)
	}
	return nil
}

// removeSome removes keys of the shard that is locked, from a hash on, and returns where to go on.
func (s *session) removeSome(from uint64, of *slots.Set, allowed func() bool) (next uint64, err error) {
	if !s.tx.Writable() || !allowed() {
		return 0, persistence.ErrNotLeader
	}
	s.tx.Select(0)
	s.tx.OnChange = s.changed
	var keys [][]byte
	next = s.tx.ScanShard(from, resharding.ScannedAtOnce, func(key []byte) {
		if of.Has(commands.KeySlot(key)) {
			keys = append(keys, append([]byte(nil), key...))
		}
	})
	for _, key := range keys {
		s.tx.Delete(key)
	}
	err = s.tx.Err()
	s.commit()
	return next, err
}

// Meet implements [cluster.Changes], as do the methods below.
func (h host) Meet(ctx context.Context, address string) error {
	return h.abroadIn(func(g group.Group) error { return g.Meet(ctx, address) })
}

// TakeSlots gives slots to the group.
func (h host) TakeSlots(ctx context.Context, add *slots.Set) error {
	return h.abroadIn(func(g group.Group) error { return g.TakeSlots(ctx, add) })
}

// DropSlots takes slots from the group.
func (h host) DropSlots(ctx context.Context, drop *slots.Set) error {
	return h.abroadIn(func(g group.Group) error { return g.DropSlots(ctx, drop) })
}

// TakeOver asks the leader to hand over to this member. The reply does not wait for that.
func (h host) TakeOver() {
	if g := h.srv.opts.Group; g != nil {
		h.srv.background(g.TakeOver)
	}
}

// Replicate makes this server a member of another group, as [cluster.Membership] says.
func (h host) Replicate(ctx context.Context, master string) error {
	return h.abroadIn(func(g group.Group) error { return g.Replicate(ctx, master) })
}

// Reset makes this server a group by itself.
func (h host) Reset(ctx context.Context) error {
	return h.abroadIn(func(g group.Group) error { return g.Reset(ctx) })
}

// Forget has the group of a replica let it go.
func (h host) Forget(ctx context.Context, id string) (known bool, err error) {
	err = h.abroadIn(func(g group.Group) (e error) {
		known, e = g.Forget(ctx, id)
		return e
	})
	return known, err
}
