package writeback

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
)

// Pager reads the pages of one large value. It is guarded by the mutex of the shard.
type Pager struct {
	w    *Writer
	t    *keyspace.Table
	o    *keyspace.Object
	hash uint64
	size int // what Writer.large has of the value
	gone bool
	at   int // place in pagers.all; guarded by pagers.mu

	held held // pages of a batch under way

	reader Reader // that uses the value, nil if there is none
	failed bool
}

// Reader is who uses a value: a transaction, which fails if a page cannot be read.
type Reader interface {
	Fail(err error)
	Failed() bool
}

// PagerOf returns the pager of an object, nil if it has none.
func PagerOf(o *keyspace.Object) *Pager {
	p, _ := o.Pager.(*Pager)
	return p
}

// Enlarge gives an object a pager if its value is large and can have pages on disk only.
func (w *Writer) Enlarge(t *keyspace.Table, o *keyspace.Object, hash uint64) {
	if o.Pager != nil || o.Size < w.least {
		return
	}
	if _, ok := o.Value.(structures.Paged); ok {
		w.Attach(t, o, hash)
	}
}

// Attach gives an object a pager.
func (w *Writer) Attach(t *keyspace.Table, o *keyspace.Object, hash uint64) {
	p := &Pager{w: w, t: t, o: o, hash: hash}
	p.holdAll()
	o.Pager = p
	o.Value.(structures.Paged).SetPager(p)
	p.Account()
	w.pagers.add(p)
}

// Use makes a reader the one that fails if a page cannot be read, until Done, and reports whether it was not before.
func (p *Pager) Use(by Reader) bool {
	if p.reader == by {
		return false
	}
	p.reader = by
	return true
}

// Done ends what Use began, and accounts for pages that came in.
func (p *Pager) Done() {
	p.reader = nil
	if !p.gone && p.grown() != 0 {
		p.t.Resized(p.o) // else no page came or went: the accounts are shared by all processors
	}
}

// Retry forgets that a page could not be read for nobody in particular.
func (p *Pager) Retry() { p.failed = false }

// Account implements keyspace.Pager: Writer.large has the size of the object then.
func (p *Pager) Account() {
	p.w.large.Add(int64(p.o.Size - p.size))
	p.size = p.o.Size
	if bound := p.w.host.Bound(); p.w.crowding(bound) && int64(p.o.Value.(structures.Paged).Changed()) > bound/changedPart {
		p.w.press()
	}
}

// Detach implements keyspace.Pager.
func (p *Pager) Detach() {
	p.w.large.Add(-int64(p.size))
	p.size, p.gone = 0, true
	p.w.pagers.remove(p)
	p.o.Value.(structures.Paged).SetPager(nil)
}

// ReadPage implements structures.Pager.
func (p *Pager) ReadPage(id uint64, use func(page []byte) error) bool {
	if p.Failed() {
		return false
	}
	err := p.readPage(format.AppendPageKey(nil, p.t.Phys, p.hash, p.o.Key, id), use)
	if err == nil {
		p.w.PageReads.Add(1)
		return true
	}
	err = fmt.Errorf("page %x of key %.100q: %w", id, p.o.Key, err)
	if p.reader != nil {
		p.reader.Fail(err)
		return false
	}
	p.failed = true
	p.w.operator.Error("page", err)
	return false
}

func (p *Pager) readPage(key []byte, use func(page []byte) error) error {
	if p.staged() {
		err := p.readStaged(key, use)
		if !errors.Is(err, pebble.ErrNotFound) {
			return err
		}
	}
	b, closer, err := p.w.disk.DB.Get(key)
	if err != nil {
		return err
	}
	return errors.Join(use(b), closer.Close())
}

// Failed implements structures.Pager.
func (p *Pager) Failed() bool {
	if p.reader != nil {
		return p.reader.Failed()
	}
	return p.failed
}

// Room implements structures.Pager. Pages that a walk reads stay in memory if a good
// part of it is free: else a walk over a large value would drive out everything.
func (p *Pager) Room() bool {
	bound := p.w.host.Bound()
	return bound == 0 || p.w.keyspace.Memory.Load()+p.grown() < bound-bound/8 && p.w.large.Load()+p.grown() < largePart(bound)-bound/8
}

// Tight implements structures.Pager.
func (p *Pager) Tight() bool {
	bound := p.w.host.Bound()
	return bound > 0 && p.mayEvict() &&
		(p.w.keyspace.Memory.Load()+p.grown() > bound+bound/8 || p.w.large.Load()+p.grown() > largePart(bound)+bound/8)
}

// grown is by how much the value grew since it was accounted for.
func (p *Pager) grown() int64 {
	return int64(len(p.o.Key) + keyspace.ObjectOverhead + p.o.Value.Size() - p.o.Size)
}

// mayEvict reports that pages that did not change are on disk, but for those that are
// held.
func (p *Pager) mayEvict() bool {
	if p.o.Whole || p.t.Dropped {
		return false
	}
	i := p.t.Find(p.hash, p.o.Key)
	return i >= 0 && p.t.Meta(i)&(keyspace.OnDisk|keyspace.Paged|keyspace.Tombstone) == keyspace.OnDisk|keyspace.Paged
}

// Evict evicts pages of about so many bytes if the disk has them. It returns how many bytes that were, and how many are in
// pages that it passed over because they changed.
func (p *Pager) Evict(bytes int) (freed, changed int) {
	if !p.mayEvict() {
		return 0, 0
	}
	freed, changed = p.o.Value.(structures.Paged).Evict(bytes)
	p.t.Resized(p.o)
	if changed > 0 {
		// A value may make pages of what had none, as sorted sets do of their index. A write
		// that no record asks for is harmless.
		i := p.t.Find(p.hash, p.o.Key)
		p.t.SetMeta(i, p.t.Meta(i)|keyspace.Dirty)
	}
	return freed, changed
}
