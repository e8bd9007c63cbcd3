package server

import (
	"bytes"
	"context"
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"

	"github.com/vigildb/vigil/server/internal/group"
)

// slotStep is how many keys are looked at while their shard is locked: other clients wait for
// less than a tenth of a millisecond.
const slotStep = 512

// ScanSlots calls visit with the keys of some slots in database 0, in no order, until it returns
// false. It looks at all keys, with the locks of few of them at a time: one that is there
// from the first call to the last is visited, one that comes or goes meanwhile may be. At a
// leader it waits until what it has seen is committed. visit must not keep the key.
func (h host) ScanSlots(ctx context.Context, of *slots.Set, visit func(key []byte) bool) error {
	more := true
	return h.scanSlots(ctx, func(key []byte) {
		if more && of.Has(commands.KeySlot(key)) {
			more = visit(key)
		}
	}, func() bool { return more })
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

// scanKeys is ScanSlots for a visit that takes its time: it is given some keys at a time, without locks.
func (h host) scanKeys(ctx context.Context, of *slots.Set, visit func(keys [][]byte) bool) error {
	var keys [][]byte
	return h.scanSlots(ctx, func(key []byte) {
		if of.Has(commands.KeySlot(key)) {
			keys = append(keys, bytes.Clone(key))
		}
	}, func() bool {
		more := visit(keys)
		keys = keys[:0]
		return more
	})
}

// scanSlots calls see with all keys under the locks of their shards, and more between.
func (h host) scanSlots(ctx context.Context, see func(key []byte), more func() bool) error {
	srv := h.srv
	tx := srv.store.NewTx()
	goesOn, leads := true, false
	newest := uint64(0)
	for shard := range uint64(persistence.ShardCount) {
		for from, first := shard<<56, true; goesOn && (first || from != 0); first = false {
			var set persistence.Shards
			set.Add(shard << 56)
			for !tx.Lock(&set, srv.clock.Now().UnixMilli()) {
				srv.waitABit()
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			tx.Select(0)
			from = tx.ScanShard(from, slotStep, see)
			err := tx.Err()
			newest, leads = max(newest, tx.Seen()), leads || tx.Writable()
			tx.Unlock()
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			goesOn = more()
		}
	}
	if !leads {
		return nil
	}
	err := error(nil)
	srv.computes.Abroad(func() { err = srv.journal.WaitDurable(newest) })
	if errors.Is(err, persistence.ErrNotLeader) {
		return commands.ErrClusterDown
	}
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
	srv := h.srv
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.opts.Group != nil && !srv.closed {
		srv.workers.Go(srv.opts.Group.TakeOver)
	}
}

// Replicate has this server become a member of another group, as [cluster.Membership] says.
func (h host) Replicate(ctx context.Context, master string) error {
	return h.abroadIn(func(g group.Group) error { return g.Replicate(ctx, master) })
}

// Reset has this server be a group by itself.
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
