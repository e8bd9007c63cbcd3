package persistence

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// fault reads a key that has no slot from the disk into its table and returns
// its slot, or -1 if the disk has no such key either. The lock of the shard is
// held, which keeps the copy on disk from changing under us: the materialiser
// writes only what has a slot.
func (s *Store) fault(t *table, hash uint64, key []byte, touch uint64) (int, error) {
	_, i, err := s.faultAt(t, hash, key, touch)
	return i, err
}

// faultAt is fault; lsn is the record number of the head it found.
func (s *Store) faultAt(t *table, hash uint64, key []byte, touch uint64) (lsn uint64, i int, err error) {
	if t.disk == 0 {
		return 0, -1, nil
	}
	t.scratch = format.AppendHeadKey(t.scratch[:0], t.phys, hash, key)
	b, closer, err := s.db.Get(t.scratch)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, -1, nil
	}
	if err != nil {
		return 0, -1, fmt.Errorf("read key: %w", err)
	}
	h, err := format.DecodeHead(b)
	i = -1
	if err == nil {
		i, err = s.admit(t, hash, key, &h, touch)
	}
	if err := errors.Join(err, closer.Close()); err != nil {
		return 0, -1, fmt.Errorf("read key %q: %w", key, err)
	}
	s.stats.faults.Add(1)
	return h.LSN, i, nil
}

// admit puts the information of a head on disk into the table.
func (s *Store) admit(t *table, hash uint64, key []byte, h *format.Head, touch uint64) (int, error) {
	if h.Short && inline(len(key), len(h.Payload)) {
		i := t.addInline(hash, key, h.Payload, h.Expire, touch|metaOnDisk)
		if h.Expire != 0 {
			t.setIndexed(t.slots[i].meta)
		}
		return i, nil
	}
	o := &object{key: append([]byte(nil), key...), expire: h.Expire, indexed: h.Expire != 0}
	var err error
	if h.Short {
		o.value = text.New(structures.Clone(h.Payload))
	} else if o.value, err = s.decode(h.Kind, h.Payload); err != nil {
		return -1, err
	}
	flags := touch | metaOnDisk
	if h.Paged {
		flags |= metaPaged
		if s.exceeds(o.value) {
			return s.admitIndex(t, hash, o, flags)
		}
		if err := lsm.ReadPages(s.db, t.phys, hash, key, o.value, 0, nil); err != nil {
			return -1, err
		}
	}
	if err := format.Complete(o.value); err != nil {
		return -1, err
	}
	o.value.Clean()
	if i, ok := s.admitCompact(t, hash, o, flags); ok {
		return i, nil
	}
	i := t.addObject(hash, o, flags)
	s.enlarge(t, o, hash)
	return i, nil
}

// exceeds reports that a value whose head says what its pages are takes more than there
// is room for, so that they are to be read when they are needed.
func (s *Store) exceeds(v structures.Value) bool {
	bound := s.spillBound()
	p, ok := v.(structures.Paged)
	if !ok || bound == 0 {
		return false
	}
	pages, bytes := p.Away()
	return pages > 0 && (bytes >= largePart(bound)/2 || s.large.Load()+bytes > largePart(bound) ||
		s.memory.Load()+bytes > bound-bound/8)
}

// admitIndex puts a value into the table whose pages are read when they are needed, but
// those that its type needs at once.
func (s *Store) admitIndex(t *table, hash uint64, o *object, flags uint64) (i int, err error) {
	s.attach(t, o, hash)
	if r, ok := o.value.(interface{ ResidentFrom() uint64 }); ok {
		err = lsm.ReadPages(s.db, t.phys, hash, o.key, o.value, r.ResidentFrom(), nil)
	}
	if err = errors.Join(err, format.Complete(o.value)); err != nil {
		o.unpage()
		return -1, err
	}
	o.value.Clean()
	return t.addObject(hash, o, flags), nil
}

// admitCompact puts an object that was read from the disk into the table as a
// record, if its value is small.
func (s *Store) admitCompact(t *table, hash uint64, o *object, flags uint64) (i int, ok bool) {
	b, small := t.appendCompact(o, maxRecent)
	if !small {
		return 0, false
	}
	t.setAlarm(o, hash)
	i = t.insert(hash, t.rewrite(o, b)|t.ttlBit(o.expire)|flags)
	s.keepCompact(o)
	return i, true
}
