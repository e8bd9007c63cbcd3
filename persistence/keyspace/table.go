package keyspace

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/vigildb/vigil/persistence/slab"
)

// A table maps the keys of one database in one shard to their values. It is an
// open addressed array kept in the order of the keys' hashes: the home of a slot
// is its hash scaled to the capacity, a slot lies at or behind its home with no
// gap between, and slots never wrap around the end. Three things follow. Growing
// copies 16-byte slots in order and hashes nothing. SCAN is a walk by hash that
// growth does not disturb. And the writeback meets keys in the order in which
// they lie on disk.
type slot struct {
	hash uint64
	meta uint64 // 0: empty
}

// SlotBytes is the size of a slot.
const SlotBytes = int64(unsafe.Sizeof(slot{}))

// The meta word of a slot, from its lowest bit:
//
//	location (34) | IsObject | Dirty | OnDisk | HasExpiry | Tombstone | Paged | touch (24)
//
// location is a slab location or, with IsObject, the index of an object.
// OnDisk says that Pebble has a copy once the batches under way are committed.
// Tombstone marks a deleted key whose disk copy may still exist; with OnDisk and
// Dirty the deletion has yet to be written, with neither it is under way. Paged
// says that the disk copy has pages. touch is the time of the last use in seconds,
// or for the LFU policies minutes (16) and a logarithmic counter (8).
const (
	LocationMask = 1<<slab.LocationBits - 1
	IsObject     = 1 << (slab.LocationBits + iota - 1)
	Dirty        = 1 << (slab.LocationBits + iota - 1)
	OnDisk       = 1 << (slab.LocationBits + iota - 1)
	HasExpiry    = 1 << (slab.LocationBits + iota - 1)
	Tombstone    = 1 << (slab.LocationBits + iota - 1)
	Paged        = 1 << (slab.LocationBits + iota - 1)
	TouchShift   = slab.LocationBits + 6
	TouchMask    = 1<<(64-TouchShift) - 1
	countedFlags = Dirty | OnDisk | HasExpiry | Tombstone
)

// Table is guarded by the mutex of its shard.
type Table struct {
	Phys     uint32   // physical database
	capacity int      // homes; slots has some more for what overflows at the end
	Used     int      // slots that are not empty
	expected int      // how many may be used soon, for a replay; else 0
	slots    []slot   // outside the Go heap once it is big
	mapped   []byte   // the memory of slots if it is
	fill     []uint16 // slots of each block, see crowded.go; else nil
	arena    slab.Arena
	objects  []*Object // index 0 is never used
	freed    []uint32  // free indexes of objects
	timed    timetable // objects with parts that expire
	alarms   alarms    // records with parts that expire
	blessed  map[string]struct{}

	mem     *int64 // the shard's account of bytes
	Scratch []byte // for keys of the disk

	// Resident: every key of this table that is on disk is in memory too.
	Resident bool
	Disk     int64 // keys on disk, once the batches under way are committed
	memOnly  int   // live keys that are not on disk
	tombs    int   // tombstones of keys on disk
	Dirty    int   // slots to be written
	Expiring int   // live slots with an expiry

	// No key expires before NextExpiry, and none that was given its expiry since
	// the cycle began to walk the table before NewExpiry, which is not earlier.
	NextExpiry, NewExpiry int64

	// Slots with a hash in [batchLow, BatchHigh] belong to a batch that is not
	// committed yet and must stay in memory.
	batchLow, BatchHigh uint64
	batched             bool

	// Epoch changes when the disk may change under the table: code that reads
	// the disk without the lock compares it before and after.
	Epoch uint64
	// Lost counts the values that were dropped from memory because the disk has
	// them.
	Lost uint64
	// Assumed: that some keys are on disk is assumed by the replay; Sought counts
	// its look-ups.
	Assumed bool
	Sought  int
	// Dropped: a flush took the table out; its memory is about to go.
	Dropped bool
}

// NewTable returns an empty table for a physical database with so many keys on disk. Its records are in p.
// It keeps mem, the bytes of its shard, up to date.
func NewTable(phys uint32, p *slab.Pool, mem *int64, disk int64) *Table {
	return &Table{Phys: phys, arena: slab.NewArena(p, mem), mem: mem, Disk: disk, Resident: disk == 0,
		NextExpiry: math.MaxInt64, NewExpiry: math.MaxInt64}
}

// InBatch reports that a batch under way may hold the key of a hash.
func (t *Table) InBatch(hash uint64) bool {
	return t.batched && hash >= t.batchLow && hash <= t.BatchHigh
}

// BeginBatch notes that a batch has keys of the table from a hash on.
func (t *Table) BeginBatch(hash uint64) { t.batched, t.batchLow, t.BatchHigh = true, hash, hash }

// BatchTo notes that the batch has keys up to a hash, if it is not further.
func (t *Table) BatchTo(hash uint64) { t.BatchHigh = max(t.BatchHigh, hash) }

// EndBatch notes that the batch is committed.
func (t *Table) EndBatch() {
	t.batched = false
	t.Epoch++
}

// Places is the number of places that a slot may be at.
func (t *Table) Places() int { return len(t.slots) }

// Meta returns the meta word of slot i, 0 if it is empty.
func (t *Table) Meta(i int) uint64 { return t.slots[i].meta }

// HashAt returns the hash of slot i.
func (t *Table) HashAt(i int) uint64 { return t.slots[i].hash }

// Size is the number of live keys in memory and on disk.
func (t *Table) Size() int { return int(t.Disk) + t.memOnly - t.tombs }

// home is the first place a hash may lie at. The top 8 bits chose the shard.
func (t *Table) home(hash uint64) int {
	hi, _ := bits.Mul64(hash<<8, uint64(t.capacity))
	return int(hi)
}

// Find returns the slot of key, tombstone or not, or -1.
func (t *Table) Find(hash uint64, key []byte) int {
	if t.Used == 0 {
		return -1
	}
	if t.fill != nil {
		return t.findCrowded(hash, key)
	}
	for i := t.home(hash); ; i++ {
		s := t.slots[i]
		if s.meta == 0 || s.hash > hash {
			return -1
		}
		if s.hash == hash && string(t.Key(s.meta)) == string(key) {
			return i
		}
	}
}

// Seek returns the first slot with a hash of at least hash, or len(t.slots).
func (t *Table) Seek(hash uint64) int {
	if t.Used == 0 {
		return len(t.slots)
	}
	if t.fill != nil {
		return t.seekCrowded(hash)
	}
	i := t.home(hash)
	for i < len(t.slots) && (t.slots[i].meta == 0 || t.slots[i].hash < hash) {
		i++
	}
	return i
}

// insert adds a slot for a key that is not in the table and returns its place.
// Other slots may move.
func (t *Table) insert(hash, meta uint64) int {
	if t.fill != nil {
		return t.insertCrowded(hash, meta)
	}
	if t.Used >= t.capacity-t.capacity/8 {
		t.grow()
	}
	for {
		home := t.home(hash)
		i := home
		for t.slots[i].meta != 0 && t.slots[i].hash <= hash {
			i++
		}
		end := i
		for t.slots[end].meta != 0 {
			end++
		}
		if end-home > maxRun {
			t.crowd()
			return t.insertCrowded(hash, meta)
		}
		if end < len(t.slots)-1 { // the last slot stays empty: it ends every walk
			copy(t.slots[i+1:end+1], t.slots[i:end])
			t.slots[i] = slot{hash, meta}
			t.Used++
			t.count(meta, 1)
			return i
		}
		t.resize(t.capacity, 2*(len(t.slots)-t.capacity))
	}
}

// remove takes slot i out; its record or object must have been freed.
func (t *Table) remove(i int) {
	t.count(t.slots[i].meta, -1)
	t.Used--
	if t.fill != nil {
		t.removeCrowded(i)
		return
	}
	end := i + 1
	for t.slots[end].meta != 0 && t.home(t.slots[end].hash) < end {
		end++
	}
	copy(t.slots[i:end-1], t.slots[i+1:end])
	t.slots[end-1] = slot{}
}

// SetMeta changes the meta word of slot i and keeps the counts.
func (t *Table) SetMeta(i int, meta uint64) {
	old := t.slots[i].meta
	t.slots[i].meta = meta
	if (old^meta)&countedFlags != 0 {
		t.count(old, -1)
		t.count(meta, 1)
	}
}

// SetTouch says when, or how often, slot i was used.
func (t *Table) SetTouch(i int, touch uint64) {
	m := &t.slots[i].meta
	*m = *m&(1<<TouchShift-1) | touch<<TouchShift
}

func (t *Table) count(meta uint64, n int) {
	switch {
	case meta&Tombstone == 0 && meta&OnDisk == 0:
		t.memOnly += n
	case meta&Tombstone != 0 && meta&OnDisk != 0:
		t.tombs += n
	}
	if meta&Dirty != 0 {
		t.Dirty += n
	}
	if meta&HasExpiry != 0 {
		t.Expiring += n
	}
}

// Small tables double; bigger ones grow by three eighths, which costs a few
// more copies of 16 bytes and keeps the array three quarters full on average.
func (t *Table) grow() {
	capacity := t.capacity * 2
	if t.capacity >= 512 {
		capacity = t.capacity + t.capacity*3/8
	}
	capacity = max(capacity, 8, min(t.expected, MostExpected*t.capacity))
	t.resize(capacity, overflow(capacity))
}

// overflow is how many slots there are at first behind so many homes.
func overflow(capacity int) int { return min(8+capacity/16, 128) }

// MostExpected bounds by what factor a table grows at a time for slots that are only expected.
const MostExpected = 4

// Expect tells a table how many slots it gets if the rest of the journal adds as many as the part that was replayed so
// far. It then grows to that size at once, and not a dozen times, into memory that is new each time.
func (t *Table) Expect(part float64) {
	if t.expected = 0; part > 0 {
		t.expected = int(float64(t.Used) / part * 8 / 7)
	}
}

// Unexpect gives back what was expected, and did not come.
func (t *Table) Unexpect() {
	t.expected = 0
	fits := max(8, t.Used+t.Used/4)
	if t.fill == nil && t.capacity > 2*fits {
		t.resize(fits, overflow(fits))
	}
}

// mappedSlots is the size from which the array lives outside the Go heap.
const mappedSlots = 1024

// resize makes an array with so many homes and so many slots behind them for what
// the last homes cannot hold; if those are too few it takes more.
func (t *Table) resize(capacity, spare int) {
	old, oldMapped := t.slots, t.mapped
	n := capacity + spare
	t.allocate(n)
	*t.mem += int64(n-len(old)) * SlotBytes
	t.capacity = capacity
	next := 0
	for _, s := range old {
		if s.meta == 0 {
			continue
		}
		next = max(next, t.home(s.hash))
		if next >= n-1 { // a cluster at the very end
			t.Unmap()
			t.slots, t.mapped = old, oldMapped
			*t.mem -= int64(n-len(old)) * SlotBytes
			t.resize(capacity, 2*spare)
			return
		}
		t.slots[next] = s
		next++
	}
	if oldMapped != nil {
		slab.Unmap(oldMapped)
	}
}

// allocate makes an empty array; what was there is the caller's.
func (t *Table) allocate(n int) {
	t.mapped = nil
	if n < mappedSlots {
		t.slots = make([]slot, n)
		return
	}
	t.mapped = slab.Map(n * int(SlotBytes))
	t.slots = unsafe.Slice((*slot)(unsafe.Pointer(unsafe.SliceData(t.mapped))), n)
}

func (t *Table) Unmap() {
	if t.mapped != nil {
		slab.Unmap(t.mapped)
		t.mapped = nil
	}
}

// Drop frees everything; the table must not be used any more.
func (t *Table) Drop() {
	*t.mem -= int64(len(t.slots)) * SlotBytes
	for _, o := range t.objects {
		if o != nil {
			*t.mem -= int64(o.Size)
			o.Unpage()
		}
	}
	t.dropBlessed()
	t.Unmap()
	t.arena.ReleaseAll()
	t.slots, t.fill, t.objects, t.freed, t.timed, t.alarms, t.Used = nil, nil, nil, nil, nil, alarms{}, 0
}

// Spill drops a clean value from memory; the disk has it.
func (t *Table) Spill(i int) {
	t.free(t.Meta(i))
	t.remove(i)
	// The counts follow: what is on disk only is counted by disk alone.
	t.Resident = false
	t.Lost++
}

// Purge removes the tombstones of keys that the batch under way has deleted.
func (t *Table) Purge() {
	for i := t.Seek(t.batchLow); i < t.Places(); {
		meta := t.Meta(i)
		if meta != 0 && t.HashAt(i) > t.BatchHigh {
			return
		}
		if meta&(Tombstone|OnDisk|Dirty) == Tombstone {
			t.free(meta)
			t.remove(i)
			continue // another slot may have moved here
		}
		i++
	}
}
