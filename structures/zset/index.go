package zset

import (
	"fmt"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// index finds the leaf of a member by the member's hash. It is a table of buckets,
// each of the hashes that begin with some bits (Fagin et al., Extendible Hashing,
// 1979): it grows by the split of one bucket, and never as a whole.
//
// An entry is 32 bits of hash << 32 | number of the leaf + 1; 0 is a free place. Two
// members with the same 32 bits in one leaf have two entries that are the same.
type index struct {
	buckets []*bucket // by the first depth bits of the hash
	depth   uint8
	paged   bool // buckets are pages, of a set that is indexed
	memory  int  // of buckets
	pages   paged.Incremental[*bucket]
	leaves  *leaves // that it finds members in
}

// bucket is an open-addressing table with linear probing.
type bucket struct {
	slots  []uint64
	prefix uint32 // the bits of the hash that all of its entries have in common
	used   uint32
	depth  uint8 // how many bits
	paged.DeltaState
	written int // ops that were written
	// ops is what changed since the page was written, and if the bucket is evicted what
	// may not be on disk yet: entries, those that are gone with entryGone.
	ops    []uint64
	filter structures.Filter // of hashes if it is evicted; nil: nothing is known of them
}

const (
	bucketSize = int(unsafe.Sizeof(bucket{}))
	// A bucket doubles between these two, and is split then.
	leastBucket = 16
	mostBucket  = 512
	// bucketGain bounds the changes of a bucket in memory until its page is written whole.
	bucketGain = mostBucket / 8
	// It is full at 13/16, where a member that is not there takes some 15 looks.
	fullNumerator, fullDenominator = 13, 16
	// maxDepth leaves the low bits of a hash, by which a bucket is addressed.
	maxDepth = 22
)

// newIndex returns an index with room for some entries.
func newIndex(of *leaves, count int) *index {
	x := &index{leaves: of}
	x.pages.Pager = of.pages.Pager
	size := leastBucket
	for count*fullDenominator > size*fullNumerator && size < mostBucket {
		size *= 2
	}
	for count>>x.depth > mostBucket*3/4 && x.depth < maxDepth {
		x.depth++
	}
	x.buckets = make([]*bucket, 1<<x.depth)
	for i := range x.buckets {
		x.buckets[i] = x.newBucket(uint32(uint64(i)<<(32-x.depth)), x.depth, size)
	}
	return x
}

func (x *index) newBucket(prefix uint32, depth uint8, size int) *bucket {
	x.memory += bucketSize + size*8
	return &bucket{prefix: prefix, depth: depth, slots: make([]uint64, size)}
}

func (x *index) size() int { return x.memory + (cap(x.buckets)+cap(x.pages.Gone))*8 }

func (x *index) bucket(hash uint32) *bucket {
	return x.buckets[uint64(hash)<<x.depth>>32]
}

// each visits buckets in the order of hashes, from that of a hash on, until visit
// returns false.
func (x *index) each(hash uint32, visit func(bk *bucket) bool) {
	at := uint64(hash)
	for at < 1<<32 {
		bk := x.bucket(uint32(at))
		if !visit(bk) {
			return
		}
		at = uint64(bk.prefix) + 1<<(32-bk.depth)
	}
}

// put adds an entry.
func (x *index) put(hash, num uint32) {
	s, e := x.bucket(hash), uint64(hash)<<32|uint64(num+1)
	if s.Evicted {
		s.used++
		x.note(s, e)
		return
	}
	for int(s.used+1)*fullDenominator > len(s.slots)*fullNumerator {
		s = x.grow(s, hash)
	}
	twin := x.paged && s.entry(hash, num) >= 0
	if s.put(e); twin {
		x.alter(s)
		return
	}
	x.note(s, e)
}

func (s *bucket) put(e uint64) {
	mask := len(s.slots) - 1
	at := int(e>>32) & mask
	for s.slots[at] != 0 {
		at = (at + 1) & mask
	}
	s.slots[at] = e
	s.used++
}

// entry returns the place of an entry, -1 if there is none.
func (s *bucket) entry(hash, num uint32) int {
	mask := len(s.slots) - 1
	want := uint64(hash)<<32 | uint64(num+1)
	for at := int(hash) & mask; s.slots[at] != 0; at = (at + 1) & mask {
		if s.slots[at] == want {
			return at
		}
	}
	return -1
}

// move makes an entry point to another leaf. An entry is missing only if pages are spoilt.
func (x *index) move(hash, from, to uint32) {
	s := x.bucket(hash)
	before, now := uint64(hash)<<32|uint64(from+1), uint64(hash)<<32|uint64(to+1)
	if s.Evicted {
		x.note(s, before|entryGone)
		x.note(s, now)
		return
	}
	at := s.entry(hash, from)
	if at < 0 {
		return
	}
	twin := x.paged && s.entry(hash, to) >= 0
	s.slots[at] = now
	if twin || x.paged && s.entry(hash, from) >= 0 {
		x.alter(s)
		return
	}
	x.note(s, before|entryGone)
	x.note(s, now)
}

// remove removes an entry of a bucket in memory. Only of spoilt pages it is not there.
func (x *index) remove(hash, num uint32) {
	s := x.bucket(hash)
	hole := s.entry(hash, num)
	if hole < 0 {
		return
	}
	if s.takeOut(hole); x.paged && s.entry(hash, num) >= 0 {
		x.alter(s)
	} else {
		x.note(s, uint64(hash)<<32|uint64(num+1)|entryGone)
	}
	if len(s.slots) > leastBucket && int(s.used) < len(s.slots)/8 {
		x.resize(s, len(s.slots)/4)
	}
}

// alter notes that the page of a bucket, which is in memory, is to be written whole.
func (x *index) alter(s *bucket) {
	if x.paged {
		x.pages.Alter(x.paging(), s)
		x.dropOps(s)
	}
}

// note notes what changed in a bucket: an entry is there, or gone. One that the disk does not have is to be written whole
// already.
func (x *index) note(s *bucket, e uint64) {
	if !x.paged {
		return
	}
	if s.Whole || len(s.ops)-s.written > bucketGain && !s.Evicted {
		x.alter(s)
		return
	}
	before, due := cap(s.ops), s.cost()
	s.ops, s.Dirty = append(s.ops, e), true
	x.memory += (cap(s.ops) - before) * 8
	x.pages.Due += s.cost() - due
}

// dropOps forgets what changed in a bucket.
func (x *index) dropOps(s *bucket) {
	x.memory -= cap(s.ops) * 8
	s.ops, s.written = nil, 0
}

// pin makes sure that a bucket is in memory, which fails if it cannot be read.
func (x *index) pin(s *bucket) bool {
	return s.Recent || x.pages.Pin(x.paging(), s.id(), s)
}

// known returns an error if entries of a bucket tell of leaves that are not there.
func (x *index) known(s *bucket, slots []uint64) error {
	for _, e := range slots {
		if e != 0 && x.leaves.named(e) == nil {
			return fmt.Errorf("page %x of the index of a sorted set tells of page %d: %w", s.id(), uint32(e)-1, structures.ErrCorrupt)
		}
	}
	return nil
}

// resize gives a bucket another number of places.
func (x *index) resize(s *bucket, size int) {
	old := s.slots
	x.memory += (size - len(old)) * 8
	s.slots, s.used = make([]uint64, size), 0
	for _, e := range old {
		if e != 0 {
			s.put(e)
		}
	}
}

// grow gives a bucket more places, or makes two of it. It returns that of the hash.
func (x *index) grow(s *bucket, hash uint32) *bucket {
	if len(s.slots) < mostBucket || s.depth >= maxDepth {
		x.resize(s, 2*len(s.slots))
		return s
	}
	if s.depth == x.depth {
		twice := make([]*bucket, 2*len(x.buckets))
		for i, s := range x.buckets {
			twice[2*i], twice[2*i+1] = s, s
		}
		x.buckets = twice
		x.depth++
	}
	depth := s.depth + 1
	halves := [2]*bucket{x.newBucket(s.prefix, depth, mostBucket),
		x.newBucket(s.prefix|1<<(32-depth), depth, mostBucket)}
	for _, e := range s.slots {
		if e != 0 {
			halves[e>>(64-depth)&1].put(e)
		}
	}
	x.memory -= bucketSize + len(s.slots)*8
	x.pages.Remove(x.paging(), s.id(), s)
	x.dropOps(s)
	x.alter(halves[0])
	x.alter(halves[1])
	// The places in the table of those that have the prefix of the bucket.
	width := 1 << (x.depth - s.depth)
	first := int(uint64(hash)<<x.depth>>32) &^ (width - 1)
	for i := range width {
		x.buckets[first+i] = halves[i*2/width]
	}
	return x.bucket(hash)
}
