package persistence

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
// growth does not disturb. And the materialiser meets keys in the order in which
// they lie on disk.
type slot struct {
	hash uint64
	meta uint64 // 0: empty
}

const slotBytes = int64(unsafe.Sizeof(slot{}))

// The meta word of a slot, from its lowest bit:
//
//	location (34) | object | dirty | onDisk | hasTTL | tombstone | paged | touch (24)
//
// location is a slab location or, with object, an index into table.objects.
// onDisk says that Pebble has a copy once the batches under way are committed.
// tombstone marks a deleted key whose disk copy may still exist; with onDisk and
// dirty the deletion has yet to be written, with neither it is under way. paged
// says that the disk copy has pages. touch is the time of the last use in seconds,
// or for the LFU policies minutes (16) and a logarithmic counter (8).
const (
	locationMask  = 1<<slab.LocationBits - 1
	metaObject    = 1 << (slab.LocationBits + iota - 1)
	metaDirty     = 1 << (slab.LocationBits + iota - 1)
	metaOnDisk    = 1 << (slab.LocationBits + iota - 1)
	metaTTL       = 1 << (slab.LocationBits + iota - 1)
	metaTombstone = 1 << (slab.LocationBits + iota - 1)
	metaPaged     = 1 << (slab.LocationBits + iota - 1)
	touchShift    = slab.LocationBits + 6
	touchMask     = 1<<(64-touchShift) - 1
	countedFlags  = metaDirty | metaOnDisk | metaTTL | metaTombstone
)

// table is guarded by the mutex of its shard.
type table struct {
	phys     uint32   // physical database
	capacity int      // homes; slots has some more for what overflows at the end
	used     int      // slots that are not empty
	expected int      // how many may be used soon, for a replay; else 0
	slots    []slot   // outside the Go heap once it is big
	mapped   []byte   // the memory of slots if it is
	fill     []uint16 // slots of each block, see table_crowded.go; else nil
	arena    slab.Arena
	objects  []*object // index 0 is never used
	freed    []uint32  // free indexes of objects
	timed    timetable // objects of which parts expire
	alarms   alarms    // records of which parts expire

	mem     *int64 // the shard's account of bytes
	scratch []byte // for keys of the disk

	// resident: every key of this table that is on disk is in memory too.
	resident bool
	disk     int64 // keys on disk, once the batches under way are committed
	memOnly  int   // live keys that are not on disk
	tombs    int   // tombstones of keys on disk
	dirty    int   // slots to be written
	ttls     int   // live slots with an expiry

	// No key expires before nextExpiry, and none that was given its expiry since
	// the cycle began to walk the table before newExpiry, which is not earlier.
	nextExpiry, newExpiry int64

	// flight: slots with a hash in [flightLow, flightHigh] belong to a batch that
	// is not committed yet and must stay in memory.
	flightLow, flightHigh uint64
	inFlight              bool

	// epoch changes when the disk may change under the table: code that reads
	// the disk without the lock compares it before and after.
	epoch uint64
	// lost counts the values that were dropped from memory because the disk has
	// them.
	lost uint64
	// assumed: that some keys are on disk is assumed by the replay; sought counts
	// its look-ups.
	assumed bool
	sought  int
	// dropped: a flush took the table out; its memory is about to go.
	dropped bool
}

func newTable(phys uint32, p *slab.Pool, mem *int64, disk int64) *table {
	return &table{phys: phys, arena: slab.NewArena(p, mem), mem: mem, disk: disk, resident: disk == 0,
		nextExpiry: math.MaxInt64, newExpiry: math.MaxInt64}
}

// flying reports that a batch under way may hold the key of a hash.
func (t *table) flying(hash uint64) bool {
	return t.inFlight && hash >= t.flightLow && hash <= t.flightHigh
}

// size is the number of live keys in memory and on disk.
func (t *table) size() int { return int(t.disk) + t.memOnly - t.tombs }

// home is the first place a hash may lie at. The top 8 bits chose the shard.
func (t *table) home(hash uint64) int {
	hi, _ := bits.Mul64(hash<<8, uint64(t.capacity))
	return int(hi)
}

// find returns the slot of key, tombstone or not, or -1.
func (t *table) find(hash uint64, key []byte) int {
	if t.used == 0 {
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
		if s.hash == hash && string(t.key(s.meta)) == string(key) {
			return i
		}
	}
}

// seek returns the first slot with a hash of at least hash, or len(t.slots).
func (t *table) seek(hash uint64) int {
	if t.used == 0 {
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
func (t *table) insert(hash, meta uint64) int {
	if t.fill != nil {
		return t.insertCrowded(hash, meta)
	}
	if t.used >= t.capacity-t.capacity/8 {
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
			t.used++
			t.count(meta, 1)
			return i
		}
		t.resize(t.capacity, 2*(len(t.slots)-t.capacity))
	}
}

// remove takes slot i out; its record or object must have been freed.
func (t *table) remove(i int) {
	t.count(t.slots[i].meta, -1)
	t.used--
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

// setMeta changes the meta word of slot i and keeps the counts.
func (t *table) setMeta(i int, meta uint64) {
	old := t.slots[i].meta
	t.slots[i].meta = meta
	if (old^meta)&countedFlags != 0 {
		t.count(old, -1)
		t.count(meta, 1)
	}
}

func (t *table) count(meta uint64, n int) {
	switch {
	case meta&metaTombstone == 0 && meta&metaOnDisk == 0:
		t.memOnly += n
	case meta&metaTombstone != 0 && meta&metaOnDisk != 0:
		t.tombs += n
	}
	if meta&metaDirty != 0 {
		t.dirty += n
	}
	if meta&metaTTL != 0 {
		t.ttls += n
	}
}

// Small tables double; bigger ones grow by three eighths, which costs a few
// more copies of 16 bytes and keeps the array three quarters full on average.
func (t *table) grow() {
	capacity := t.capacity * 2
	if t.capacity >= 512 {
		capacity = t.capacity + t.capacity*3/8
	}
	capacity = max(capacity, 8, min(t.expected, mostExpected*t.capacity))
	t.resize(capacity, overflow(capacity))
}

// overflow is how many slots there are at first behind so many homes.
func overflow(capacity int) int { return min(8+capacity/16, 128) }

// mostExpected bounds by what factor a table grows at a time for slots that are only expected.
const mostExpected = 4

// expect tells a table how many slots it gets if the rest of the journal adds as many as the part that was replayed so
// far. It then grows to that size at once, and not a dozen times, into memory that is new each time.
func (t *table) expect(part float64) {
	if t.expected = 0; part > 0 {
		t.expected = int(float64(t.used) / part * 8 / 7)
	}
}

// unexpect gives back what was expected, and did not come.
func (t *table) unexpect() {
	t.expected = 0
	fits := max(8, t.used+t.used/4)
	if t.fill == nil && t.capacity > 2*fits {
		t.resize(fits, overflow(fits))
	}
}

// mappedSlots is the size from which the array lives outside the Go heap.
const mappedSlots = 1024

// resize makes an array with so many homes and so many slots behind them for what
// the last homes cannot hold; if those are too few it takes more.
func (t *table) resize(capacity, spare int) {
	old, oldMapped := t.slots, t.mapped
	n := capacity + spare
	t.allocate(n)
	*t.mem += int64(n-len(old)) * slotBytes
	t.capacity = capacity
	next := 0
	for _, s := range old {
		if s.meta == 0 {
			continue
		}
		next = max(next, t.home(s.hash))
		if next >= n-1 { // a cluster at the very end
			t.unmap()
			t.slots, t.mapped = old, oldMapped
			*t.mem -= int64(n-len(old)) * slotBytes
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
func (t *table) allocate(n int) {
	t.mapped = nil
	if n < mappedSlots {
		t.slots = make([]slot, n)
		return
	}
	t.mapped = slab.Map(n * int(slotBytes))
	t.slots = unsafe.Slice((*slot)(unsafe.Pointer(unsafe.SliceData(t.mapped))), n)
}

func (t *table) unmap() {
	if t.mapped != nil {
		slab.Unmap(t.mapped)
		t.mapped = nil
	}
}

// drop frees everything; the table must not be used any more.
func (t *table) drop() {
	*t.mem -= int64(len(t.slots)) * slotBytes
	for _, o := range t.objects {
		if o != nil {
			*t.mem -= int64(o.size)
			o.unpage()
		}
	}
	t.unmap()
	t.arena.ReleaseAll()
	t.slots, t.fill, t.objects, t.freed, t.timed, t.alarms, t.used = nil, nil, nil, nil, nil, alarms{}, 0
}
