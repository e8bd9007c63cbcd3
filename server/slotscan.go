package server

import (
	"context"
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
)

// slotStep is how many keys are looked at while their shard is locked: other clients wait for
// less than a tenth of a millisecond.
const slotStep = 512

// ScanSlot calls visit with the keys of a slot in database 0, in no order, until it returns
// false. It looks at all keys, with the locks of few of them at a time: one that is there
// from the first call to the last is visited, one that comes or goes meanwhile may be. At a
// leader it waits until what it has seen is committed. visit must not keep the key.
func (h host) ScanSlot(ctx context.Context, slot int, visit func(key []byte) bool) error {
	srv := h.srv
	tx := srv.store.NewTx()
	more, leads := true, false
	see := func(key []byte) {
		if more && commands.KeySlot(key) == slot {
			more = visit(key)
		}
	}
	newest := uint64(0)
	for shard := range uint64(persistence.ShardCount) {
		for from, first := shard<<56, true; more && (first || from != 0); first = false {
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
		}
	}
	if !leads {
		return nil
	}
	err := error(nil)
	srv.abroad(func() { err = srv.journal.WaitDurable(newest) })
	if errors.Is(err, persistence.ErrNotLeader) {
		return commands.ErrClusterDown
	}
	return err
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
