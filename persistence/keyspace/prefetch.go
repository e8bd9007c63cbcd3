package keyspace

import (
	"unsafe"

	"github.com/vigildb/vigil/persistence/prefetch"
	"github.com/vigildb/vigil/structures"
)

// What a command is about to read can be brought into the cache of the processor before, a step for many keys at a time.

// usualRecord is how many bytes are fetched of a record: more than those of most have.
const usualRecord = 128

// PrefetchSlot prefetches the place at which a hash may be, of a table that is not empty.
func (t *Table) PrefetchSlot(hash uint64) { prefetch.Line(unsafe.Pointer(&t.slots[t.home(hash)])) }

// PrefetchRecord prefetches the record of a key, or prefetches its object and returns it. The table is not empty.
func (t *Table) PrefetchRecord(hash uint64) *Object {
	meta := t.metaOf(hash)
	switch {
	case meta == 0:
		return nil
	case meta&IsObject == 0:
		record := t.arena.At(meta & LocationMask)
		prefetch.Range(record, unsafe.Add(record, usualRecord-1))
		return nil
	}
	o := t.objects[meta&LocationMask]
	prefetch.Line(unsafe.Pointer(o))
	return o
}

// Prefetch prefetches what an object refers to.
func (o *Object) Prefetch() {
	prefetch.Line(unsafe.Pointer(unsafe.SliceData(o.Key)))
	if o.Value != nil {
		prefetch.Line(valueAddress(o.Value))
	}
}

// PrefetchElements takes a step towards elements of the value of a key. The table is not empty.
func (t *Table) PrefetchElements(hash uint64, list []structures.Sought, step int) {
	meta := t.metaOf(hash)
	if meta&IsObject == 0 {
		return // missing, or a record, which is there already
	}
	v, ok := t.objects[meta&LocationMask].Value.(structures.Spread)
	if !ok || !v.Approach(list, step) {
		return
	}
	for i := range list {
		if e := &list[i]; e.First != nil {
			prefetch.Range(e.First, e.Last)
		}
	}
}

// valueAddress is the address of the struct of a value.
func valueAddress(v structures.Value) unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
}

// metaOf returns the meta word of the first slot with a hash, or 0. It looks into no crowded table.
func (t *Table) metaOf(hash uint64) uint64 {
	if t.crowded() {
		return 0
	}
	for i := t.home(hash); ; i++ {
		s := &t.slots[i]
		switch {
		case s.meta == 0 || s.hash > hash:
			return 0
		case s.hash == hash:
			return s.meta
		}
	}
}
