package server

import (
	"bytes"
	"context"
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"

	"github.com/vigildb/vigil/server/internal/group"
	"github.com/vigildb/vigil/server/resharding"
)

// ScanSlots implements [cluster.Keys].
func (h host) ScanSlots(ctx context.Context, db int, of *slots.Set, visit func(key []byte) bool) error {
	await, err := h.srv.resharding.Keys.Scan(ctx, db, of, visit)
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

// removeKeys removes all keys of some slots, in all databases, while allowed says so under their locks, and returns when that is
// committed. Clients that watch such a key or keep it are told, and no event is published.
func (srv *Server) removeKeys(ctx context.Context, of *slots.Set, allowed func() bool) error {
	s := makeSession(srv, srv.store.NewTx())
	s.ctx.Client, s.ctx.Host, s.ctx.Table, s.ctx.Tx = &s.Client, s, srv.table, s.tx
	for shard := range persistence.ShardCount {
		for w := srv.resharding.Keys.Walk(shard, cluster.EveryDB); !w.Over(); {
			s.turn.start(srv.clock.Now())
			s.ctx.Now = s.turn.millis()
			s.shards = *w.Shards()
			if err := srv.resharding.Keys.Lock(ctx, s.tx, &s.shards); err != nil {
				return err
			}
			s.locked = true
			err := s.removeSome(w, of, allowed)
			s.release()
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
		}
	}
	if lsn := s.durability.Awaited(); lsn > 0 {
		return srv.journal.WaitDurable(lsn)
	}
	return nil
}

// removeSome removes the next keys of the shard that is locked.
func (s *session) removeSome(w *resharding.Walk, of *slots.Set, allowed func() bool) error {
	if !s.tx.Writable() || !allowed() {
		return persistence.ErrNotLeader
	}
	s.tx.OnChange = s.changed
	var keys []resharding.DBKey
	w.Step(s.tx, func(key resharding.DBKey) {
		if of.Has(commands.KeySlot(key.Name)) {
			keys = append(keys, resharding.DBKey{DB: key.DB, Name: bytes.Clone(key.Name)})
		}
	})
	for _, key := range keys {
		s.tx.Select(key.DB)
		s.tx.Delete(key.Name)
	}
	err := s.tx.Err()
	s.commit()
	return err
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
