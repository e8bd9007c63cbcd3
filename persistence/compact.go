package persistence

import (
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

// looseObject is an object that may become a record when the transaction ends.
type looseObject struct {
	t    *keyspace.Table
	o    *keyspace.Object
	hash uint64
	at   uint64 // index in t.objects
	// limit is what its value may take as a record.
	limit int
}

// emptyCompact returns an object with a value of a kind that can rest as a record.
func (s *Store) emptyCompact(kind structures.Kind) *keyspace.Object {
	if o, ok := s.compacts[kind].Get().(*keyspace.Object); ok {
		return o
	}
	return &keyspace.Object{Value: types.Of(kind).Compact(&s.keys.Values)}
}

// loadCompact returns an object with the value of a record, which the caller may
// give back by keepCompact.
func (s *Store) loadCompact(value []byte) *keyspace.Object {
	o := s.emptyCompact(structures.Kind(value[0]))
	o.Value.(structures.Compact).LoadCompact(value[1:])
	return o
}

// keepCompact keeps the memory of an unused object.
func (s *Store) keepCompact(o *keyspace.Object) {
	kind, value := o.Value.Kind(), o.Value
	*o = keyspace.Object{Value: value}
	s.compacts[kind].Put(o)
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

// object returns the object of a live slot, which is made of its record if that is
// one of a value that is no string. nil: it is a short string.
func (tx *Tx) object(t *keyspace.Table, i int, hash uint64) *keyspace.Object {
	meta := t.Meta(i)
	if !t.IsCompact(meta) {
		o := t.Object(meta)
		if o != nil && o.Pager != nil {
			pagerOf(o).use(tx)
		}
		return o
	}
	o, at := tx.s.lift(t, i)
	tx.loosen(t, o, hash, at, keyspace.MaxCompact)
	return o
}

// lift makes the record at slot i an object, and returns its index.
func (s *Store) lift(t *keyspace.Table, i int) (o *keyspace.Object, at uint64) {
	_, value, _ := t.Parts(t.Meta(i))
	o = s.loadCompact(value)
	return o, t.Lift(i, o)
}

// loosen has an object looked at when the transaction ends, if it may become a
// record then.
func (tx *Tx) loosen(t *keyspace.Table, o *keyspace.Object, hash, at uint64, limit int) {
	if o.Loose {
		return
	}
	c, ok := o.Value.(structures.Compact)
	if ok && (limit == keyspace.MaxCompact || c.IsCompact(limit) || !o.Recent && c.IsCompact(maxRecent/2)) {
		o.Loose = true
		tx.loose = append(tx.loose, looseObject{t, o, hash, at, limit})
	}
}

// compact makes records of the objects that this transaction used, as far as they
// are small. Values that it handed out are not valid afterwards.
func (tx *Tx) compact() {
	if len(tx.paged) > 0 {
		tx.settlePages()
	}
	for k := range tx.loose {
		l := &tx.loose[k]
		l.o.Loose = false
		if l.t.Has(l.at, l.o) {
			if !tx.s.compactObject(l.t, l.t.Find(l.hash, l.o.Key), l.o, l.limit) && !l.o.Recent &&
				l.o.Value.(structures.Compact).IsCompact(maxRecent) {
				tx.s.linger(recentObject{t: l.t, o: l.o, hash: l.hash, at: l.at})
			}
		} else if !l.o.Lifted && l.o.Value.Size() <= keyspace.MaxSpare {
			tx.s.keepCompact(l.o) // deleted: a queue is made and emptied all the time
		}
	}
	clear(tx.loose)
	tx.loose = tx.loose[:0]
}

// compactObject makes a record of the object at slot i if its value is small, which it
// reports.
func (s *Store) compactObject(t *keyspace.Table, i int, o *keyspace.Object, limit int) bool {
	if !t.Rest(i, o, limit) {
		return false
	}
	s.keepCompact(o)
	return true
}
