package keyspace

import (
	"unsafe"

	"github.com/vigildb/vigil/persistence/slab"
	"github.com/vigildb/vigil/structures"
)

// A small value that is not a string rests as a record in a slab too: the bit
// recordCompact stands in its length of the key, and its value is
//
//	kind (1) | what structures.Compact appended
//
// An object on the heap costs some 250 bytes more, and the collector's time. For
// the time of a transaction that looks at it the record becomes an object, which
// keeps the record; when the transaction commits or unlocks, the object becomes a
// record again: the same one if nothing changed.
const (
	recordCompact = 1 << 15
	keyLengthMask = recordCompact - 1
	// MaxCompact bounds the value that becomes a record when the transaction ends: it
	// is copied twice for each command that uses it. See recent.go for larger ones.
	MaxCompact = 1024
	// CompactAgain bounds that of an object that was too large once. A value that
	// grows and shrinks around a bound would be copied each time.
	CompactAgain = MaxCompact / 2
	// MaxSpare bounds the memory of a deleted value that is kept for another one.
	MaxSpare = 2 * MaxCompact
)

// IsCompact reports that a slot is the record of a value that is no string.
func (t *Table) IsCompact(meta uint64) bool {
	return meta&IsObject == 0 && *(*uint16)(t.arena.At(meta & LocationMask))&recordCompact != 0
}

// markCompact makes the record at loc one of a value that is no string.
func (t *Table) markCompact(loc uint64) { *(*uint16)(t.arena.At(loc)) |= recordCompact }

// Lift makes the record at slot i the object o, which has its value, and returns the index of that.
func (t *Table) Lift(i int, o *Object) (at uint64) {
	meta := t.slots[i].meta
	key, value, expire := t.Parts(meta)
	o.Key, o.Expire, o.Whole = key, expire, true
	o.Indexed = expire != 0 && t.Indexed(meta)
	o.Record, o.recordSize = meta&LocationMask, uint16(recordSize(len(key), len(value), expire))
	o.hasAlarm()
	at = t.put(o)
	t.slots[i].meta = meta&^LocationMask | IsObject | at
	return at
}

// Rest makes a record of the object at slot i if its value is small, which it reports. The caller may use
// the object for another value then.
func (t *Table) Rest(i int, o *Object, limit int) bool {
	meta := t.slots[i].meta
	loc := o.Record
	if loc == 0 || o.Changed {
		b, small := t.appendCompact(o, limit)
		if !small {
			t.unrecord(o)
			return false
		}
		loc = t.rewrite(o, b)
		t.setAlarm(o, t.slots[i].hash)
	}
	t.unschedule(o)
	*t.mem -= int64(o.Size)
	o.Unpage()
	t.vacate(meta & LocationMask)
	t.slots[i].meta = meta&^(LocationMask|IsObject) | loc
	return true
}

// AddCompact inserts a slot for an object as a record, if its value is small, which it reports. The caller may use
// the object for another value then.
func (t *Table) AddCompact(hash uint64, o *Object, flags uint64, limit int) (i int, ok bool) {
	b, small := t.appendCompact(o, limit)
	if !small {
		return 0, false
	}
	t.setAlarm(o, hash)
	return t.insert(hash, t.rewrite(o, b)|t.ttlBit(o.Expire)|flags), true
}

// appendCompact returns the value of a record for an object, in t.scratch. small is
// false if the object stays one.
func (t *Table) appendCompact(o *Object, limit int) (b []byte, small bool) {
	c, ok := o.Value.(structures.Compact)
	if !ok || !c.IsCompact(limit) {
		return nil, false
	}
	t.Scratch = c.AppendCompact(append(t.Scratch[:0], byte(c.Kind())))
	return t.Scratch, Inline(len(o.Key), len(t.Scratch))
}

// rewrite returns the record of an object with the value b: the one that it was
// made of, if the new one fits there.
func (t *Table) rewrite(o *Object, b []byte) (loc uint64) {
	size := recordSize(len(o.Key), len(b), o.Expire)
	if o.Record != 0 && slab.Class(size) == slab.Class(int(o.recordSize)) {
		// The key lies in the record, and moves if the key's expiry came or went.
		loc = o.Record
		at := size - len(b) - len(o.Key)
		key := unsafe.Slice((*byte)(unsafe.Add(t.arena.At(loc), at)), len(o.Key))
		copy(key, o.Key)
		t.fillRecord(loc, key, b, o.Expire)
	} else {
		loc = t.writeRecord(o.Key, b, o.Expire)
		if o.Record != 0 {
			t.arena.Release(o.Record, int(o.recordSize))
		}
	}
	t.markCompact(loc)
	if o.Indexed {
		t.SetIndexed(loc | HasExpiry)
	}
	return loc
}

// unrecord takes the record away from an object that stays one.
func (t *Table) unrecord(o *Object) {
	if o.Record == 0 {
		return
	}
	o.Key = append([]byte(nil), o.Key...)
	t.arena.Release(o.Record, int(o.recordSize))
	o.Record = 0
	t.Resized(o)
}
