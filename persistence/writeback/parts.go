package writeback

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// A value of very many pages is encoded in parts, and the lock of its shard is
// released in between: a schedule of a million nodes, all of them changed, or a
// string of 512 MB would block other clients for tenths of a second.
//
// Between the parts the value may change. What changes then is changed again for
// the disk, and comes with a later part; later writes of a batch win. The head
// comes with the last part and says up to which record the pages are. So the batch
// must not be committed before; parts.open says so.
//
// The key may also be deleted or get another value in between. From the first part
// on its slot says that the disk has the key, with pages: so it becomes a
// tombstone that removes the pages, or another value that does. If its database is
// flushed, the batch removes what the disk has of the value: a replay that reaches
// it before the flush must not find pages that are newer than their head.
type parts struct {
	batch *pebble.Batch // pages of the part that was encoded last
	open  bool          // a value lacks parts
	hash  uint64        // of the key of that value
	key   []byte
	due   int // pages of the value that were to be encoded at its first part
	// of is the pager of the value, nil if it has none, and staged the pages of the part
	// before that are staged.
	of     *Pager
	staged []uint64
}

// Gradual is a value that can be encoded in parts.
type Gradual interface {
	// MarkAllDirty marks every page as changed.
	MarkAllDirty()
	// Flush visits up to n of the changed pages as Pages does, marks them as
	// stored, and reports whether others are left.
	Flush(n int, visit func(id uint64, page []byte)) (more bool)
}

const (
	// PartPages is the number of pages encoded in one hold: about a millisecond.
	PartPages = 128
	// maxParts is the number of parts after which the rest is encoded at once:
	// changes that are faster than the encoding must not keep the value from
	// the disk. It is twice the number of the largest schedule.
	maxParts = 4096
	// MaxRounds is the same for values whose parts go round, see laps.
	MaxRounds = 32
	// pageBytes is about the size of a page.
	pageBytes = 8 << 10
	// PartString is the length from which a string is encoded in parts.
	PartString = 1 << 20
)

// turnTo begins a part of the value with a pager, nil for none. Pages of it that are staged
// may leave memory.
func (p *parts) turnTo(of *Pager) {
	if p.of == of {
		of.free(p.staged)
	}
	p.staged, p.of = p.staged[:0], of
}

// encodePart encodes a part of the live slot i, if it holds a value for which
// that is worthwhile, and reports whether parts are left. After the last one
// the rest of the value, its head above all, is to be encoded as usual.
func (w *Writer) encodePart(t *keyspace.Table, i int) (more bool) {
	meta, hash := t.Meta(i), t.HashAt(i)
	o := t.Object(meta)
	if o == nil || o.Value == nil || o.Parts >= maxParts {
		return false
	}
	v, ok := o.Value.(Gradual)
	if !ok {
		return false
	}
	m := &w.pass
	paged, _ := v.(structures.Paged)
	if paged != nil && (o.Pager == nil || int(o.Parts)*m.sizes.Part > MaxRounds*(m.parts.due+m.sizes.Part)) {
		return false
	}
	if str, ok := v.(*text.String); ok && str.Len() < PartString {
		return false
	}
	if paged != nil && o.Parts == 0 {
		bytes := paged.Changed()
		if o.Whole {
			bytes = paged.Size()
		}
		m.parts.due = bytes / pageBytes
	}
	if o.Whole {
		if meta&keyspace.Paged != 0 {
			w.encodeNoPages(t, hash, o.Key)
		}
		v.MarkAllDirty()
		o.Whole = false
	}
	m.parts.turnTo(PagerOf(o))
	more = w.encodePages(v, format.AppendPageKey(nil, t.Phys, hash, o.Key, 0), PagerOf(o))
	if meta&keyspace.OnDisk == 0 {
		t.Disk++
	}
	t.SetMeta(i, meta|keyspace.OnDisk|keyspace.Paged)
	o.Parts++
	if !more {
		o.Parts = 0
	}
	if m.parts.open = more; more {
		m.parts.hash, m.parts.key = hash, append(m.parts.key[:0], o.Key...)
		if paged != nil {
			w.lapped.Store(int64(laps(int(o.Parts)*m.sizes.Part, m.parts.due+m.sizes.Part)))
		}
	}
	return more
}

// encodePages encodes a part of the pages of a value. pageKey is that of page 0.
func (w *Writer) encodePages(v Gradual, pageKey []byte, of *Pager) (more bool) {
	m := &w.pass
	b, place := m.parts.batch, pageKey[len(pageKey)-8:]
	visit := func(id uint64, page []byte) {
		binary.BigEndian.PutUint64(place, id)
		if page == nil {
			_ = b.Delete(pageKey, nil) // fails only if misused
			return
		}
		of.hold(id)
		_ = b.Set(pageKey, page, nil)
	}
	incremental, ok := v.(structures.Incremental)
	if !ok || of == nil {
		return v.Flush(m.sizes.Part, visit)
	}
	return incremental.FlushDeltas(m.sizes.Part, visit, func(id uint64, delta []byte) {
		binary.BigEndian.PutUint64(place, id)
		of.holdDelta(id)
		_ = b.Merge(pageKey, delta, nil)
	})
}

// laps is how many times more pages were encoded of a value than were due, beyond the
// first two times. What changes meanwhile is encoded again: the second round is shorter
// than the first one, and so on, unless writers change pages faster than these are
// encoded. Then the rest, which is encoded at once, would be most of a value larger than
// memory. So they are slowed, see Pace.
func laps(encoded, due int) int { return max(0, encoded/due-1) }

// abandonParts removes what the disk has of a value that lacks parts and is gone with its
// table. The lock of the shard is held, so the journal has the record of that.
func (w *Writer) abandonParts(t *keyspace.Table) {
	m := &w.pass
	if !m.parts.open {
		return
	}
	m.parts.open = false
	m.newest = w.journal.Newest()
	_ = m.batch.Delete(format.AppendHeadKey(nil, t.Phys, m.parts.hash, m.parts.key), nil) // fails only if misused
	w.encodeNoPages(t, m.parts.hash, m.parts.key)
}

// joinParts adds the part that was encoded last to the batch, or stages it. No lock is
// held, but those of Reload.
func (w *Writer) joinParts() {
	m := &w.pass
	if m.parts.batch.Count() == 0 {
		return
	}
	if w.stageable() {
		w.stageParts()
	} else {
		w.takeParts()
	}
	m.parts.batch.Reset()
}
