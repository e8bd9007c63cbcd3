package persistence

import (
	"encoding/binary"

	"github.com/vigildb/vigil/structures"
)

// allPages is more pages than a value has.
const allPages = 1 << 40

// What the materialiser writes for one slot. The lock of its shard is held.

// encodeDeletion removes the disk copy of the tombstone at slot i.
func (s *Store) encodeDeletion(t *table, i int) {
	meta, hash, key := t.slots[i].meta, t.slots[i].hash, t.key(t.slots[i].meta)
	if meta&metaOnDisk != 0 {
		t.scratch = appendHeadKey(t.scratch[:0], t.phys, hash, key)
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
	low := appendPageKey(nil, t.phys, hash, key, 0)
	high := append(appendPageKey(nil, t.phys, hash, key, ^uint64(0)), 0)
	_ = s.materialiser.pass.batch.DeleteRange(low, high, nil)
	s.materialiser.supersedePages(low, high)
}

// encodeValue writes the live slot i.
func (s *Store) encodeValue(t *table, i int) {
	meta, hash := t.slots[i].meta, t.slots[i].hash
	m := &s.materialiser.pass
	h := head{lsn: m.newest, paged: meta&metaPaged != 0}
	o := t.object(meta)
	switch {
	case o != nil:
		s.encodeObject(t, hash, o, &h)
	case t.isCompact(meta):
		s.encodeCompact(t, meta, hash, &h)
	default:
		var key []byte
		key, h.payload, h.expire = t.parts(meta)
		if h.paged {
			s.encodeNoPages(t, hash, key)
			h.paged = false
		}
		h.kind, h.short = kindString, true
		d := m.batch.SetDeferred(headKeyFixed+len(key), h.size()+len(h.payload))
		appendHeadKey(d.Key[:0], t.phys, hash, key)
		copy(d.Value[len(appendHead(d.Value[:0], &h)):], h.payload)
		_ = d.Finish()
	}
	if meta&metaOnDisk == 0 {
		t.disk++
	}
	meta = meta&^(metaDirty|metaPaged) | metaOnDisk
	if h.paged {
		meta |= metaPaged
	}
	if h.expire != 0 && !t.indexed(meta) {
		m.expiries.add(m.now, t.phys, hash, h.expire)
		t.setIndexed(meta)
	}
	t.setMeta(i, meta)
}

// encodeCompact writes a value that is a record, whole.
func (s *Store) encodeCompact(t *table, meta, hash uint64, h *head) {
	key, value, expire := t.parts(meta)
	o := s.loadCompact(value)
	o.key, o.expire, o.whole = key, expire, true
	s.encodeObject(t, hash, o, h)
	s.keepCompact(o)
}

// encodeObject writes the head of an object and those of its pages that the disk
// does not have.
func (s *Store) encodeObject(t *table, hash uint64, o *object, h *head) {
	b := s.materialiser.pass.batch
	if o.whole && h.paged {
		s.encodeNoPages(t, hash, o.key)
		h.paged = false
	}
	pageKey := appendPageKey(nil, t.phys, hash, o.key, 0)
	visit := func(id uint64, page []byte) {
		binary.BigEndian.PutUint64(pageKey[len(pageKey)-8:], id)
		s.materialiser.supersedePage(pageKey)
		if page == nil {
			_ = b.Delete(pageKey, nil)
			return
		}
		h.paged = true
		o.pager.hold(id)
		_ = b.Set(pageKey, page, nil)
	}
	if v, ok := o.value.(structures.Tailed); ok && o.pager != nil && !o.whole {
		v.Portion(allPages, visit, func(id uint64, tail []byte) {
			binary.BigEndian.PutUint64(pageKey[len(pageKey)-8:], id)
			h.paged = true
			o.pager.holdTail(id)
			s.materialiser.extendPage(pageKey, tail)
		})
	}
	o.value.Pages(o.whole, visit)
	h.kind, h.expire = o.value.Kind(), o.expire
	t.scratch = appendHeadKey(t.scratch[:0], t.phys, hash, o.key)
	_ = b.Set(t.scratch, o.value.AppendHead(appendHead(nil, h)), nil)
	o.value.Clean()
	o.whole, o.parts = false, 0
}
