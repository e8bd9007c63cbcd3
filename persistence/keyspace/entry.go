package keyspace

import (
	"encoding/binary"
	"unsafe"

	"github.com/vigildb/vigil/persistence/slab"
	"github.com/vigildb/vigil/structures"
)

// A short string is a record in a slab:
//
//	key length (2), with recordCompact | value length (2) | [expiry in unix ms (8), with HasExpiry] | key | value
//
// The highest bit of the expiry is expiryIndexed.
//
// Small values of other types are records too, see compact.go. Everything else is
// an object. A tombstone is a record without value.

// Object is a value that does not fit a slab record, or is not a string.
type Object struct {
	Key    []byte
	Value  structures.Value // nil in a tombstone
	Expire int64            // unix ms, 0 none
	Size   int              // bytes accounted for it
	Alarm  int64            // when the alarm of its record goes off, 0 if there is none
	Pager  Pager            // of a large value, else nil
	Edit   *Edit            // open edit of the transaction that holds the shard

	// Record is where the value rested when the transaction began, 0 if it did
	// not; Key lies there then. Changed: the record is not what the object is.
	Record     uint64
	recordSize uint16
	Changed    bool

	// Whole: the disk has nothing of this value yet, or pages of another one.
	Whole     bool
	timed     int32  // place in the timetable, counted from 1; 0: nothing of it expires
	Parts     uint16 // encoded since the value was stored whole
	Indexed   bool   // expiryIndexed
	Candidate bool   // may become a record when the transaction that uses it ends
	Lifted    bool   // its value became another object's
	Recent    bool   // waits to become a record, see recent.go
}

// Pager reads pages of a large value that are on disk only.
type Pager interface {
	// Account is called when the size of the object has changed.
	Account()
	// Detach is called when the object goes, or its value becomes that of another one. All pages of such a value
	// are in memory.
	Detach()
}

// Unpage takes the pager away from an object.
func (o *Object) Unpage() {
	if p := o.Pager; p != nil {
		o.Pager = nil
		p.Detach()
	}
}

// ObjectOverhead is what an object costs besides its key and value: the struct,
// the pointer to it, and allocator rounding.
const ObjectOverhead = int(unsafe.Sizeof(Object{})) + 32

// recordSize is the length of a record.
func recordSize(key, value int, expire int64) int {
	n := 4 + key + value
	if expire != 0 {
		n += 8
	}
	return n
}

// Inline reports that a string is kept in a slab record.
func Inline(key, value int) bool { return 12+key+value <= slab.MaxRecord }

// Parts splits the record of an inline slot. The slices alias the slab.
func (t *Table) Parts(meta uint64) (key, value []byte, expire int64) {
	p := t.arena.At(meta & LocationMask)
	k, v := int(*(*uint16)(p)&keyLengthMask), int(*(*uint16)(unsafe.Add(p, 2)))
	at := 4
	if meta&HasExpiry != 0 {
		expire = int64(binary.NativeEndian.Uint64(expiryOf(p)) &^ expiryIndexed)
		at = 12
	}
	b := unsafe.Slice((*byte)(unsafe.Add(p, at)), k+v)
	return b[:k:k], b[k:], expire
}

// Key returns the key of a slot. It aliases the slab or the object.
func (t *Table) Key(meta uint64) []byte {
	if meta&IsObject != 0 {
		return t.objects[meta&LocationMask].Key
	}
	p := t.arena.At(meta & LocationMask)
	at := 4
	if meta&HasExpiry != 0 {
		at = 12
	}
	return unsafe.Slice((*byte)(unsafe.Add(p, at)), int(*(*uint16)(p)&keyLengthMask))
}

// Expire returns the expiry of a slot in unix ms, 0 if it has none.
func (t *Table) Expire(meta uint64) int64 {
	if meta&HasExpiry == 0 {
		return 0
	}
	if meta&IsObject != 0 {
		return t.objects[meta&LocationMask].Expire
	}
	_, _, expire := t.Parts(meta)
	return expire
}

// Object returns the object of a slot, nil if it is a record or empty.
func (t *Table) Object(meta uint64) *Object {
	if meta&IsObject == 0 {
		return nil
	}
	return t.objects[meta&LocationMask]
}

// writeRecord allocates and fills a record and returns its location.
func (t *Table) writeRecord(key, value []byte, expire int64) uint64 {
	loc := t.arena.Alloc(recordSize(len(key), len(value), expire))
	t.fillRecord(loc, key, value, expire)
	return loc
}

// fillRecord writes a record. key and value may alias what lies there if the
// record keeps its layout.
func (t *Table) fillRecord(loc uint64, key, value []byte, expire int64) {
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
func (t *Table) ttlBit(expire int64) uint64 {
	if expire == 0 {
		return 0
	}
	if expire < t.NewExpiry {
		t.NewExpiry = expire
		t.NextExpiry = min(t.NextExpiry, expire)
	}
	return HasExpiry
}

// AddInline inserts a short string under a key that has no slot.
func (t *Table) AddInline(hash uint64, key, value []byte, expire int64, flags uint64) int {
	return t.insert(hash, t.writeRecord(key, value, expire)|t.ttlBit(expire)|flags)
}

// SetInline makes slot i a short string with the given expiry, keeping the
// flags about its disk copy and its touch. value may alias the old record.
func (t *Table) SetInline(i int, key, value []byte, expire int64) {
	meta := t.slots[i].meta
	if meta&(IsObject|Tombstone) == 0 {
		oldKey, oldValue, oldExpire := t.Parts(meta)
		oldSize := recordSize(len(oldKey), len(oldValue), oldExpire)
		keep := t.keepsIndex(meta, expire)
		size := recordSize(len(key), len(value), expire)
		sameLayout := (expire != 0) == (oldExpire != 0)
		if sameLayout && slab.Class(oldSize) == slab.Class(size) {
			p := t.arena.At(meta & LocationMask)
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
			t.SetIndexed(loc | HasExpiry)
		}
		t.arena.Release(meta&LocationMask, oldSize)
		t.SetMeta(i, meta&^(LocationMask|HasExpiry)|loc|t.ttlBit(expire))
		return
	}
	loc := t.writeRecord(key, value, expire)
	if t.keepsIndex(meta, expire) != 0 {
		t.SetIndexed(loc | HasExpiry)
	}
	t.free(meta)
	t.SetMeta(i, meta&^(LocationMask|IsObject|HasExpiry|Tombstone)|loc|t.ttlBit(expire))
}

// AddObject inserts an object under a key that has no slot. key is kept.
func (t *Table) AddObject(hash uint64, o *Object, flags uint64) int {
	return t.insert(hash, t.hold(o)|IsObject|t.ttlBit(o.Expire)|flags)
}

// SetObject makes o the content of slot i.
func (t *Table) SetObject(i int, o *Object) {
	meta := t.slots[i].meta
	o.Indexed = t.keepsIndex(meta, o.Expire) != 0
	loc := t.hold(o)
	t.free(meta)
	t.SetMeta(i, meta&^(LocationMask|HasExpiry|Tombstone)|loc|IsObject|t.ttlBit(o.Expire))
}

// hold accounts for an object, and returns its index.
func (t *Table) hold(o *Object) uint64 {
	o.Size = len(o.Key) + ObjectOverhead
	if o.Value != nil {
		o.Size += o.Value.Size()
	}
	*t.mem += int64(o.Size)
	if o.Pager != nil {
		o.Pager.Account()
	}
	t.schedule(o)
	return t.put(o)
}

// put gives an object an index, without accounting for it.
func (t *Table) put(o *Object) uint64 {
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

// vacate makes the index of an object free for another one.
func (t *Table) vacate(at uint64) {
	t.objects[at] = nil
	t.freed = append(t.freed, uint32(at))
}

// Has reports that o is still the object at an index.
func (t *Table) Has(at uint64, o *Object) bool {
	return at < uint64(len(t.objects)) && t.objects[at] == o
}

// Resized brings the accounts of an object up to date with its changed value.
func (t *Table) Resized(o *Object) {
	size := len(o.Key) + ObjectOverhead + o.Value.Size()
	*t.mem += int64(size - o.Size)
	o.Size = size
	if o.Pager != nil {
		o.Pager.Account()
	}
	t.schedule(o)
}

// free releases the record or object of a meta word.
func (t *Table) free(meta uint64) {
	at := meta & LocationMask
	if meta&IsObject != 0 {
		o := t.objects[at]
		*t.mem -= int64(o.Size)
		t.unschedule(o)
		o.Unpage()
		if o.Record != 0 {
			t.arena.Release(o.Record, int(o.recordSize))
		}
		t.vacate(at)
		return
	}
	key, value, expire := t.Parts(meta)
	t.arena.Release(at, recordSize(len(key), len(value), expire))
}

// Erase removes a live key: its slot, or, if the disk has a copy, its value,
// leaving a dirty tombstone. If the disk is just losing its copy a tombstone
// that is not dirty hides that until it has.
func (t *Table) Erase(i int) {
	meta := t.slots[i].meta
	t.Bless(t.Key(meta), false)
	flags := uint64(Tombstone)
	switch {
	case meta&OnDisk != 0:
		flags |= meta&(OnDisk|Paged) | Dirty
	case !t.InBatch(t.slots[i].hash):
		t.free(meta)
		t.remove(i)
		return
	}
	if o := t.Object(meta); o != nil && !Inline(len(o.Key), 0) {
		t.free(meta)
		t.SetMeta(i, t.hold(&Object{Key: o.Key})|IsObject|flags)
		return
	}
	loc := t.writeRecord(t.Key(meta), nil, 0)
	t.free(meta)
	t.SetMeta(i, loc|flags)
}

// AddTombstone inserts the dirty tombstone of a key that only the disk has.
func (t *Table) AddTombstone(hash uint64, key []byte, paged bool) {
	t.Bless(key, false)
	flags := uint64(Tombstone | OnDisk | Dirty)
	if paged {
		flags |= Paged
	}
	if Inline(len(key), 0) {
		t.insert(hash, t.writeRecord(key, nil, 0)|flags)
		return
	}
	t.insert(hash, t.hold(&Object{Key: append([]byte(nil), key...)})|IsObject|flags)
}

// expiryIndexed says of an expiry that the index has an entry at it or before,
// once the batches under way are committed.
const expiryIndexed = 1 << 63

// expiryOf is the expiry of the record at p, if it has one.
func expiryOf(p unsafe.Pointer) []byte { return unsafe.Slice((*byte)(unsafe.Add(p, 4)), 8) }

// Indexed is expiryIndexed of a slot with an expiry.
func (t *Table) Indexed(meta uint64) bool {
	if meta&IsObject != 0 {
		return t.objects[meta&LocationMask].Indexed
	}
	return binary.NativeEndian.Uint64(expiryOf(t.arena.At(meta&LocationMask)))&expiryIndexed != 0
}

// SetIndexed sets it.
func (t *Table) SetIndexed(meta uint64) {
	if meta&IsObject != 0 {
		t.objects[meta&LocationMask].Indexed = true
		return
	}
	b := expiryOf(t.arena.At(meta & LocationMask))
	binary.NativeEndian.PutUint64(b, binary.NativeEndian.Uint64(b)|expiryIndexed)
}

// keepsIndex is expiryIndexed if a slot has that and still has it with another
// expiry: one that is not earlier.
func (t *Table) keepsIndex(meta uint64, expire int64) uint64 {
	if meta&HasExpiry == 0 || expire == 0 || !t.Indexed(meta) || expire < t.Expire(meta) {
		return 0
	}
	return expiryIndexed
}

// SetExpire gives a live slot another expiry, 0 for none.
func (t *Table) SetExpire(i int, expire int64) {
	meta := t.slots[i].meta
	if o := t.Object(meta); o != nil {
		o.Indexed = t.keepsIndex(meta, expire) != 0
		o.Expire, o.Changed = expire, true
		t.SetMeta(i, meta&^HasExpiry|t.ttlBit(expire))
		return
	}
	compact := t.IsCompact(meta)
	key, value, _ := t.Parts(meta)
	t.SetInline(i, key, value, expire)
	if compact {
		t.markCompact(t.slots[i].meta & LocationMask)
	}
}

// Kind returns the type of what a live slot holds.
func (t *Table) Kind(meta uint64) structures.Kind {
	if o := t.Object(meta); o != nil {
		return o.Value.Kind()
	}
	if t.IsCompact(meta) {
		_, value, _ := t.Parts(meta)
		return structures.Kind(value[0])
	}
	return structures.KindString
}

// Memory estimates the bytes that a live slot takes with its key and value.
func (t *Table) Memory(meta uint64) int64 {
	if o := t.Object(meta); o != nil {
		if o.Record != 0 {
			return int64(slab.RecordBytes(int(o.recordSize))) + SlotBytes
		}
		return int64(o.Size) + SlotBytes
	}
	k, v, expire := t.Parts(meta)
	return int64(slab.RecordBytes(recordSize(len(k), len(v), expire))) + SlotBytes
}
