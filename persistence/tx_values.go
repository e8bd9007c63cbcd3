package persistence

import (
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// edit is a value that a transaction may change until its Commit. Its changes
// gather in ch and move into the record when the key is looked up again or the
// transaction commits: the record then has the operations of each key in their
// order, and different keys in any order, which is equivalent, because an
// operation depends only on its own key.
type edit struct {
	t    *table
	o    *object
	db   int
	hash uint64
	ch   structures.Change
	// fresh: the key did not exist, and the record does not know of it yet. The
	// operation that makes it is in created.
	fresh   bool
	created structures.Change
}

func (e *edit) recorded() bool { return e.ch.Len() > 0 }

// Value returns the value of key if it is not a string: nil if it is absent,
// ErrWrongType if it is a string. The value must not be changed.
func (tx *Tx) Value(key []byte) (structures.Value, error) {
	hash := tx.hash(key)
	t, i, ok := tx.readAt(hash, key)
	if !ok {
		return nil, nil
	}
	o := tx.object(t, i, hash)
	if o == nil || o.value.Kind() == structures.KindString {
		return nil, structures.ErrWrongType
	}
	return o.value, nil
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
//
// v and ch are valid until Commit, or until the key is looked up again by another
// method: Edit of the same key returns both again.
func Edit[T structures.Value](tx *Tx, key []byte, create func() T) (v T, ch *structures.Change, ok bool, err error) {
	hash := tx.hash(key)
	t, i := tx.locate(hash, key)
	if tx.err != nil {
		return v, nil, false, tx.err
	}
	if i >= 0 && t.slots[i].meta&metaTombstone == 0 {
		o := tx.object(t, i, hash)
		if o == nil {
			return v, nil, false, structures.ErrWrongType
		}
		if v, ok = o.value.(T); !ok || o.value.Kind() == structures.KindString {
			return v, nil, false, structures.ErrWrongType
		}
		if o.edit != nil && o.edit.fresh && !o.edit.recorded() && create == nil {
			return v, nil, false, nil
		}
		tx.touch(t, i)
		return v, tx.begin(t, o, hash, false), true, nil
	}
	if create == nil {
		return v, nil, false, nil
	}
	o := newObject(tx.s, create)
	o.key, o.whole = append([]byte(nil), key...), true
	tx.place(t, i, hash, o)
	return o.value.(T), tx.begin(t, o, hash, true), true, nil
}

// newObject returns an object with the value that create makes, or with one like it
// whose memory is reused.
func newObject[T structures.Value](s *Store, create func() T) *object {
	var none T
	if r, ok := any(none).(structures.Reusable); ok {
		if o, ok := s.compacts[r.Kind()].Get().(*object); ok {
			o.value.(structures.Reusable).Reset()
			return o
		}
	}
	return &object{value: create()}
}

// place puts an object at slot i, a tombstone or something to be replaced, or
// at a new slot if i is negative. It does not mark the slot dirty.
func (tx *Tx) place(t *table, i int, hash uint64, o *object) int {
	if i < 0 {
		i = t.addObject(hash, o, tx.fresh())
	} else {
		t.detach(i)
		t.setObject(i, o)
		m := &t.slots[i].meta
		*m = *m&(1<<touchShift-1) | tx.fresh()
	}
	tx.loosen(t, o, hash, t.slots[i].meta&locationMask, maxCompact)
	return i
}

func (tx *Tx) begin(t *table, o *object, hash uint64, fresh bool) *structures.Change {
	if o.edit != nil {
		return &o.edit.ch
	}
	var e *edit
	if n := len(tx.spare); n > 0 {
		e, tx.spare = tx.spare[n-1], tx.spare[:n-1]
	} else {
		e = new(edit)
	}
	e.t, e.o, e.db, e.hash, e.fresh = t, o, tx.db, hash, fresh
	o.edit = e
	tx.open = append(tx.open, e)
	if fresh {
		// The new value as it is before its first change; what is recorded
		// follows it.
		if op := creations[o.value.Kind()]; op != nil {
			e.created.Append(op)
		} else {
			format.RecordRestore(&e.created, o.value, 0)
		}
	}
	return &e.ch
}

// settle moves what an edit recorded into the record and removes the value if
// that left it empty, which it reports. The edit stays open.
func (tx *Tx) settle(e *edit) (removed bool) {
	o := e.o
	if o == nil || o.edit != e {
		return false // its key was deleted or overwritten since
	}
	if !e.fresh && !e.recorded() {
		return false // the most usual call that changes nothing looks up no slot
	}
	i := e.t.find(e.hash, o.key)
	if !e.recorded() && o.value.Empty() {
		e.t.detach(i)
		e.t.erase(i)
		return true
	}
	tx.about(e.t, o.key)
	if f := tx.s.feeder.Load(); f != nil {
		tx.told.add(f, o, e.ch.Encoded(), e.fresh)
	}
	if e.fresh {
		tx.rec.Append(e.created.Encoded())
		e.created.Reset(maxKeptRecord)
		e.fresh = false
	}
	tx.rec.Append(e.ch.Encoded())
	e.ch.Reset(maxKeptRecord)
	tx.changed = true
	if tx.OnChange != nil {
		tx.OnChange(e.db, o.key)
	}
	e.t.resized(o)
	tx.growing = tx.growing || o.pager != nil
	o.changed = true
	if o.value.Empty() {
		tx.rec.Op(format.OpDelete, 0)
		e.t.detach(i)
		e.t.erase(i)
		return true
	}
	tx.s.enlarge(e.t, o, e.hash)
	e.t.setMeta(i, e.t.slots[i].meta|metaDirty)
	tx.loosen(e.t, o, e.hash, e.t.slots[i].meta&locationMask, compactAgain)
	return false
}

// close ends an edit and keeps its memory for the next.
func (tx *Tx) close(e *edit) {
	if e.o != nil && e.o.edit == e {
		e.o.edit = nil
	}
	e.t, e.o, e.fresh = nil, nil, false
	e.ch.Reset(maxKeptRecord)
	e.created.Reset(maxKeptRecord)
	tx.spare = append(tx.spare, e)
}

// detach cuts the tie between slot i and an open edit: what the edit records
// from now on is lost, as its value is.
func (t *table) detach(i int) {
	if o := t.object(t.slots[i].meta); o != nil && o.edit != nil {
		o.edit.o = nil
		o.edit.ch.Reset(maxKeptRecord)
		o.edit = nil
	}
}

// Replace stores v, as a whole, under key, replacing any existing value. e is
// an expiry as in SetString. An Empty value deletes the key. v belongs to the
// store afterwards.
func Replace(tx *Tx, key []byte, v structures.Value, e Expiry) {
	ReplacePrepared(tx, key, &Prepared{value: v}, e)
}

// ReplacePrepared is Replace for a value that was prepared.
func ReplacePrepared(tx *Tx, key []byte, p *Prepared, e Expiry) {
	hash := tx.hash(key)
	t, i := tx.locate(hash, key)
	if tx.err != nil {
		return
	}
	if p.value.Empty() {
		tx.Delete(key)
		return
	}
	tx.replace(t, i, hash, key, *p, tx.resolve(t, i, e))
}

// replace is Replace at a slot that locate found.
func (tx *Tx) replace(t *table, i int, hash uint64, key []byte, p Prepared, expire int64) {
	tx.about(t, key)
	if len(tx.big) > 0 {
		tx.supersede(t, key)
	}
	tx.recordWhole(t, key, p, expire)
	o := &object{key: append([]byte(nil), key...), value: p.value, expire: expire, whole: true}
	i = tx.place(t, i, hash, o)
	tx.s.enlarge(t, o, hash)
	t.setMeta(i, t.slots[i].meta|metaDirty)
	tx.note(key)
}

// decode makes a value from its encoding, without pages.
func (s *Store) decode(kind structures.Kind, head []byte) (structures.Value, error) {
	return format.DecodeValue(kind, head, &s.keys.Values)
}

// HashKeys are the keys for the hashes of this store.
func (tx *Tx) HashKeys() *structures.HashKeys { return &tx.s.keys.Values }
