package persistence

import (
	"slices"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/text"
)

// Expiry is when a key that is written expires: NoExpiry, KeepExpiry, or a unix
// time in ms.
type Expiry int64

const (
	// NoExpiry means that the key does not expire.
	NoExpiry Expiry = 0
	// KeepExpiry keeps the expiry of the key; a new key has none.
	KeepExpiry Expiry = -1
)

// resolve turns e into unix ms for the key at slot i.
func (tx *Tx) resolve(t *keyspace.Table, i int, e Expiry) int64 {
	if e != KeepExpiry {
		return int64(e)
	}
	if i < 0 || t.Meta(i)&keyspace.Tombstone != 0 {
		return 0
	}
	return t.Expire(t.Meta(i))
}

// String returns the string at key. ok is false if it is absent; the error is
// structures.ErrWrongType if it holds something else. The bytes are valid, and
// must not be written to, until the next change or Unlock.
func (tx *Tx) String(key []byte) (b []byte, ok bool, err error) {
	t, i, ok := tx.read(key)
	if !ok {
		return nil, false, tx.err
	}
	meta := t.Meta(i)
	if meta&keyspace.IsObject == 0 {
		if t.IsCompact(meta) {
			return nil, false, structures.ErrWrongType
		}
		_, b, _ = t.Parts(meta)
		return b, true, nil
	}
	s, ok := t.Object(meta).Value.(*text.String)
	if !ok {
		return nil, false, structures.ErrWrongType
	}
	return s.Bytes(), true, nil
}

// SetString stores a string under key, replacing any existing value. value may
// alias what String returned.
func (tx *Tx) SetString(key, value []byte, e Expiry) {
	if len(value) >= bigValue {
		tx.GiveString(key, structures.Clone(value), e)
		return
	}
	hash := tx.hash(key)
	t, i := tx.locate(hash, key)
	if tx.err != nil {
		return
	}
	expire := tx.resolve(t, i, e)
	tx.about(t, key)
	if len(tx.big) > 0 {
		tx.supersede(t, key)
	}
	format.RecordSet(&tx.rec, value, expire)
	tx.stayBlessed(t, key)
	tx.setString(t, i, hash, key, value, expire)
	tx.note(key)
}

// GiveString is SetString for bytes that belong to the store afterwards: big ones
// are not copied.
func (tx *Tx) GiveString(key, value []byte, e Expiry) {
	if len(value) < bigValue {
		tx.SetString(key, value, e)
		return
	}
	tx.put(key, &Prepared{value: text.New(value)}, e)
	tx.growing = tx.growing || len(value) >= tx.s.opts.LargeBytes
}

// setString stores without recording.
func (tx *Tx) setString(t *keyspace.Table, i int, hash uint64, key, value []byte, expire int64) {
	if !keyspace.Inline(len(key), len(value)) {
		tx.setLong(t, i, hash, key, structures.Clone(value), expire)
		return
	}
	if i < 0 {
		t.AddInline(hash, key, value, expire, tx.fresh()|keyspace.Dirty)
		return
	}
	t.Detach(i)
	t.SetInline(i, key, value, expire)
	t.SetMeta(i, t.Meta(i)|keyspace.Dirty)
	tx.touch(t, i)
}

// setLong stores a string that does not fit a slab record, which is the store's
// afterwards, without recording.
func (tx *Tx) setLong(t *keyspace.Table, i int, hash uint64, key, value []byte, expire int64) {
	v := text.New(value)
	o := &keyspace.Object{Key: append([]byte(nil), key...), Value: v, Expire: expire, Whole: true}
	i = tx.place(t, i, hash, o)
	t.SetMeta(i, t.Meta(i)|keyspace.Dirty)
}

// PatchString writes b into the string at key at offset off >= 0. A gap after
// the end is filled with zeros; an absent key counts as the empty string. The
// record holds b only. The error is structures.ErrWrongType if key holds
// something else. The caller has checked that the result is not too long.
func (tx *Tx) PatchString(key []byte, off int, b []byte) error {
	hash := tx.hash(key)
	t, i, ok := tx.find(hash, key)
	if tx.err != nil {
		return tx.err
	}
	if ok && t.Kind(t.Meta(i)) != structures.KindString {
		return structures.ErrWrongType
	}
	tx.about(t, key)
	tx.rec.Op(format.OpPatch, 2)
	tx.rec.Uint(uint64(off))
	tx.rec.Bytes(b)
	if ok {
		tx.patchString(t, i, hash, key, off, b)
	} else {
		tx.setString(t, i, hash, key, patched(nil, off, b), 0)
	}
	tx.note(key)
	return nil
}

// patchString patches without recording.
func (tx *Tx) patchString(t *keyspace.Table, i int, hash uint64, key []byte, off int, b []byte) {
	if i < 0 || t.Meta(i)&keyspace.Tombstone != 0 {
		tx.setPatched(t, i, hash, key, patched(nil, off, b), 0)
		return
	}
	meta := t.Meta(i)
	if o := t.Object(meta); o != nil {
		o.Value.(*text.String).Patch(nil, off, b)
		t.Resized(o)
		t.SetMeta(i, meta|keyspace.Dirty)
		tx.touch(t, i)
		return
	}
	_, old, expire := t.Parts(meta)
	if off+len(b) <= len(old) {
		copy(old[off:], b)
		t.SetMeta(i, meta|keyspace.Dirty)
		tx.touch(t, i)
		return
	}
	if end := off + len(b); keyspace.Inline(len(key), end) { // bits set one by one, an element added to a sketch
		t.Scratch = slices.Grow(t.Scratch[:0], end)[:end]
		clear(t.Scratch[copy(t.Scratch, old):])
		copy(t.Scratch[off:], b)
		tx.setString(t, i, hash, key, t.Scratch, expire)
		return
	}
	tx.setPatched(t, i, hash, key, patched(old, off, b), expire)
}

// setPatched stores what patched made.
func (tx *Tx) setPatched(t *keyspace.Table, i int, hash uint64, key, value []byte, expire int64) {
	if keyspace.Inline(len(key), len(value)) {
		tx.setString(t, i, hash, key, value, expire)
		return
	}
	tx.setLong(t, i, hash, key, value, expire)
}

// patched returns a copy of old with b written at off.
func patched(old []byte, off int, b []byte) []byte {
	v := make([]byte, max(len(old), off+len(b)))
	structures.Copy(v, old)
	structures.Copy(v[off:], b)
	return v
}
