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
			tx.use(o)
		}
		return o
	}
	o, at := tx.s.keyspace.Lift(t, i)
	tx.loosen(t, o, hash, at, keyspace.MaxCompact)
	return o
}

// loosen has an object looked at when the transaction ends, if it may become a
// record then.
func (tx *Tx) loosen(t *keyspace.Table, o *keyspace.Object, hash, at uint64, limit int) {
	if o.Loose {
		return
	}
	c, ok := o.Value.(structures.Compact)
	if ok && (limit == keyspace.MaxCompact || c.IsCompact(limit) || !o.Recent && c.IsCompact(keyspace.MaxRecent/2)) {
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
			if !tx.s.keyspace.CompactObject(l.t, l.t.Find(l.hash, l.o.Key), l.o, l.limit) && !l.o.Recent &&
				l.o.Value.(structures.Compact).IsCompact(keyspace.MaxRecent) {
				tx.s.keyspace.Linger(l.t, l.o, l.hash, l.at)
			}
		} else if !l.o.Lifted && l.o.Value.Size() <= keyspace.MaxSpare {
			tx.s.keyspace.KeepCompact(l.o) // deleted: a queue is made and emptied all the time
		}
	}
	clear(tx.loose)
	tx.loose = tx.loose[:0]
}
