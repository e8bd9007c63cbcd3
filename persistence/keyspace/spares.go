package keyspace

import (
	"sync"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

// emptyCompact returns an object with a value of a kind that can rest as a record.
func (s *Keyspace) emptyCompact(kind structures.Kind) *Object {
	if o := s.Spare(kind); o != nil {
		return o
	}
	return &Object{Value: types.Of(kind).Compact(s.spares.keys)}
}

// LoadCompact returns an object with the value of a record, which the caller may
// give back by KeepCompact.
func (s *Keyspace) LoadCompact(value []byte) *Object {
	o := s.emptyCompact(structures.Kind(value[0]))
	o.Value.(structures.Compact).LoadCompact(value[1:])
	return o
}

// KeepCompact keeps the memory of an unused object.
func (s *Keyspace) KeepCompact(o *Object) {
	kind, value := o.Value.Kind(), o.Value
	*o = Object{Value: value}
	s.spares.objects[kind].Put(o)
}

// Lift makes the record at slot i an object, and returns its index.
func (s *Keyspace) Lift(t *Table, i int) (o *Object, at uint64) {
	_, value, _ := t.Parts(t.Meta(i))
	o = s.LoadCompact(value)
	return o, t.Lift(i, o)
}

// CompactObject makes a record of the object at slot i if its value is small, which it
// reports.
func (s *Keyspace) CompactObject(t *Table, i int, o *Object, limit int) bool {
	if !t.Rest(i, o, limit) {
		return false
	}
	s.KeepCompact(o)
	return true
}

// spares keeps, by kind, objects for the records that become some.
type spares struct {
	objects [structures.Kinds]sync.Pool
	keys    *structures.HashKeys // of the hashes of values
}

// Spare returns an object with a value of a kind that was used before, nil if there is none.
func (s *Keyspace) Spare(kind structures.Kind) *Object {
	o, _ := s.spares.objects[kind].Get().(*Object)
	return o
}
