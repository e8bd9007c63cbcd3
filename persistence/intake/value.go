package intake

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
)

// A value that is taken in may be larger than memory. From intakeLarge on its pages are written while it grows, and
// leave memory; pages that it needs again, as a set does to tell whether a member is new, are read. There
// are no batches under way that it would have to know of: what was written can be read.

const (
	// mostLarge is how many bytes of one value are in memory at most, beside what it knows of its pages: one
	// part in largeIntakePart of a small bound on memory, but at least leastLarge.
	mostLarge, leastLarge, largeIntakePart = 64 << 20, 1 << 20, 8
)

// intakePager reads the pages of a large value that is being taken in. It implements structures.Pager.
type intakePager struct {
	in   *Intake
	next int // size from which on pages leave memory
}

// Grown is called from time to time with the value of the key that was begun, as it grows.
func (in *Intake) Grown(v structures.Value) error {
	if in.err != nil {
		return in.err
	}
	p, ok := v.(structures.Paged)
	if !ok {
		return nil
	}
	if in.pager == nil {
		if v.Size() < in.Most {
			return nil
		}
		in.pager = &intakePager{in: in}
		p.(writeback.Gradual).MarkAllDirty()
		p.SetPager(in.pager)
	}
	if v.Size() < in.pager.next {
		return nil
	}
	if in.err = in.spill(p.(writeback.Gradual)); in.err == nil {
		in.evict(p)
	}
	return in.err
}

// spill writes the changed pages of a value.
func (in *Intake) spill(v writeback.Gradual) error {
	if in.pager == nil { // a long string: nothing of it was written
		v.MarkAllDirty()
	}
	for more := true; more; {
		err := in.batch(func(b *pebble.Batch) error {
			more = in.flushPart(b, v)
			return in.err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// spillRest writes what is left of a value when it is whole: pages that are gone, above all.
func (in *Intake) spillRest(v writeback.Gradual) error {
	if err := in.spill(v); err != nil {
		return err
	}
	return in.batch(func(b *pebble.Batch) error {
		v.(structures.Value).Pages(false, in.setPage(b))
		return in.err
	})
}

// setPage returns what writes a page of the value at hand to a batch.
func (in *Intake) setPage(b *pebble.Batch) func(id uint64, page []byte) {
	return func(id uint64, page []byte) {
		if page == nil {
			_ = b.Delete(in.pageKey(id), nil) // fails only if misused
			return
		}
		_ = b.Set(in.pageKey(id), page, nil)
	}
}

// flushPart adds some changed pages of a value to a batch.
func (in *Intake) flushPart(b *pebble.Batch, v writeback.Gradual) (more bool) {
	visit := in.setPage(b)
	if t, ok := v.(structures.Incremental); ok && in.pager != nil {
		return t.FlushDeltas(writeback.PartPages, visit, func(id uint64, delta []byte) { _ = b.Merge(in.pageKey(id), delta, nil) })
	}
	return v.Flush(writeback.PartPages, visit)
}

// evict evicts pages. Those that were used since the last time go only when it is asked again.
func (in *Intake) evict(p structures.Paged) {
	for range 3 {
		if over := p.Size() - in.Most/2; over > 0 {
			p.Evict(over)
		}
	}
	// What it knows of its pages stays, and is not to make it write a page for each element.
	in.pager.next = max(in.Most, p.Size()+in.Most/4)
}

// ReadPage implements structures.Pager.
func (p *intakePager) ReadPage(id uint64, use func(page []byte) error) bool {
	in := p.in
	if in.err != nil {
		return false
	}
	in.err = in.View(func(db *pebble.DB) error {
		b, closer, err := db.Get(in.pageKey(id))
		if err != nil {
			return err
		}
		return errors.Join(use(b), closer.Close())
	})
	if in.err != nil {
		in.err = fmt.Errorf("page %x of key %.100q: %w", id, in.key, in.err)
	}
	return in.err == nil
}

// Failed implements structures.Pager.
func (p *intakePager) Failed() bool { return p.in.err != nil }

// Room implements structures.Pager.
func (p *intakePager) Room() bool { return false }

// Held implements structures.Pager.
func (p *intakePager) Held(uint64) bool { return false }

// Tight implements structures.Pager.
func (p *intakePager) Tight() bool { return false }
