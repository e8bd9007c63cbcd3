package writeback

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
)

// A page that was encoded counts as stored for its value. But until its batch is committed
// the disk has an older one or none, so it is held in memory. The others may leave it
// meanwhile: those that did not change, and those that are staged, which can be read from
// there. So a value whose pages nearly all change during a pass does not have to be in
// memory as a whole.

// held is what a pager knows of the batch under way. It is guarded by the mutex of the shard.
type held struct {
	batch uint64 // what follows is about the batch after so many others
	all   bool   // the value got its pager after it was encoded
	pages map[uint64]hold
}

// hold says how long a page is held.
type hold bool

const (
	untilStaged    hold = false
	untilCommitted hold = true // the batch has it, and what is staged is appended to that
)

// batchUnderWay makes what is held that of the batch under way: what belongs to an earlier
// one is on disk.
func (p *Pager) batchUnderWay() *held {
	if n := p.w.commits.Load(); p.held.batch != n {
		p.held = held{batch: n}
	}
	return &p.held
}

// holdAll holds all pages if the batch under way may have some of them.
func (p *Pager) holdAll() {
	if p.t.InBatch(p.hash) {
		p.batchUnderWay().all = true
	}
}

// hold holds a page that was encoded. Values without a pager have no pages on disk only.
func (p *Pager) hold(id uint64) {
	if p == nil {
		return
	}
	h := p.batchUnderWay()
	if h.pages == nil {
		h.pages = map[uint64]hold{}
	}
	h.pages[id] = untilStaged
}

// holdDelta holds a page with an encoded delta. If the page is held, the batch has it or
// another delta: pages that are staged were freed.
func (p *Pager) holdDelta(id uint64) {
	_, held := p.batchUnderWay().pages[id]
	p.hold(id)
	p.held.pages[id] = hold(held)
}

// free evicts pages that are staged.
func (p *Pager) free(staged []uint64) {
	if p == nil {
		return
	}
	h := p.batchUnderWay()
	for _, id := range staged {
		if h.pages[id] == untilStaged {
			delete(h.pages, id)
		}
	}
}

// Held implements structures.Pager.
func (p *Pager) Held(id uint64) bool {
	if !p.t.InBatch(p.hash) {
		return false
	}
	h := p.batchUnderWay()
	_, is := h.pages[id]
	return is || h.all
}

// staged reports that pages of the value may be staged, and are newer there than in their
// places.
func (p *Pager) staged() bool { return p.w.staging.Load() && p.t.InBatch(p.hash) }

// readStaged reads a page if it is staged; else the error is pebble.ErrNotFound.
func (p *Pager) readStaged(pageKey []byte, use func(page []byte) error) error {
	stagedKey := format.Restage(nil, pageKey)
	b, closer, err := p.w.disk.DB.Get(stagedKey)
	if err != nil {
		return err
	}
	switch {
	case !format.IsStaged(b) || b[0] == format.StagedGone:
		err = fmt.Errorf("staged page of %d bytes is gone: %w", len(b), format.ErrCorrupt)
	case b[0] == format.StagedPage:
		err = use(b[1:])
	default:
		return errors.Join(closer.Close(), p.readDeltas(pageKey, stagedKey, use))
	}
	return errors.Join(err, closer.Close())
}

// readDeltas reads a page with staged deltas, unless they were moved meanwhile.
func (p *Pager) readDeltas(pageKey, stagedKey []byte, use func(page []byte) error) error {
	now := p.w.disk.DB.NewSnapshot()
	defer now.Close()
	b, closer, err := now.Get(pageKey)
	if err != nil {
		return err
	}
	page := append([]byte(nil), b...)
	if err := closer.Close(); err != nil {
		return err
	}
	if b, closer, err = now.Get(stagedKey); err == nil {
		page = append(page, b...)
		err = closer.Close()
	}
	if err != nil && !errors.Is(err, pebble.ErrNotFound) {
		return err
	}
	return use(page)
}

// evictStaged evicts pages of the value that is being encoded, if large values
// take too much memory, after some of them were staged.
func (w *Writer) evictStaged() {
	p := w.pass.parts.of
	if p == nil || len(w.pass.parts.staged) == 0 {
		return
	}
	w.pagers.futile.Store(false)
	for want := w.excess(); want > 0; {
		freed, _ := w.evict(p, int(min(want, EvictBytes)))
		if freed == 0 {
			return
		}
		want -= int64(freed)
	}
}
