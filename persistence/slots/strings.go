package slots

import (
	"slices"

	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// SetString stores without recording.
func (p *Placer) SetString(t *keyspace.Table, i int, hash uint64, key, value []byte, expire int64) {
	if !keyspace.Inline(len(key), len(value)) {
		p.SetLong(t, i, hash, key, structures.Clone(value), expire)
		return
	}
	if i < 0 {
		t.AddInline(hash, key, value, expire, p.Fresh()|keyspace.Dirty)
		return
	}
	t.Detach(i)
	t.SetInline(i, key, value, expire)
	t.SetMeta(i, t.Meta(i)|keyspace.Dirty)
	p.Touch(t, i)
}

// SetLong stores a string that does not fit a slab record, which is the store's
// afterwards, without recording.
func (p *Placer) SetLong(t *keyspace.Table, i int, hash uint64, key, value []byte, expire int64) {
	v := text.New(value)
	o := &keyspace.Object{Key: append([]byte(nil), key...), Value: v, Expire: expire, Whole: true}
	i = p.Place(t, i, hash, o)
	t.SetMeta(i, t.Meta(i)|keyspace.Dirty)
}

// PatchString patches without recording.
func (p *Placer) PatchString(t *keyspace.Table, i int, hash uint64, key []byte, off int, b []byte) {
	if i < 0 || t.Meta(i)&keyspace.Tombstone != 0 {
		p.setPatched(t, i, hash, key, Patched(nil, off, b), 0)
		return
	}
	meta := t.Meta(i)
	if o := t.Object(meta); o != nil {
		o.Value.(*text.String).Patch(nil, off, b)
		t.Resized(o)
		t.SetMeta(i, meta|keyspace.Dirty)
		p.Touch(t, i)
		return
	}
	_, old, expire := t.Parts(meta)
	if off+len(b) <= len(old) {
		copy(old[off:], b)
		t.SetMeta(i, meta|keyspace.Dirty)
		p.Touch(t, i)
		return
	}
	if end := off + len(b); keyspace.Inline(len(key), end) { // bits set one by one, an element added to a sketch
		t.Scratch = slices.Grow(t.Scratch[:0], end)[:end]
		clear(t.Scratch[copy(t.Scratch, old):])
		copy(t.Scratch[off:], b)
		p.SetString(t, i, hash, key, t.Scratch, expire)
		return
	}
	p.setPatched(t, i, hash, key, Patched(old, off, b), expire)
}

// setPatched stores what Patched made.
func (p *Placer) setPatched(t *keyspace.Table, i int, hash uint64, key, value []byte, expire int64) {
	if keyspace.Inline(len(key), len(value)) {
		p.SetString(t, i, hash, key, value, expire)
		return
	}
	p.SetLong(t, i, hash, key, value, expire)
}

// Patched returns a copy of old with b written at off.
func Patched(old []byte, off int, b []byte) []byte {
	v := make([]byte, max(len(old), off+len(b)))
	structures.Copy(v, old)
	structures.Copy(v[off:], b)
	return v
}

// Place puts an object at slot i, a tombstone or something to be replaced, or
// at a new slot if i is negative. It does not mark the slot dirty.
func (p *Placer) Place(t *keyspace.Table, i int, hash uint64, o *keyspace.Object) int {
	if i < 0 {
		i = t.AddObject(hash, o, p.Fresh())
	} else {
		t.Detach(i)
		t.SetObject(i, o)
		t.SetTouch(i, p.Fresh()>>keyspace.TouchShift)
	}
	p.CompactLater(t, o, hash, t.Meta(i)&keyspace.LocationMask, keyspace.MaxCompact)
	return i
}
