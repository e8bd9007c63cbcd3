package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// A replay does not ask the disk about a key that a record sets or deletes, but
// assumes that the disk has it. At the end the assumptions are put right, for the
// counts depend on them: where many keys are in question by reading all heads of
// the table in the order of the disk, else by looking up each, in that order too.
// One after the other costs a fiftieth of what as many look-ups here and there do.

const (
	// ReadAllShare is the share of a table's keys on disk from which on all are
	// read rather than some looked up.
	ReadAllShare = 16
	// seekShare is the same for look-ups in order, which are cheaper.
	seekShare = 8
)

// assume records that the disk may have the current key, which has a slot now.
func (w *worker) assume() {
	t := w.t
	if t.Resident || w.replay.live {
		return
	}
	if i := t.Find(w.hash, w.key); i >= 0 {
		t.SetMeta(i, t.Meta(i)|keyspace.OnDisk)
		t.Assumed = true
	}
}

// readAll makes the table at hand resident, or stops when memory is full. lsn is the
// record at hand: of values that contain it, or later ones, it is noted.
func (w *worker) readAll(lsn uint64) error {
	t := w.t
	t.ClearOnDisk()
	err := w.heads(t, func(hash uint64, key, value []byte) error {
		h, err := format.DecodeHead(value)
		if err != nil {
			return err
		}
		if i := t.Find(hash, key); i >= 0 {
			t.Confirm(i, h.Paged)
			return nil
		}
		if !w.hasRoom() {
			return heads.ErrStopped
		}
		if h.LSN >= lsn {
			w.know(key, h.LSN)
		}
		_, err = w.replay.Heads.Admit(t, hash, key, &h, w.Fresh())
		return err
	})
	if errors.Is(err, heads.ErrStopped) {
		t.AssumeAll()
		t.Sought = 0
		return nil
	}
	if err != nil {
		return fmt.Errorf("read heads: %w", err)
	}
	t.Settle()
	t.Resident = true
	return nil
}

// heads visits the heads of a table on disk, in order. key and value are valid
// during the call.
func (w *worker) heads(t *keyspace.Table, visit func(hash uint64, key, value []byte) error) error {
	it, err := w.replay.Files.Disk.DB.NewIter(tableBounds(t.Phys, w.shard))
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		var hash uint64
		var key []byte
		if _, hash, key, err = format.SplitHeadKey(it.Key()); err == nil {
			err = visit(hash, key, it.Value())
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}

// tableBounds are the heads of a physical database in a shard.
func tableBounds(phys uint32, shard int) *pebble.IterOptions {
	o := &pebble.IterOptions{LowerBound: format.AppendHeadBound(nil, phys, uint64(shard)<<56)}
	if shard == format.ShardCount-1 {
		o.UpperBound = format.AppendPhysBound(nil, format.PrefixHead, uint64(phys)+1)
	} else {
		o.UpperBound = format.AppendHeadBound(nil, phys, uint64(shard+1)<<56)
	}
	return o
}

// reconcile puts the assumptions about the keys of a shard right.
func (w *worker) reconcile(ctx context.Context, sh int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.enter(sh)
	return w.reconcileTables()
}

// reconcileTables is reconcile for the shard at hand.
func (w *worker) reconcileTables() error {
	for _, t := range w.replay.Keyspace.Shard[w.shard].Tables {
		if t == nil {
			continue
		}
		t.Unexpect()
		if !t.Assumed {
			continue
		}
		var err error
		if int64(t.Dirty)*seekShare < t.Disk {
			err = w.lookUp(t)
		} else {
			err = w.compare(t)
		}
		if err != nil {
			return fmt.Errorf("compare with disk: %w", err)
		}
		t.Settle()
	}
	return nil
}

// compare confirms slots by reading all heads of the table.
func (w *worker) compare(t *keyspace.Table) error {
	t.ClearOnDisk()
	return w.heads(t, func(hash uint64, key, value []byte) error {
		if i := t.Find(hash, key); i >= 0 {
			return confirmHead(t, i, value)
		}
		return nil
	})
}

// lookUp confirms dirty slots one by one.
func (w *worker) lookUp(t *keyspace.Table) error {
	t.ClearOnDisk()
	it, err := w.replay.Files.Disk.DB.NewIter(tableBounds(t.Phys, w.shard))
	if err != nil {
		return err
	}
	for i := range t.Places() {
		if t.Meta(i)&keyspace.Dirty == 0 {
			continue
		}
		t.Scratch = format.AppendHeadKey(t.Scratch[:0], t.Phys, t.HashAt(i), t.Key(t.Meta(i)))
		if !it.SeekGE(t.Scratch) {
			break // nothing follows
		}
		if bytes.Equal(it.Key(), t.Scratch) {
			if err = confirmHead(t, i, it.Value()); err != nil {
				break
			}
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}

// confirmHead confirms slot i by the head of its key.
func confirmHead(t *keyspace.Table, i int, value []byte) error {
	h, err := format.DecodeHead(value)
	if err == nil {
		t.Confirm(i, h.Paged)
	}
	return err
}
