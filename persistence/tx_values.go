package persistence

import (
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

// Value returns the value of key if it is not a string: nil if it is absent,
// ErrWrongType if it is a string. The value must not be changed.
func (tx *Tx) Value(key []byte) (structures.Value, error) {
	hash := tx.hash(key)
	t, i, ok := tx.readAt(hash, key)
	if !ok {
		return nil, nil
	}
	o := tx.placer.Object(t, i, hash)
	if o == nil || o.Value.Kind() == structures.KindString {
		return nil, structures.ErrWrongType
	}
	return o.Value, nil
}

// View returns the value of key for reading. ok is false if the key is absent;
// the error is ErrWrongType if it holds something else.
func View[T structures.Value](tx *Tx, key []byte) (v T, ok bool, err error) {
	held, err := tx.Value(key)
	if err != nil || held == nil {
		return v, false, err
	}
	v, ok = held.(T)
	if !ok {
		return v, false, structures.ErrWrongType
	}
	return v, true, nil
}

// Edit returns the value of key for changing: pass ch to every method of v that
// changes it; what they record is the change. If nothing is recorded, nothing
// changed.
//
//	absent, create nil      ok is false
//	absent, create          v is a new value, kept if something is recorded
//	                        or it is not Empty
//	holds another type      structures.ErrWrongType
//	the type came with a    NeedsLevelError
//	level above the group's
//
// v and ch are valid until Commit, or until the key is looked up again by another
// method: Edit of the same key returns both again.
func Edit[T structures.Value](tx *Tx, key []byte, create func() T) (v T, ch *structures.Change, ok bool, err error) {
	hash := tx.hash(key)
	t, i := tx.locate(hash, key)
	if tx.placer.Err != nil {
		return v, nil, false, tx.placer.Err
	}
	if i >= 0 && t.Meta(i)&keyspace.Tombstone == 0 {
		o := tx.placer.Object(t, i, hash)
		if o == nil {
			return v, nil, false, structures.ErrWrongType
		}
		if v, ok = o.Value.(T); !ok || o.Value.Kind() == structures.KindString {
			return v, nil, false, structures.ErrWrongType
		}
		if o.Edit != nil && o.Edit.Fresh && !o.Edit.Recorded() && create == nil {
			return v, nil, false, nil
		}
		l := limitAt(tx.s.Level(), o.Value)
		if l != nil && l.none {
			return v, nil, false, l.changes.Err
		}
		tx.placer.Touch(t, i)
		return v, tx.begin(t, o, hash, false, l), true, nil
	}
	if create == nil {
		return v, nil, false, nil
	}
	o := newObject(tx.s, create)
	l := limitAt(tx.s.Level(), o.Value)
	if l != nil && l.none {
		return v, nil, false, l.changes.Err
	}
	o.Key, o.Whole = append([]byte(nil), key...), true
	tx.placer.Place(t, i, hash, o)
	return o.Value.(T), tx.begin(t, o, hash, true, l), true, nil
}

// newObject returns an object with the value that create makes, or with one like it
// whose memory is reused.
func newObject[T structures.Value](s *Store, create func() T) *keyspace.Object {
	var none T
	if r, ok := any(none).(structures.Reusable); ok {
		if o := s.keyspace.Spare(r.Kind()); o != nil {
			o.Value.(structures.Reusable).Reset()
			return o
		}
	}
	return &keyspace.Object{Value: create()}
}

// creations has, by kind, the operation that makes an empty value of the types whose
// values are all created so.
var creations = func() (ops [structures.Kinds][]byte) {
	for _, t := range types.All() {
		if t.Compact == nil {
			continue
		}
		if v, ok := t.Compact(nil).(structures.Reusable); ok {
			var c structures.Change
			format.RecordRestore(&c, v, 0)
			ops[t.Kind] = c.Take()
		}
	}
	return ops
}()

// begin opens an edit of an object, within a limit, unless it is open.
func (tx *Tx) begin(t *keyspace.Table, o *keyspace.Object, hash uint64, fresh bool, l *limit) *structures.Change {
	if o.Edit != nil {
		return &o.Edit.Change
	}
	var e *keyspace.Edit
	if n := len(tx.spare); n > 0 {
		e, tx.spare = tx.spare[n-1], tx.spare[:n-1]
	} else {
		e = new(keyspace.Edit)
	}
	e.Table, e.Object, e.DB, e.Hash, e.Fresh = t, o, tx.db, hash, fresh
	o.Edit = e
	tx.open = append(tx.open, e)
	e.Change.Limit(nil)
	if l != nil {
		e.Change.Limit(&l.changes)
	}
	if fresh {
		// The new value as it is before its first change; what is recorded
		// follows it.
		if op := creations[o.Value.Kind()]; op != nil {
			e.Created.Append(op)
		} else {
			format.RecordRestore(&e.Created, o.Value, 0)
		}
	}
	return &e.Change
}

// settle moves what an edit recorded into the record and removes the value if
// that left it empty, which it reports. The edit stays open.
func (tx *Tx) settle(e *keyspace.Edit) (removed bool) {
	o := e.Object
	if o == nil || o.Edit != e {
		return false // its key was deleted or overwritten since
	}
	if !e.Fresh && !e.Recorded() {
		return false // the most usual call that changes nothing looks up no slot
	}
	i := e.Table.Find(e.Hash, o.Key)
	if !e.Recorded() && o.Value.Empty() {
		e.Table.Detach(i)
		e.Table.Erase(i)
		return true
	}
	tx.rec.about(e.Table, o.Key)
	if tx.s.feed.Active() {
		tx.rec.told.Add(&tx.s.feed, o, e.Change.Encoded(), e.Fresh)
	}
	if e.Fresh {
		tx.rec.Append(e.Created.Encoded())
		e.Created.Reset(maxKeptRecord)
		e.Fresh = false
	}
	tx.rec.Append(e.Change.Encoded())
	e.Change.Reset(maxKeptRecord)
	tx.changed = true
	if tx.OnChange != nil {
		tx.OnChange(e.DB, o.Key)
	}
	e.Table.Resized(o)
	tx.growing = tx.growing || o.Pager != nil
	o.Changed = true
	if o.Value.Empty() {
		tx.rec.Op(format.OpDelete, 0)
		e.Table.Detach(i)
		e.Table.Erase(i)
		return true
	}
	tx.s.writer.Enlarge(e.Table, o, e.Hash)
	e.Table.SetMeta(i, e.Table.Meta(i)|keyspace.Dirty)
	tx.placer.CompactLater(e.Table, o, e.Hash, e.Table.Meta(i)&keyspace.LocationMask, keyspace.CompactAgain)
	return false
}

// close ends an edit and keeps its memory for the next.
func (tx *Tx) close(e *keyspace.Edit) {
	if e.Object != nil && e.Object.Edit == e {
		e.Object.Edit = nil
	}
	e.Table, e.Object, e.Fresh = nil, nil, false
	e.Change.Reset(maxKeptRecord)
	e.Created.Reset(maxKeptRecord)
	tx.spare = append(tx.spare, e)
}

// Replace stores v, as a whole, under key, replacing any existing value. e is
// an expiry as in SetString. An Empty value deletes the key. v belongs to the
// store afterwards. The error is that of Err, or a NeedsLevelError for a value that came with a level above that of the
// group; nothing has changed then.
func Replace(tx *Tx, key []byte, v structures.Value, e Expiry) error {
	return ReplacePrepared(tx, key, &Prepared{value: v}, e)
}

// ReplacePrepared is Replace for a value that was prepared.
func ReplacePrepared(tx *Tx, key []byte, p *Prepared, e Expiry) error {
	if err := permits(tx.s.Level(), p.value); err != nil {
		return err
	}
	tx.put(key, p, e)
	return tx.placer.Err
}

// put is ReplacePrepared for a value that the group may have.
func (tx *Tx) put(key []byte, p *Prepared, e Expiry) {
	hash := tx.hash(key)
	t, i := tx.locate(hash, key)
	if tx.placer.Err != nil {
		return
	}
	if p.value.Empty() {
		tx.Delete(key)
		return
	}
	tx.replace(t, i, hash, key, *p, tx.resolve(t, i, e))
}

// replace is Replace at a slot that locate found.
func (tx *Tx) replace(t *keyspace.Table, i int, hash uint64, key []byte, p Prepared, expire int64) {
	tx.rec.about(t, key)
	if len(tx.rec.big) > 0 {
		tx.rec.supersede(t, key)
	}
	tx.rec.whole(t, key, p, expire)
	o := &keyspace.Object{Key: append([]byte(nil), key...), Value: p.value, Expire: expire, Whole: true}
	i = tx.placer.Place(t, i, hash, o)
	tx.s.writer.Enlarge(t, o, hash)
	t.SetMeta(i, t.Meta(i)|keyspace.Dirty)
	tx.note(key)
}

// HashKeys are the keys for the hashes of this store.
func (tx *Tx) HashKeys() *structures.HashKeys { return &tx.s.keys.Values }
