package persistence

import (
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
)

// Kind returns the type of what key holds, KindNone if it is absent. It does
// not count as a use.
func (tx *Tx) Kind(key []byte) structures.Kind {
	t, i, ok := tx.find(tx.hash(key), key)
	if !ok {
		return structures.KindNone
	}
	return t.Kind(t.Meta(i))
}

// Ready reads what the disk has of keys, every step-th of names, that are not in memory: what is
// done to several of them then does not fail half way because the disk has failed. It reports false if one of them
// cannot be read, and Err says why. Pages of large values are not read.
func (tx *Tx) Ready(step int, names ...[]byte) bool {
	for i := 0; i < len(names) && tx.placer.Err == nil; i += step {
		hash := tx.hash(names[i])
		t := tx.s.keyspace.Table(format.ShardOf(hash), tx.db)
		if t.Resident || t.Find(hash, names[i]) >= 0 {
			continue
		}
		if _, _, err := tx.s.heads.Fault(t, hash, names[i], tx.placer.Fresh()); err != nil {
			tx.placer.Fail(err)
		}
	}
	return tx.placer.Err == nil
}

// Delete removes key and reports whether it existed.
func (tx *Tx) Delete(key []byte) bool {
	t, i, ok := tx.find(tx.hash(key), key)
	if !ok {
		return false
	}
	tx.delete(t, i, key)
	return true
}

func (tx *Tx) delete(t *keyspace.Table, i int, key []byte) {
	tx.rec.about(t, key)
	if len(tx.rec.big) > 0 {
		tx.rec.supersede(t, key)
	}
	tx.rec.Op(format.OpDelete, 0)
	t.Detach(i)
	if o := t.Object(t.Meta(i)); o != nil && o.Size > leftBehindBytes {
		tx.s.stats.leftBehind.Add(1)
	}
	t.Erase(i)
	tx.note(key)
}

// leftBehindBytes is the size above which a value counts as left to the garbage collector. Smaller
// ones are records as a rule, whose memory is used again at once.
const leftBehindBytes = 4 << 10

// ExpireAt returns the expiry of key in unix ms, 0 if it has none. ok: the key
// exists. It does not count as a use.
func (tx *Tx) ExpireAt(key []byte) (ms int64, ok bool) {
	t, i, ok := tx.find(tx.hash(key), key)
	if !ok {
		return 0, false
	}
	return t.Expire(t.Meta(i)), true
}

// SetExpire makes key expire at ms, unix time greater than 0, and reports
// whether the key exists. For a time in the past the caller deletes the key
// instead.
func (tx *Tx) SetExpire(key []byte, ms int64) bool {
	hash := tx.hash(key)
	t, i, ok := tx.find(hash, key)
	if !ok {
		return false
	}
	tx.rec.about(t, key)
	tx.rec.Op(format.OpExpireAt, 1)
	tx.rec.Int(ms)
	tx.expireAt(t, i, key, ms)
	return true
}

// Persist removes the expiry of key and reports whether it had one.
func (tx *Tx) Persist(key []byte) bool {
	t, i, ok := tx.find(tx.hash(key), key)
	if !ok || t.Meta(i)&keyspace.HasExpiry == 0 {
		return false
	}
	tx.rec.about(t, key)
	tx.rec.Op(format.OpPersist, 0)
	tx.expireAt(t, i, key, 0)
	return true
}

func (tx *Tx) expireAt(t *keyspace.Table, i int, key []byte, ms int64) {
	t.SetExpire(i, ms)
	t.SetMeta(i, t.Meta(i)|keyspace.Dirty)
	tx.note(key)
}
