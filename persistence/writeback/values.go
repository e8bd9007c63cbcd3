package writeback

import (
	"encoding/binary"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
)

// allPages is more pages than a value has.
const allPages = 1 << 40

// What the writeback writes for one slot. The lock of its shard is held.

// encodeDeletion removes the disk copy of the tombstone at slot i.
func (w *Writer) encodeDeletion(t *keyspace.Table, i int) {
	meta, hash, key := t.Meta(i), t.HashAt(i), t.Key(t.Meta(i))
	if meta&keyspace.OnDisk != 0 {
		t.Scratch = format.AppendHeadKey(t.Scratch[:0], t.Phys, hash, key)
		_ = w.pass.batch.Delete(t.Scratch, nil) // fails only if misused
		if meta&keyspace.Paged != 0 {
			w.encodeNoPages(t, hash, key)
		}
		t.SetMeta(i, meta&^(keyspace.Dirty|keyspace.OnDisk|keyspace.Paged))
		t.Disk--
		return
	}
	t.SetMeta(i, meta&^keyspace.Dirty)
}

// encodeNoPages removes all pages of a key.
func (w *Writer) encodeNoPages(t *keyspace.Table, hash uint64, key []byte) {
	low := format.AppendPageKey(nil, t.Phys, hash, key, 0)
	high := append(format.AppendPageKey(nil, t.Phys, hash, key, ^uint64(0)), 0)
	_ = w.pass.batch.DeleteRange(low, high, nil)
	w.supersedePages(low, high)
}

// encodeValue writes the live slot i.
func (w *Writer) encodeValue(t *keyspace.Table, i int) {
	meta, hash := t.Meta(i), t.HashAt(i)
	m := &w.pass
	h := format.Head{LSN: m.newest, Paged: meta&keyspace.Paged != 0, Blessed: t.BlessedAt(meta)}
	o := t.Object(meta)
	switch {
	case o != nil:
		w.encodeObject(t, hash, o, &h)
	case t.IsCompact(meta):
		w.encodeCompact(t, meta, hash, &h)
	default:
		var key []byte
		key, h.Payload, h.Expire = t.Parts(meta)
		if h.Paged {
			w.encodeNoPages(t, hash, key)
			h.Paged = false
		}
		h.Kind, h.Short = structures.KindString, true
		d := m.batch.SetDeferred(format.HeadKeyFixed+len(key), h.Size()+len(h.Payload))
		format.AppendHeadKey(d.Key[:0], t.Phys, hash, key)
		copy(d.Value[len(format.AppendHead(d.Value[:0], &h)):], h.Payload)
		_ = d.Finish()
	}
	if meta&keyspace.OnDisk == 0 {
		t.Disk++
	}
	meta = meta&^(keyspace.Dirty|keyspace.Paged) | keyspace.OnDisk
	if h.Paged {
		meta |= keyspace.Paged
	}
	if h.Expire != 0 && !t.Indexed(meta) {
		m.expiries.Add(m.now, t.Phys, hash, h.Expire)
		t.SetIndexed(meta)
	}
	t.SetMeta(i, meta)
}

// encodeCompact writes a value that is a record, whole.
func (w *Writer) encodeCompact(t *keyspace.Table, meta, hash uint64, h *format.Head) {
	key, value, expire := t.Parts(meta)
	o := w.keyspace.LoadCompact(value)
	o.Key, o.Expire, o.Whole = key, expire, true
	w.encodeObject(t, hash, o, h)
	w.keyspace.KeepCompact(o)
}

// encodeObject writes the head of an object and those of its pages that the disk
// does not have.
func (w *Writer) encodeObject(t *keyspace.Table, hash uint64, o *keyspace.Object, h *format.Head) {
	b := w.pass.batch
	if o.Whole && h.Paged {
		w.encodeNoPages(t, hash, o.Key)
		h.Paged = false
	}
	pageKey := format.AppendPageKey(nil, t.Phys, hash, o.Key, 0)
	visit := func(id uint64, page []byte) {
		binary.BigEndian.PutUint64(pageKey[len(pageKey)-8:], id)
		w.supersedePage(pageKey)
		if page == nil {
			_ = b.Delete(pageKey, nil)
			return
		}
		h.Paged = true
		PagerOf(o).hold(id)
		_ = b.Set(pageKey, page, nil)
	}
	if v, ok := o.Value.(structures.Incremental); ok && o.Pager != nil && !o.Whole {
		v.FlushDeltas(allPages, visit, func(id uint64, delta []byte) {
			binary.BigEndian.PutUint64(pageKey[len(pageKey)-8:], id)
			h.Paged = true
			PagerOf(o).holdDelta(id)
			w.extendPage(pageKey, delta)
		})
	}
	o.Value.Pages(o.Whole, visit)
	h.Kind, h.Expire = o.Value.Kind(), o.Expire
	t.Scratch = format.AppendHeadKey(t.Scratch[:0], t.Phys, hash, o.Key)
	_ = b.Set(t.Scratch, w.host.Written(o.Value).AppendHead(format.AppendHead(nil, h)), nil)
	o.Value.Clean()
	o.Whole, o.Parts = false, 0
}
