package persistence

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
)

// A large value can be larger than memory. Its object stays, with what the value knows
// of each page, and pages leave memory one by one: those that the disk has as they are,
// and that nothing used for a while. A method of the value that needs one reads it,
// under the lock of the shard. ADR 0040 has the reasons.

// largeBytes is the default of Options.LargeBytes.
const largeBytes = 1 << 20

// paging is what the store knows of its large values.
type paging struct {
	mu     sync.Mutex
	pagers []*pager
	next   int
	// futile: nothing was found that could leave memory, and nothing was written since.
	futile atomic.Bool
}

// pager reads the pages of one large value. It is guarded by the mutex of the shard.
type pager struct {
	s    *Store
	t    *keyspace.Table
	o    *keyspace.Object
	hash uint64
	size int // what Store.large has of the value
	gone bool
	at   int // place in paging.pagers; guarded by paging.mu

	held held // pages of a batch under way

	tx     *Tx // the transaction under way that uses the value, nil if there is none
	failed bool
}

// enlarge gives an object a pager if its value is large and can have pages on disk only.
func (s *Store) enlarge(t *keyspace.Table, o *keyspace.Object, hash uint64) {
	if o.Pager != nil || o.Size < s.opts.LargeBytes {
		return
	}
	if _, ok := o.Value.(structures.Paged); ok {
		s.attach(t, o, hash)
	}
}

// attach gives an object a pager.
func (s *Store) attach(t *keyspace.Table, o *keyspace.Object, hash uint64) {
	p := &pager{s: s, t: t, o: o, hash: hash}
	p.holdAll()
	o.Pager = p
	o.Value.(structures.Paged).SetPager(p)
	p.Account()
	s.paging.add(p)
}

// Account implements keyspace.Pager: Store.large has the size of the object then.
func (p *pager) Account() {
	p.s.large.Add(int64(p.o.Size - p.size))
	p.size = p.o.Size
	if bound := p.s.spillBound(); p.s.crowding(bound) && int64(p.o.Value.(structures.Paged).Changed()) > bound/changedPart {
		p.s.press()
	}
}

// changedPart is the part of MaxMemory that changed pages of a large value may take
// before they are written. They are in memory three times then: as they are, in a batch,
// and in what Pebble is about to write.
const changedPart = 16

// crowding reports that large values take so much that their pages have to leave memory
// soon.
func (s *Store) crowding(bound int64) bool {
	return bound > 0 && s.large.Load() > largePart(bound)/2
}

// press has changed pages of large values written.
func (s *Store) press() {
	if !s.materialiser.pressed.Swap(true) {
		s.materialiser.signal()
	}
}

// Detach implements keyspace.Pager.
func (p *pager) Detach() {
	p.s.large.Add(-int64(p.size))
	p.size, p.gone = 0, true
	p.s.paging.remove(p)
	p.o.Value.(structures.Paged).SetPager(nil)
}

// pagerOf returns the pager of an object, nil if it has none.
func pagerOf(o *keyspace.Object) *pager {
	p, _ := o.Pager.(*pager)
	return p
}

// use makes tx the one that fails if a page cannot be read.
func (p *pager) use(tx *Tx) {
	if p.tx != tx {
		p.tx = tx
		tx.paged = append(tx.paged, p)
	}
}

// settlePages accounts for pages that came in.
func (tx *Tx) settlePages() {
	for _, p := range tx.paged {
		p.tx = nil
		if !p.gone && p.grown() != 0 {
			p.t.Resized(p.o) // else no page came or went: the accounts are shared by all processors
		}
	}
	clear(tx.paged)
	tx.paged = tx.paged[:0]
}

// gather brings all pages of an object in, and reports whether it could.
func (tx *Tx) gather(o *keyspace.Object) bool {
	if o == nil || o.Pager == nil {
		return true
	}
	pagerOf(o).use(tx)
	return o.Value.(structures.Paged).Gather()
}

// ReadPage implements structures.Pager.
func (p *pager) ReadPage(id uint64, use func(page []byte) error) bool {
	if p.Failed() {
		return false
	}
	err := p.readPage(format.AppendPageKey(nil, p.t.Phys, p.hash, p.o.Key, id), use)
	if err == nil {
		p.s.stats.pageReads.Add(1)
		return true
	}
	err = fmt.Errorf("page %x of key %.100q: %w", id, p.o.Key, err)
	if p.tx != nil {
		p.tx.fail(err)
		return false
	}
	p.failed = true
	p.s.report(LevelError, "page", err)
	return false
}

func (p *pager) readPage(key []byte, use func(page []byte) error) error {
	if p.staged() {
		err := p.readStaged(key, use)
		if !errors.Is(err, pebble.ErrNotFound) {
			return err
		}
	}
	b, closer, err := p.s.disk.DB.Get(key)
	if err != nil {
		return err
	}
	return errors.Join(use(b), closer.Close())
}

// Failed implements structures.Pager.
func (p *pager) Failed() bool {
	if p.tx != nil {
		return p.tx.err != nil
	}
	return p.failed
}

// Room implements structures.Pager. Pages that a walk reads stay in memory if a good
// part of it is free: else a walk over a large value would drive out everything.
func (p *pager) Room() bool {
	bound := p.s.spillBound()
	return bound == 0 || p.s.keyspace.Memory.Load()+p.grown() < bound-bound/8 && p.s.large.Load()+p.grown() < largePart(bound)-bound/8
}

// Tight implements structures.Pager.
func (p *pager) Tight() bool {
	bound := p.s.spillBound()
	return bound > 0 && p.maySpill() &&
		(p.s.keyspace.Memory.Load()+p.grown() > bound+bound/8 || p.s.large.Load()+p.grown() > largePart(bound)+bound/8)
}

// grown is by how much the value grew since it was accounted for.
func (p *pager) grown() int64 {
	return int64(len(p.o.Key) + keyspace.ObjectOverhead + p.o.Value.Size() - p.o.Size)
}

// maySpill reports that pages that did not change are on disk, but for those that are
// held.
func (p *pager) maySpill() bool {
	if p.o.Whole || p.t.Dropped {
		return false
	}
	i := p.t.Find(p.hash, p.o.Key)
	return i >= 0 && p.t.Meta(i)&(keyspace.OnDisk|keyspace.Paged|keyspace.Tombstone) == keyspace.OnDisk|keyspace.Paged
}

// spillBound is MaxMemory if values spill, 0 if they do not.
func (s *Store) spillBound() int64 {
	if Policy(s.policy.Load()) != PolicySpill {
		return 0
	}
	return s.maxMemory.Load()
}

// largePart is how much of the bound large values may take before pages leave memory: these
// are on the Go heap, and those that come and go leave garbage. What changes during a pass
// comes on top, another sixteenth at most before clients wait (see Pace).
func largePart(bound int64) int64 { return bound - bound/4 - bound/16 }

// excess is how many bytes of large values are to leave memory: if there are any, so many
// more that the next ones do not have to soon. What changed meanwhile is written at once
// then, and each page fewer times.
func (s *Store) excess(bound int64) int64 {
	large := s.large.Load()
	if e := max(large-largePart(bound), min(s.keyspace.Memory.Load()-bound, large-largePart(bound)/2)); e > 0 {
		return e + spare(bound)
	}
	return 0
}

// spare is how much of the bound is free when pages have left memory.
func spare(bound int64) int64 { return bound / 16 }

// shedBytes is how many bytes of one value leave memory under one lock.
const shedBytes = 1 << 20

// shedPages has pages of large values leave memory that take more of it than they may,
// of one value after the other.
func (s *Store) shedPages(want int64) {
	freed, changed := int64(0), int64(0)
	for tries := s.paging.len(); tries > 0 && freed < want; {
		p := s.paging.turn()
		if p == nil {
			break
		}
		f, c := s.shed(p, int(min(want-freed, shedBytes)))
		freed, changed = freed+int64(f), changed+int64(c)
		if f == 0 {
			tries--
		}
	}
	if freed < want {
		s.paging.futile.Store(true)
	}
	if changed > spare(s.maxMemory.Load())/4 {
		// What changed can leave once it is written. Written early, it is not so much
		// that a batch of it takes long, or much memory; but a pass over a large value for
		// a few changes takes longer than these are worth.
		s.press()
	}
}

// shed has pages of a value leave memory.
func (s *Store) shed(p *pager, bytes int) (freed, changed int) {
	sh := &s.keyspace.Shard[format.ShardOf(p.hash)]
	if !s.keyspace.LockSound(sh) {
		return 0, 0
	}
	defer s.keyspace.UnlockShard(sh)
	if p.t.Dropped || p.gone { // in this order: a table is dropped under no lock
		return 0, 0
	}
	return p.shed(bytes)
}

// shed has pages leave memory if the disk has them.
func (p *pager) shed(bytes int) (freed, changed int) {
	if !p.maySpill() {
		return 0, 0
	}
	freed, changed = p.o.Value.(structures.Paged).Shed(bytes)
	p.t.Resized(p.o)
	if changed > 0 {
		// A value may make pages of what had none, as sorted sets do of their index. A write
		// that no record asks for is harmless.
		i := p.t.Find(p.hash, p.o.Key)
		p.t.SetMeta(i, p.t.Meta(i)|keyspace.Dirty)
	}
	return freed, changed
}

// turn returns the large value whose turn it is to shed pages, nil if there is none.
func (g *paging) turn() *pager {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.pagers) == 0 {
		return nil
	}
	g.next = (g.next + 1) % len(g.pagers)
	return g.pagers[g.next]
}

func (g *paging) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.pagers)
}

// add has the pages of a value leave memory in turn with those of others.
func (g *paging) add(p *pager) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.at = len(g.pagers)
	g.pagers = append(g.pagers, p)
}

// remove forgets a value that is gone.
func (g *paging) remove(p *pager) {
	g.mu.Lock()
	defer g.mu.Unlock()
	last := len(g.pagers) - 1
	moved := g.pagers[last]
	g.pagers[p.at], moved.at = moved, p.at
	g.pagers[last] = nil
	g.pagers = g.pagers[:last]
}
