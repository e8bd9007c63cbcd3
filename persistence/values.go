package persistence

import (
	"encoding/binary"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// allPages is more pages than a value has.
const allPages = 1 << 40

// What the materialiser writes for one slot. The lock of its shard is held.

// encodeDeletion removes the disk copy of the tombstone at slot i.
func (s *Store) encodeDeletion(t *table, i int) {
	meta, hash, key := t.slots[i].meta, t.slots[i].hash, t.key(t.slots[i].meta)
	if meta&metaOnDisk != 0 {
		t.scratch = format.AppendHeadKey(t.scratch[:0], t.phys, hash, key)
		_ = s.materialiser.pass.batch.Delete(t.scratch, nil) // fails only if misused
		if meta&metaPaged != 0 {
			s.encodeNoPages(t, hash, key)
		}
		t.setMeta(i, meta&^(metaDirty|metaOnDisk|metaPaged))
		t.disk--
		return
	}
	t.setMeta(i, meta&^metaDirty)
}

// encodeNoPages removes all pages of a key.
func (s *Store) encodeNoPages(t *table, hash uint64, key []byte) {
	low := format.AppendPageKey(nil, t.phys, hash, key, 0)
	high := append(format.AppendPageKey(nil, t.phys, hash, key, ^uint64(0)), 0)
	_ = s.materialiser.pass.batch.DeleteRange(low, high, nil)
	s.materialiser.supersedePages(low, high)
}

// encodeValue writes the live slot i.
func (s *Store) encodeValue(t *table, i int) {
	meta, hash := t.slots[i].meta, t.slots[i].hash
	m := &s.materialiser.pass
	h := format.Head{LSN: m.newest, Paged: meta&metaPaged != 0}
	o := t.object(meta)
	switch {
	case o != nil:
		s.encodeObject(t, hash, o, &h)
	case t.isCompact(meta):
		s.encodeCompact(t, meta, hash, &h)
	default:
		var key []byte
		key, h.Payload, h.Expire = t.parts(meta)
		if h.Paged {
			s.encodeNoPages(t, hash, key)
			h.Paged = false
		}
		h.Kind, h.Short = structures.KindString, true
		d := m.batch.SetDeferred(format.HeadKeyFixed+len(key), h.Size()+len(h.Payload))
		format.AppendHeadKey(d.Key[:0], t.phys, hash, key)
		copy(d.Value[len(format.AppendHead(d.Value[:0], &h)):], h.Payload)
		_ = d.Finish()
	}
	if meta&metaOnDisk == 0 {
		t.disk++
	}
	meta = meta&^(metaDirty|metaPaged) | metaOnDisk
	if h.Paged {
		meta |= metaPaged
	}
	if h.Expire != 0 && !t.indexed(meta) {
		m.expiries.add(m.now, t.phys, hash, h.Expire)
		t.setIndexed(meta)
	}
	t.setMeta(i, meta)
}

// encodeCompact writes a value that is a record, whole.
func (s *Store) encodeCompact(t *table, meta, hash uint64, h *format.Head) {
	key, value, expire := t.parts(meta)
	o := s.loadCompact(value)
	o.key, o.expire, o.whole = key, expire, true
	s.encodeObject(t, hash, o, h)
	s.keepCompact(o)
}

// encodeObject writes the head of an object and those of its pages that the disk
// does not have.
func (s *Store) encodeObject(t *table, hash uint64, o *object, h *format.Head) {
	b := s.materialiser.pass.batch
	if o.whole && h.Paged {
		s.encodeNoPages(t, hash, o.key)
		h.Paged = false
	}
	pageKey := format.AppendPageKey(nil, t.phys, hash, o.key, 0)
	visit := func(id uint64, page []byte) {
		binary.BigEndian.PutUint64(pageKey[len(pageKey)-8:], id)
		s.materialiser.supersedePage(pageKey)
		if page == nil {
			_ = b.Delete(pageKey, nil)
			return
		}
		h.Paged = true
		o.pager.hold(id)
		_ = b.Set(pageKey, page, nil)
	}
	if v, ok := o.value.(structures.Tailed); ok && o.pager != nil && !o.whole {
		v.Portion(allPages, visit, func(id uint64, tail []byte) {
			binary.BigEndian.PutUint64(pageKey[len(pageKey)-8:], id)
			h.Paged = true
			o.pager.holdTail(id)
			s.materialiser.extendPage(pageKey, tail)
		})
	}
	o.value.Pages(o.whole, visit)
	h.Kind, h.Expire = o.value.Kind(), o.expire
	t.scratch = format.AppendHeadKey(t.scratch[:0], t.phys, hash, o.key)
	_ = b.Set(t.scratch, o.value.AppendHead(format.AppendHead(nil, h)), nil)
	o.value.Clean()
	o.whole, o.parts = false, 0
}
