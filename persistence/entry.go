package persistence

import (
	"encoding/binary"
	"unsafe"

	"github.com/vigildb/vigil/persistence/slab"
	"github.com/vigildb/vigil/structures"
)

// A short string is a record in a slab:
//
//	key length (2), with recordCompact | value length (2) | [expiry in unix ms (8), if metaTTL] | key | value
//
// The highest bit of the expiry is expiryIndexed.
//
// Small values of other types are records too, see compact.go. Everything else is
// an object. A tombstone is a record without value.

// object is a value that does not fit a slab record, or is not a string.
type object struct {
	key    []byte
	value  structures.Value // nil in a tombstone
	expire int64            // unix ms, 0 none
	size   int              // bytes accounted for it
	// whole: the disk has nothing of this value yet, or pages of another one.
	whole bool
	parts uint16 // encoded since the value was stored whole, see parts.go
	// indexed is expiryIndexed.
	indexed bool
	pager   *pager // of a large value, else nil
	timed   int32  // place in table.timed, counted from 1; 0: nothing of it expires
	alarm   int64  // when the alarm of its record goes off, 0 if there is none
	edit    *edit  // open edit of the transaction that holds the shard

	// record is where the value rested when the transaction began, 0 if it did
	// not; key lies there then. changed: the record is not what the object is.
	record     uint64
	recordSize uint16
	changed    bool
	loose      bool // stands in Tx.loose
	lifted     bool // its value became another object's
	recent     bool // stands in shard.recent
}

// objectOverhead is what an object costs besides its key and value: the struct,
// the pointer to it, and allocator rounding.
const objectOverhead = int(unsafe.Sizeof(object{})) + 32

func recordSize(key, value int, expire int64) int {
	n := 4 + key + value
	if expire != 0 {
		n += 8
	}
	return n
}

// inline reports that a string is kept in a slab record.
func inline(key, value int) bool { return 12+key+value <= slab.MaxRecord }

// parts splits the record of an inline slot. The slices alias the slab.
func (t *table) parts(meta uint64) (key, value []byte, expire int64) {
	p := t.arena.At(meta & locationMask)
	k, v := int(*(*uint16)(p)&keyLengthMask), int(*(*uint16)(unsafe.Add(p, 2)))
	at := 4
	if meta&metaTTL != 0 {
		expire = int64(binary.NativeEndian.Uint64(expiryOf(p)) &^ expiryIndexed)
		at = 12
	}
	b := unsafe.Slice((*byte)(unsafe.Add(p, at)), k+v)
	return b[:k:k], b[k:], expire
}

// key returns the key of a slot. It aliases the slab or the object.
func (t *table) key(meta uint64) []byte {
	if meta&metaObject != 0 {
		return t.objects[meta&locationMask].key
	}
	p := t.arena.At(meta & locationMask)
	at := 4
	if meta&metaTTL != 0 {
		at = 12
	}
	return unsafe.Slice((*byte)(unsafe.Add(p, at)), int(*(*uint16)(p)&keyLengthMask))
}

// expire returns the expiry of a slot in unix ms, 0 if it has none.
func (t *table) expire(meta uint64) int64 {
	if meta&metaTTL == 0 {
		return 0
	}
	if meta&metaObject != 0 {
		return t.objects[meta&locationMask].expire
	}
	_, _, expire := t.parts(meta)
	return expire
}

func (t *table) object(meta uint64) *object {
	if meta&metaObject == 0 {
		return nil
	}
	return t.objects[meta&locationMask]
}

// writeRecord allocates and fills a record and returns its location.
func (t *table) writeRecord(key, value []byte, expire int64) uint64 {
	loc := t.arena.Alloc(recordSize(len(key), len(value), expire))
	t.fillRecord(loc, key, value, expire)
	return loc
}

// fillRecord writes a record. key and value may alias what lies there if the
// record keeps its layout.
func (t *table) fillRecord(loc uint64, key, value []byte, expire int64) {
	p := t.arena.At(loc)
	b := unsafe.Slice((*byte)(p), recordSize(len(key), len(value), expire))
	*(*uint16)(p), *(*uint16)(unsafe.Add(p, 2)) = uint16(len(key)), uint16(len(value))
	at := 4
	if expire != 0 {
		binary.NativeEndian.PutUint64(b[4:], uint64(expire))
		at = 12
	}
	copy(b[at:], key)
	copy(b[at+len(key):], value)
}

// ttlBit returns the meta bit for an expiry that a key gets.
func (t *table) ttlBit(expire int64) uint64 {
	if expire == 0 {
		return 0
	}
	if expire < t.newExpiry {
		t.newExpiry = expire
		t.nextExpiry = min(t.nextExpiry, expire)
	}
	return metaTTL
}

// addInline inserts a short string under a key that has no slot.
func (t *table) addInline(hash uint64, key, value []byte, expire int64, flags uint64) int {
	return t.insert(hash, t.writeRecord(key, value, expire)|t.ttlBit(expire)|flags)
}

// setInline makes slot i a short string with the given expiry, keeping the
// flags about its disk copy and its touch. value may alias the old record.
func (t *table) setInline(i int, key, value []byte, expire int64) {
	meta := t.slots[i].meta
	if meta&(metaObject|metaTombstone) == 0 {
		oldKey, oldValue, oldExpire := t.parts(meta)
		oldSize := recordSize(len(oldKey), len(oldValue), oldExpire)
		keep := t.keepsIndex(meta, expire)
		size := recordSize(len(key), len(value), expire)
		sameLayout := (expire != 0) == (oldExpire != 0)
		if sameLayout && slab.Class(oldSize) == slab.Class(size) {
			p := t.arena.At(meta & locationMask)
			*(*uint16)(p), *(*uint16)(unsafe.Add(p, 2)) = uint16(len(key)), uint16(len(value))
			b := unsafe.Slice((*byte)(p), size)
			at := size - len(value)
			if expire != 0 {
				t.ttlBit(expire)
				binary.NativeEndian.PutUint64(b[4:], uint64(expire)|keep)
			}
			copy(b[at:], value)
			return
		}
		loc := t.writeRecord(key, value, expire)
		if keep != 0 {
			t.setIndexed(loc | metaTTL)
		}
		t.arena.Release(meta&locationMask, oldSize)
		t.setMeta(i, meta&^(locationMask|metaTTL)|loc|t.ttlBit(expire))
		return
	}
	loc := t.writeRecord(key, value, expire)
	if t.keepsIndex(meta, expire) != 0 {
		t.setIndexed(loc | metaTTL)
	}
	t.free(meta)
	t.setMeta(i, meta&^(locationMask|metaObject|metaTTL|metaTombstone)|loc|t.ttlBit(expire))
}

// addObject inserts an object under a key that has no slot. key is kept.
func (t *table) addObject(hash uint64, o *object, flags uint64) int {
	return t.insert(hash, t.hold(o)|metaObject|t.ttlBit(o.expire)|flags)
}

// setObject makes o the content of slot i.
func (t *table) setObject(i int, o *object) {
	meta := t.slots[i].meta
	o.indexed = t.keepsIndex(meta, o.expire) != 0
	loc := t.hold(o)
	t.free(meta)
	t.setMeta(i, meta&^(locationMask|metaTTL|metaTombstone)|loc|metaObject|t.ttlBit(o.expire))
}

func (t *table) hold(o *object) uint64 {
	o.size = len(o.key) + objectOverhead
	if o.value != nil {
		o.size += o.value.Size()
	}
	*t.mem += int64(o.size)
	if o.pager != nil {
		o.pager.account()
	}
	t.schedule(o)
	return t.put(o)
}

// put gives an object an index, without accounting for it.
func (t *table) put(o *object) uint64 {
	if n := len(t.freed); n > 0 {
		at := t.freed[n-1]
		t.freed = t.freed[:n-1]
		t.objects[at] = o
		return uint64(at)
	}
	if t.objects == nil {
		t.objects = append(t.objects, nil)
	}
	t.objects = append(t.objects, o)
	return uint64(len(t.objects) - 1)
}

// resized brings the accounts of an object up to date with its changed value.
func (t *table) resized(o *object) {
	size := len(o.key) + objectOverhead + o.value.Size()
	*t.mem += int64(size - o.size)
	o.size = size
	if o.pager != nil {
		o.pager.account()
	}
	t.schedule(o)
}

// free releases the record or object of a meta word.
func (t *table) free(meta uint64) {
	at := meta & locationMask
	if meta&metaObject != 0 {
		o := t.objects[at]
		*t.mem -= int64(o.size)
		t.unschedule(o)
		o.unpage()
		if o.record != 0 {
			t.arena.Release(o.record, int(o.recordSize))
		}
		t.objects[at] = nil
		t.freed = append(t.freed, uint32(at))
		return
	}
	key, value, expire := t.parts(meta)
	t.arena.Release(at, recordSize(len(key), len(value), expire))
}

// erase removes a live key: its slot, or, if the disk has a copy, its value,
// leaving a dirty tombstone. If the disk is just losing its copy a tombstone
// that is not dirty hides that until it has.
func (t *table) erase(i int) {
	meta := t.slots[i].meta
	flags := uint64(metaTombstone)
	switch {
	case meta&metaOnDisk != 0:
		flags |= meta&(metaOnDisk|metaPaged) | metaDirty
	case !t.flying(t.slots[i].hash):
		t.free(meta)
		t.remove(i)
		return
	}
	if o := t.object(meta); o != nil && !inline(len(o.key), 0) {
		t.free(meta)
		t.setMeta(i, t.hold(&object{key: o.key})|metaObject|flags)
		return
	}
	loc := t.writeRecord(t.key(meta), nil, 0)
	t.free(meta)
	t.setMeta(i, loc|flags)
}

// addGhost inserts the dirty tombstone of a key that only the disk has.
func (t *table) addGhost(hash uint64, key []byte, paged bool) {
	flags := uint64(metaTombstone | metaOnDisk | metaDirty)
	if paged {
		flags |= metaPaged
	}
	if inline(len(key), 0) {
		t.insert(hash, t.writeRecord(key, nil, 0)|flags)
		return
	}
	t.insert(hash, t.hold(&object{key: append([]byte(nil), key...)})|metaObject|flags)
}

// expiryIndexed says of an expiry that the index has an entry at it or before,
// once the batches under way are committed.
const expiryIndexed = 1 << 63

// expiryOf is the expiry of the record at p, if it has one.
func expiryOf(p unsafe.Pointer) []byte { return unsafe.Slice((*byte)(unsafe.Add(p, 4)), 8) }

// indexed is expiryIndexed of a slot with an expiry.
func (t *table) indexed(meta uint64) bool {
	if meta&metaObject != 0 {
		return t.objects[meta&locationMask].indexed
	}
	return binary.NativeEndian.Uint64(expiryOf(t.arena.At(meta&locationMask)))&expiryIndexed != 0
}

// setIndexed sets it.
func (t *table) setIndexed(meta uint64) {
	if meta&metaObject != 0 {
		t.objects[meta&locationMask].indexed = true
		return
	}
	b := expiryOf(t.arena.At(meta & locationMask))
	binary.NativeEndian.PutUint64(b, binary.NativeEndian.Uint64(b)|expiryIndexed)
}

// keepsIndex is expiryIndexed if a slot has that and still has it with another
// expiry: one that is not earlier.
func (t *table) keepsIndex(meta uint64, expire int64) uint64 {
	if meta&metaTTL == 0 || expire == 0 || !t.indexed(meta) || expire < t.expire(meta) {
		return 0
	}
	return expiryIndexed
}

// setExpire gives a live slot another expiry, 0 for none.
func (t *table) setExpire(i int, expire int64) {
	meta := t.slots[i].meta
	if o := t.object(meta); o != nil {
		o.indexed = t.keepsIndex(meta, expire) != 0
		o.expire, o.changed = expire, true
		t.setMeta(i, meta&^metaTTL|t.ttlBit(expire))
		return
	}
	compact := t.isCompact(meta)
	key, value, _ := t.parts(meta)
	t.setInline(i, key, value, expire)
	if compact {
		t.markCompact(t.slots[i].meta & locationMask)
	}
}
