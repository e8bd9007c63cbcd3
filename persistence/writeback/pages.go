package writeback

import (
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// A large value can be larger than memory. Its object stays, with what the value knows
// of each page, and pages leave memory one by one: those that the disk has as they are,
// and that nothing used for a while. A method of the value that needs one reads it,
// under the lock of the shard. ADR 0040 has the reasons.

// pagers are those of the large values in memory.
type pagers struct {
	mu   sync.Mutex
	all  []*Pager
	next int
	// futile: nothing was found that could leave memory, and nothing was written since.
	futile atomic.Bool
}

// changedPart is the part of MaxMemory that changed pages of a large value may take
// before they are written. They are in memory three times then: as they are, in a batch,
// and in what Pebble is about to write.
const changedPart = 16

// crowding reports that large values take so much that their pages have to leave memory
// soon.
func (w *Writer) crowding(bound int64) bool {
	return bound > 0 && w.large.Load() > largePart(bound)/2
}

// press starts a pass over changed pages of large values.
func (w *Writer) press() {
	if !w.pressed.Swap(true) {
		w.Signal()
	}
}

// largePart is how much of the bound large values may take before pages leave memory: these
// are on the Go heap, and those that come and go leave garbage. What changes during a pass
// comes on top, another sixteenth at most before clients wait (see Pace).
func largePart(bound int64) int64 { return bound - bound/4 - bound/16 }

// excess is how many bytes of large values are to leave memory: if there are any, so many
// more that the next ones do not have to soon. What changed meanwhile is written at once
// then, and each page fewer times.
func (w *Writer) excess() int64 {
	bound, large := w.host.Bound(), w.large.Load()
	if bound == 0 {
		return 0
	}
	if e := max(large-largePart(bound), min(w.keyspace.Memory.Load()-bound, large-largePart(bound)/2)); e > 0 {
		return e + spare(bound)
	}
	return 0
}

// spare is how much of the bound is free when pages have left memory.
func spare(bound int64) int64 { return bound / 16 }

// EvictBytes is how many bytes of one value leave memory under one lock.
const EvictBytes = 1 << 20

// EvictExcess evicts pages of large values that take more than they may, unless none was found that may leave memory.
func (w *Writer) EvictExcess() {
	if want := w.excess(); want > 0 && !w.pagers.futile.Load() {
		w.EvictPages(want)
	}
}

// EvictPages evicts pages of large values of about so many bytes, of one value after the other.
func (w *Writer) EvictPages(want int64) {
	freed, changed := int64(0), int64(0)
	for tries := w.pagers.len(); tries > 0 && freed < want; {
		p := w.pagers.turn()
		if p == nil {
			break
		}
		f, c := w.evict(p, int(min(want-freed, EvictBytes)))
		freed, changed = freed+int64(f), changed+int64(c)
		if f == 0 {
			tries--
		}
	}
	if freed < want {
		w.pagers.futile.Store(true)
	}
	if changed > spare(w.host.Bound())/4 {
		// What changed can leave once it is written. Written early, it is not so much
		// that a batch of it takes long, or much memory; but a pass over a large value for
		// a few changes takes longer than these are worth.
		w.press()
	}
}

// evict is Pager.Evict under the lock of its shard.
func (w *Writer) evict(p *Pager, bytes int) (freed, changed int) {
	sh := &w.keyspace.Shard[format.ShardOf(p.hash)]
	if !w.keyspace.LockSound(sh) {
		return 0, 0
	}
	defer w.keyspace.UnlockShard(sh)
	if p.t.Dropped || p.gone { // in this order: a table is dropped under no lock
		return 0, 0
	}
	return p.Evict(bytes)
}

// Exceeds reports that a value whose head says what its pages are takes more than there
// is room for, so that they are to be read when they are needed.
func (w *Writer) Exceeds(v structures.Value) bool {
	bound := w.host.Bound()
	p, ok := v.(structures.Paged)
	if !ok || bound == 0 {
		return false
	}
	pages, bytes := p.Evicted()
	return pages > 0 && (bytes >= largePart(bound)/2 || w.large.Load()+bytes > largePart(bound) ||
		w.keyspace.Memory.Load()+bytes > bound-bound/8)
}

// turn returns the large value whose turn it is to evict pages, nil if there is none.
func (g *pagers) turn() *Pager {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.all) == 0 {
		return nil
	}
	g.next = (g.next + 1) % len(g.all)
	return g.all[g.next]
}

func (g *pagers) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.all)
}

// add makes the pages of a value evictable in turn with those of others.
func (g *pagers) add(p *Pager) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.at = len(g.all)
	g.all = append(g.all, p)
}

// remove forgets a value that is gone.
func (g *pagers) remove(p *Pager) {
	g.mu.Lock()
	defer g.mu.Unlock()
	last := len(g.all) - 1
	moved := g.all[last]
	g.all[p.at], moved.at = moved, p.at
	g.all[last] = nil
	g.all = g.all[:last]
}
