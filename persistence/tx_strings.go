package persistence

import (
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/slots"
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
	t, i, ok := tx.readAt(tx.hash(key), key)
	if !ok {
		return nil, false, tx.placer.Err
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
	if tx.placer.Err != nil {
		return
	}
	expire := tx.resolve(t, i, e)
	tx.rec.about(t, key)
	if len(tx.rec.big) > 0 {
		tx.rec.supersede(t, key)
	}
	format.RecordSet(&tx.rec.Change, value, expire)
	tx.rec.stayBlessed(t, key)
	tx.placer.SetString(t, i, hash, key, value, expire)
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

// PatchString writes b into the string at key at offset off >= 0. A gap after
// the end is filled with zeros; an absent key counts as the empty string. The
// record holds b only. The error is structures.ErrWrongType if key holds
// something else. The caller has checked that the result is not too long.
func (tx *Tx) PatchString(key []byte, off int, b []byte) error {
	hash := tx.hash(key)
	t, i, ok := tx.find(hash, key)
	if tx.placer.Err != nil {
		return tx.placer.Err
	}
	if ok && t.Kind(t.Meta(i)) != structures.KindString {
		return structures.ErrWrongType
	}
	tx.rec.about(t, key)
	tx.rec.Op(format.OpPatch, 2)
	tx.rec.Uint(uint64(off))
	tx.rec.Bytes(b)
	if ok {
		tx.placer.PatchString(t, i, hash, key, off, b)
	} else {
		tx.placer.SetString(t, i, hash, key, slots.Patched(nil, off, b), 0)
	}
	tx.note(key)
	return nil
}
