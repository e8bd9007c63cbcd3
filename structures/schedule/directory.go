package schedule

import (
	"unsafe"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// directory finds the slot of a name. It is extendible hashing (Fagin,
// Nievergelt, Pippenger and Strong 1979): the first bits of a name's hash choose
// a bucket through dir, and a bucket that is full is split in two by one bit
// more. Buckets are small hash tables, so no insertion ever moves more than
// maxEntries names, regardless of their number: about half a millisecond.
//
//	hash    | first `depth` bits: dir | middle 32 bits: home in bucket | last 8: tag |
//	entry   | tag (8 bits) | slot (24 bits) |      0: free; a tag is never 0
//
// Entries do not hold the hash: the tag spares 254 of 255 comparisons, and a
// lookup that needs the rest reads the name. Collisions go to the next entry; a removal
// moves entries back, so there are no tombstones. An entry takes 5 to 8 bytes.
//
// Names of one hash share a bucket and are searched one by one. The hash has the
// store's key: clients choose names, and would choose such if they knew it.
type directory struct {
	names *names
	key   structures.HashKey
	depth uint // len(dir) is 1<<depth, or 0 before the first name
	dir   []*bucket
	used  int
	bytes int // of buckets

	// late: names are put without the directory, which is built at once when all are
	// there, or when one is sought. after is the next slot with a name from one on.
	late  bool
	twice bool // some name was found to have two slots then
	after func(slot int) int
}

type bucket struct {
	entries []uint32
	used    int32
	depth   uint8 // bits that all its names have in common
}

const (
	minEntries = 8
	// maxEntries is where a bucket is split rather than grown.
	maxEntries = 4096
	// maxDepth limits the splits, which would never end for names of the same
	// hash: 2^24 names need 2^13 buckets. A bucket of that depth grows.
	maxDepth    = 15
	slotBits    = 24
	bucketBytes = int(unsafe.Sizeof(bucket{}))
)

// Every slot must fit an entry.
const _ = uint(1<<slotBits - scheduler.MaxNodes)

func tagOf(hash uint64) uint32 { return uint32(max(1, hash&0xff)) << slotBits }

// home is where the search for a hash begins.
func (b *bucket) home(hash uint64) int {
	return int(uint64(uint32(hash>>16)) * uint64(len(b.entries)) >> 32)
}

// full says that one name more would fill more than 4/5 of the bucket: linear
// probing for an absent name looks at 13 entries then.
func (b *bucket) full() bool { return 5*(int(b.used)+1) > 4*len(b.entries) }

// put adds an entry. The bucket must have a free one.
func (b *bucket) put(hash uint64, slot int) {
	i := b.home(hash)
	for b.entries[i] != 0 {
		if i++; i == len(b.entries) {
			i = 0
		}
	}
	b.entries[i] = tagOf(hash) | uint32(slot)
	b.used++
}

func (d *directory) hash(name []byte) uint64 { return d.key.Sum(name) }

func (d *directory) hashOf(slot int) uint64 { return d.key.SumString(d.names.of(slot)) }

func (d *directory) bucket(hash uint64) *bucket { return d.dir[d.position(hash)] }

// position is the place in dir of a hash. A shift by 64 gives 0.
func (d *directory) position(hash uint64) int { return int(hash >> (64 - d.depth)) }

// find is the slot of a name, if it has one.
func (d *directory) find(name []byte) (slot int, ok bool) {
	d.build()
	if d.used == 0 {
		return 0, false
	}
	hash := d.hash(name)
	b := d.bucket(hash)
	if i, ok := d.seek(b, hash, unsafe.String(unsafe.SliceData(name), len(name))); ok {
		return slotOfEntry(b.entries[i]), true
	}
	return 0, false
}

// has says whether a name is known to have a slot; build finds the others.
func (d *directory) has(name []byte) bool {
	if d.late {
		return false
	}
	_, ok := d.find(name)
	return ok
}

// seek is where a name is in its bucket, or the free entry that it would be put into.
func (d *directory) seek(b *bucket, hash uint64, name string) (i int, ok bool) {
	tag := tagOf(hash)
	for i = b.home(hash); b.entries[i] != 0; {
		if e := b.entries[i]; e&^(1<<slotBits-1) == tag && d.names.of(slotOfEntry(e)) == name {
			return i, true
		}
		if i++; i == len(b.entries) {
			i = 0
		}
	}
	return i, false
}

// postpone lets names be put without an entry until build, if there are none yet. Buckets
// that grow name by name hash each name four times, in an order that no cache likes.
func (d *directory) postpone() { d.late = d.late || d.used == 0 }

// build makes the buckets of names that were put without, each of the size that suits it,
// and is over at once if there are none. Twice says whether a name came again.
func (d *directory) build() {
	if !d.late {
		return
	}
	d.late = false
	total := 0
	for slot := d.after(0); slot >= 0; slot = d.after(slot + 1) {
		total++
	}
	if total == 0 {
		return
	}
	for d.depth = 0; total>>d.depth > builtEntries && d.depth < maxDepth; {
		d.depth++
	}
	counts := make([]int32, 1<<d.depth)
	for slot := d.after(0); slot >= 0; slot = d.after(slot + 1) {
		counts[d.position(d.hashOf(slot))]++
	}
	d.dir = make([]*bucket, len(counts))
	for i, count := range counts {
		d.dir[i] = d.bucketFor(int(count), uint8(d.depth))
	}
	for slot := d.after(0); slot >= 0; slot = d.after(slot + 1) {
		name := d.names.of(slot)
		hash := d.key.SumString(name)
		b := d.bucket(hash)
		i, again := d.seek(b, hash, name)
		if again {
			d.twice = true
			continue
		}
		b.entries[i] = tagOf(hash) | uint32(slot)
		b.used++
		d.used++
	}
}

// builtEntries is how many names a bucket gets: they are not enough, by chance either, to
// split it, and some more have room.
const builtEntries = maxEntries / 2

// insert adds the slot of a name that has none. The names need not know the
// name yet.
func (d *directory) insert(name []byte, slot int) {
	if d.late {
		return
	}
	hash := d.hash(name)
	if d.dir == nil {
		d.depth, d.dir = 0, []*bucket{d.bucketFor(0, 0)}
	}
	for d.bucket(hash).full() {
		d.extend(hash)
	}
	d.bucket(hash).put(hash, slot)
	d.used++
}

// roomFor is the size of a bucket that has room for n names and one more: a power
// of two, or three quarters of one.
func roomFor(n int) int {
	size := minEntries
	for 5*(n+1) > 4*size {
		if size&(size-1) == 0 {
			size += size / 2
		} else {
			size += size / 3
		}
	}
	return size
}

func (d *directory) bucketFor(n int, depth uint8) *bucket {
	b := &bucket{entries: make([]uint32, roomFor(n)), depth: depth}
	d.bytes += bucketBytes + 4*len(b.entries)
	return b
}

// place makes b the bucket of all hashes that share its bits with hash.
func (d *directory) place(hash uint64, b *bucket) {
	shift := d.depth - uint(b.depth)
	first := d.position(hash) >> shift << shift
	for i := range 1 << shift {
		d.dir[first+i] = b
	}
}

// extend makes room in the full bucket of a hash: it grows, or is split.
func (d *directory) extend(hash uint64) {
	b := d.bucket(hash)
	if len(b.entries) < maxEntries || b.depth == maxDepth {
		d.resize(hash, b)
		return
	}
	if uint(b.depth) == d.depth {
		wider := make([]*bucket, 2*len(d.dir))
		for i := range wider {
			wider[i] = d.dir[i/2]
		}
		d.dir, d.depth = wider, d.depth+1
	}
	bit := uint64(1) << (63 - b.depth)
	hashes, high := make([]uint64, len(b.entries)), 0
	for i, e := range b.entries {
		if e != 0 {
			if hashes[i] = d.hashOf(slotOfEntry(e)); hashes[i]&bit != 0 {
				high++
			}
		}
	}
	halves := [2]*bucket{d.bucketFor(int(b.used)-high, b.depth+1), d.bucketFor(high, b.depth+1)}
	for i, e := range b.entries {
		if e != 0 {
			halves[min(1, hashes[i]&bit)].put(hashes[i], slotOfEntry(e))
		}
	}
	d.bytes -= bucketBytes + 4*len(b.entries)
	d.place(hash&^bit, halves[0])
	d.place(hash|bit, halves[1])
}

func slotOfEntry(e uint32) int { return int(e & (1<<slotBits - 1)) }

// resize gives the bucket of a hash the size that suits what it holds.
func (d *directory) resize(hash uint64, old *bucket) {
	b := d.bucketFor(int(old.used), old.depth)
	for _, e := range old.entries {
		if e != 0 {
			b.put(d.hashOf(slotOfEntry(e)), slotOfEntry(e))
		}
	}
	d.bytes -= bucketBytes + 4*len(old.entries)
	d.place(hash, b)
}

// remove takes out the slot of a name, which the names must still know.
func (d *directory) remove(slot int) {
	if d.late {
		return
	}
	hash := d.hashOf(slot)
	b := d.bucket(hash)
	n := len(b.entries)
	i := b.home(hash)
	for b.entries[i] != tagOf(hash)|uint32(slot) {
		if i++; i == n {
			i = 0
		}
	}
	// Move back what would not be found across the gap.
	for j := i; ; {
		if j++; j == n {
			j = 0
		}
		e := b.entries[j]
		if e == 0 {
			break
		}
		home := b.home(d.hashOf(slotOfEntry(e)))
		if (j-home+n)%n >= (j-i+n)%n {
			b.entries[i] = e
			i = j
		}
	}
	b.entries[i] = 0
	b.used--
	if d.used--; d.used == 0 {
		d.depth, d.dir, d.bytes = 0, nil, 0
	} else if len(b.entries) > minEntries && 8*int(b.used) < len(b.entries) {
		d.resize(hash, b)
	}
}

// size is the memory held, in bytes.
func (d *directory) size() int { return d.bytes + 8*cap(d.dir) }
