package persistence

import (
	"unsafe"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/slab"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
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
	// maxCompact bounds the value that becomes a record when the transaction ends: it
	// is copied twice for each command that uses it. See recent.go for larger ones.
	maxCompact = 1024
	// compactAgain bounds that of an object that was too large once. A value that
	// grows and shrinks around a bound would be copied each time.
	compactAgain = maxCompact / 2
	// maxSpare bounds the memory of a deleted value that is kept for another one.
	maxSpare = 2 * maxCompact
)

// looseObject is an object that may become a record when the transaction ends.
type looseObject struct {
	t    *table
	o    *object
	hash uint64
	at   uint64 // index in t.objects
	// limit is what its value may take as a record.
	limit int
}

// isCompact reports that a slot is the record of a value that is no string.
func (t *table) isCompact(meta uint64) bool {
	return meta&metaObject == 0 && *(*uint16)(t.arena.At(meta & locationMask))&recordCompact != 0
}

// markCompact makes the record at loc one of a value that is no string.
func (t *table) markCompact(loc uint64) { *(*uint16)(t.arena.At(loc)) |= recordCompact }

// emptyCompact returns an object with a value of a kind that can rest as a record.
func (s *Store) emptyCompact(kind structures.Kind) *object {
	if o, ok := s.compacts[kind].Get().(*object); ok {
		return o
	}
	return &object{value: types.Of(kind).Compact(&s.keys.Values)}
}

// loadCompact returns an object with the value of a record, which the caller may
// give back by keepCompact.
func (s *Store) loadCompact(value []byte) *object {
	o := s.emptyCompact(structures.Kind(value[0]))
	o.value.(structures.Compact).LoadCompact(value[1:])
	return o
}

// keepCompact keeps the memory of an unused object.
func (s *Store) keepCompact(o *object) {
	kind, value := o.value.Kind(), o.value
	*o = object{value: value}
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
func (tx *Tx) object(t *table, i int, hash uint64) *object {
	meta := t.slots[i].meta
	if !t.isCompact(meta) {
		o := t.object(meta)
		if o != nil && o.pager != nil {
			o.pager.use(tx)
		}
		return o
	}
	o, at := tx.s.lift(t, i)
	tx.loosen(t, o, hash, at, maxCompact)
	return o
}

// lift makes the record at slot i an object, and returns its index.
func (s *Store) lift(t *table, i int) (o *object, at uint64) {
	meta := t.slots[i].meta
	key, value, expire := t.parts(meta)
	o = s.loadCompact(value)
	o.key, o.expire, o.whole = key, expire, true
	o.indexed = expire != 0 && t.indexed(meta)
	o.record, o.recordSize = meta&locationMask, uint16(recordSize(len(key), len(value), expire))
	o.hasAlarm()
	at = t.put(o)
	t.slots[i].meta = meta&^locationMask | metaObject | at
	return o, at
}

// loosen has an object looked at when the transaction ends, if it may become a
// record then.
func (tx *Tx) loosen(t *table, o *object, hash, at uint64, limit int) {
	if o.loose {
		return
	}
	c, ok := o.value.(structures.Compact)
	if ok && (limit == maxCompact || c.IsCompact(limit) || !o.recent && c.IsCompact(maxRecent/2)) {
		o.loose = true
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
		l.o.loose = false
		if l.at < uint64(len(l.t.objects)) && l.t.objects[l.at] == l.o {
			if !tx.s.compactObject(l.t, l.t.find(l.hash, l.o.key), l.o, l.limit) && !l.o.recent &&
				l.o.value.(structures.Compact).IsCompact(maxRecent) {
				tx.s.linger(recentObject{t: l.t, o: l.o, hash: l.hash, at: l.at})
			}
		} else if !l.o.lifted && l.o.value.Size() <= maxSpare {
			tx.s.keepCompact(l.o) // deleted: a queue is made and emptied all the time
		}
	}
	clear(tx.loose)
	tx.loose = tx.loose[:0]
}

// compactObject makes a record of the object at slot i if its value is small, which it
// reports.
func (s *Store) compactObject(t *table, i int, o *object, limit int) bool {
	meta := t.slots[i].meta
	at := meta & locationMask
	loc := o.record
	if loc == 0 || o.changed {
		b, small := t.appendCompact(o, limit)
		if !small {
			t.unrecord(o)
			return false
		}
		loc = t.rewrite(o, b)
		t.setAlarm(o, t.slots[i].hash)
	}
	t.unschedule(o)
	*t.mem -= int64(o.size)
	o.unpage()
	t.objects[at] = nil
	t.freed = append(t.freed, uint32(at))
	t.slots[i].meta = meta&^(locationMask|metaObject) | loc
	s.keepCompact(o)
	return true
}

// appendCompact returns the value of a record for an object, in t.scratch. small is
// false if the object stays one.
func (t *table) appendCompact(o *object, limit int) (b []byte, small bool) {
	c, ok := o.value.(structures.Compact)
	if !ok || !c.IsCompact(limit) {
		return nil, false
	}
	t.scratch = c.AppendCompact(append(t.scratch[:0], byte(c.Kind())))
	return t.scratch, inline(len(o.key), len(t.scratch))
}

// rewrite returns the record of an object with the value b: the one that it was
// made of, if the new one fits there.
func (t *table) rewrite(o *object, b []byte) (loc uint64) {
	size := recordSize(len(o.key), len(b), o.expire)
	if o.record != 0 && slab.Class(size) == slab.Class(int(o.recordSize)) {
		// The key lies in the record, and moves if the key's expiry came or went.
		loc = o.record
		at := size - len(b) - len(o.key)
		key := unsafe.Slice((*byte)(unsafe.Add(t.arena.At(loc), at)), len(o.key))
		copy(key, o.key)
		t.fillRecord(loc, key, b, o.expire)
	} else {
		loc = t.writeRecord(o.key, b, o.expire)
		if o.record != 0 {
			t.arena.Release(o.record, int(o.recordSize))
		}
	}
	t.markCompact(loc)
	if o.indexed {
		t.setIndexed(loc | metaTTL)
	}
	return loc
}

// unrecord takes the record away from an object that stays one.
func (t *table) unrecord(o *object) {
	if o.record == 0 {
		return
	}
	o.key = append([]byte(nil), o.key...)
	t.arena.Release(o.record, int(o.recordSize))
	o.record = 0
	t.resized(o)
}
