package writeback

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/lsm"
)

// Pages of a value that is encoded in parts may be more than fit in a batch: Pebble has
// the whole of it in memory until it is written, and a value larger than memory changes
// faster than it is encoded. So pages beyond stageBytes are staged: written in small
// batches under keys of their own, where nothing reads them. The batch with the head says
// that they count, and behind it they are moved to their places, in small batches again.
//
// A crash leaves either staged pages that do not count, which the next start removes, or
// such that do, which it moves. The batch is committed as soon as no value lacks parts. Until
// the pages are moved their value's object stays in memory, and pages of it are read where
// they are staged, see held.go.
//
// What the batch says of a page is newer than what was staged of it, so it removes that. A
// delta in the batch is staged with it, as soon as anything is staged: the page may be.
type stage struct {
	used  bool // there are staged pages that the batch under way makes count
	off   bool // the batch under way takes all that is still to come
	moves bool // the staged pages count and are to be moved
}

const (
	// stageBytes is the default of Sizes.Stage: more than the batches of values that are
	// encoded at once.
	stageBytes = 4 << 20
	// moveBytes is the default of Sizes.Move: Pebble uses the memory of batches up to a
	// mebibyte again.
	moveBytes = 1 << 20
)

// stageable reports that the part that was encoded last is to be staged.
func (w *Writer) stageable() bool {
	p := &w.pass
	if p.stage.off {
		return false
	}
	return p.stage.used || p.parts.open && p.batch.Len()+p.parts.batch.Len() > p.sizes.Stage
}

// batchEntry is more than a batch adds to each entry, and to itself.
const batchEntry = 64

// stageParts stages the part that was encoded last. If it cannot, the batch takes it: a
// failing disk costs memory and loses nothing.
func (w *Writer) stageParts() {
	m := &w.pass
	b := w.disk.DB.NewBatchWithSize(m.parts.batch.Len() + int(m.parts.batch.Count()) + batchEntry)
	var scratch []byte
	each(m.parts.batch, func(kind pebble.InternalKeyKind, key, value []byte) {
		scratch = format.Restage(scratch[:0], key)
		if kind == pebble.InternalKeyKindMerge {
			_ = b.Merge(scratch, value, nil)
			return
		}
		d := b.SetDeferred(len(key), 1+len(value))
		copy(d.Key, scratch)
		if d.Value[0] = format.StagedGone; kind == pebble.InternalKeyKindSet {
			d.Value[0] = format.StagedPage
		}
		copy(d.Value[1:], value)
		_ = d.Finish() // fails only if misused
	})
	m.stage.used = true
	w.staging.Store(true)
	if err := w.disk.Apply(b, pebble.Sync); err != nil {
		w.operator.Error("materialise", fmt.Errorf("stage pages: %w", err))
		w.takeParts()
		m.stage.off = true
		return
	}
	each(m.parts.batch, func(kind pebble.InternalKeyKind, key, _ []byte) {
		if kind != pebble.InternalKeyKindDelete {
			m.parts.staged = append(m.parts.staged, format.PageID(key))
		}
	})
}

// takeParts moves the part that was encoded last into the batch, which removes what is staged
// of its pages.
func (w *Writer) takeParts() {
	m := &w.pass
	if !m.stage.used {
		_ = m.batch.Apply(m.parts.batch, nil) // fails only if misused
		return
	}
	each(m.parts.batch, func(kind pebble.InternalKeyKind, key, value []byte) {
		switch kind {
		case pebble.InternalKeyKindMerge:
			w.extendPage(key, value)
			return
		case pebble.InternalKeyKindSet:
			_ = m.batch.Set(key, value, nil)
		default:
			_ = m.batch.Delete(key, nil)
		}
		w.supersedePage(key)
	})
}

// extendPage has the batch append a delta to a page.
func (w *Writer) extendPage(pageKey, delta []byte) {
	if w.pass.stage.used {
		pageKey = format.Restage(nil, pageKey)
	}
	_ = w.pass.batch.Merge(pageKey, delta, nil)
}

func each(b *pebble.Batch, visit func(kind pebble.InternalKeyKind, key, value []byte)) {
	for r := b.Reader(); ; {
		kind, key, value, ok, err := r.Next()
		if !ok || err != nil {
			return // an error: only if misused
		}
		visit(kind, key, value)
	}
}

// supersedePage has the batch, which has a page itself, remove what is staged of it.
func (w *Writer) supersedePage(pageKey []byte) {
	if w.pass.stage.used {
		_ = w.pass.batch.Delete(format.Restage(nil, pageKey), nil)
	}
}

// supersedePages is supersedePage for all pages of a key. What follows of the key may be
// another value, which is not staged then.
func (w *Writer) supersedePages(low, high []byte) {
	if w.pass.stage.used {
		_ = w.pass.batch.DeleteRange(format.Restage(nil, low), format.Restage(nil, high), nil)
		w.pass.stage.off = true
	}
}

// move moves staged pages that count to their places.
func (w *Writer) move() error {
	m := &w.pass
	if !m.stage.moves {
		return nil
	}
	if err := w.moveStaged(); err != nil {
		return fmt.Errorf("move staged pages: %w", err)
	}
	m.stage.used, m.stage.off, m.stage.moves = false, false, false
	w.staging.Store(false)
	return nil
}

func (w *Writer) moveStaged() error {
	low, high := format.AppendGroup(nil, format.PrefixStage), format.AppendGroupEnd(nil, format.PrefixStage)
	for from := low; from != nil; {
		var err error
		if from, err = w.moveSome(from, high); err != nil {
			return err
		}
	}
	// Nothing of this batch is durable before what was moved.
	b := w.disk.DB.NewBatch()
	return errors.Join(b.DeleteRange(low, high, nil), b.Delete(format.AppendStagedKey(nil), nil), w.disk.Apply(b, pebble.Sync))
}

// moveSome moves a batch of staged pages and returns the key of the next one, nil if there
// is none. Each batch has an iterator of its own: Pebble keeps the memtables that there
// were when an iterator was made, though they are flushed, until it is closed.
func (w *Writer) moveSome(from, high []byte) (next []byte, err error) {
	it, err := w.disk.DB.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: high})
	if err != nil {
		return nil, err
	}
	size := w.pass.sizes.Move
	b := w.disk.DB.NewBatchWithSize(max(size, batchEntry))
	var key []byte
	for it.First(); it.Valid() && err == nil; it.Next() {
		v := it.Value()
		if !format.IsStaged(v) {
			err = fmt.Errorf("staged page of %d bytes: %w", len(v), format.ErrCorrupt)
			break
		}
		if !b.Empty() && b.Len()+len(it.Key())+len(v)+batchEntry > size {
			next = append([]byte(nil), it.Key()...)
			break
		}
		switch key = format.Restage(key[:0], it.Key()); v[0] {
		case format.StagedPage:
			err = b.Set(key, v[1:], nil)
		case format.StagedGone:
			err = b.Delete(key, nil)
		default:
			err = b.Merge(key, v, nil)
		}
	}
	if err = errors.Join(err, it.Error(), it.Close()); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return next, w.disk.Apply(b, pebble.NoSync)
}

// Settle ends what a crash left: staged pages that count are moved, others removed.
func (w *Writer) Settle() error {
	counts, err := lsm.StagedCount(w.disk.DB)
	if err != nil {
		return err
	}
	if counts {
		w.pass.stage.moves = true
		return w.move()
	}
	low, high := format.AppendGroup(nil, format.PrefixStage), format.AppendGroupEnd(nil, format.PrefixStage)
	some, err := lsm.Any(w.disk.DB, low, high)
	if err != nil || !some {
		return err
	}
	b := w.disk.DB.NewBatch()
	if err := errors.Join(b.DeleteRange(low, high, nil), w.disk.Apply(b, pebble.Sync)); err != nil {
		return fmt.Errorf("remove staged pages: %w", err)
	}
	return nil
}
