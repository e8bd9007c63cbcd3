package cuckoo

import (
	"errors"
	"math/bits"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cells"
)

var (
	// ErrMemory is returned when the slots would exceed the bytes allowed.
	ErrMemory = errors.New("structures: cuckoo filter too large")
	// ErrParams is returned by Reserve for what is outside its range.
	ErrParams = errors.New("structures: cuckoo filter parameters out of range")
	// ErrBadHeader is returned for the header of a dump that a filter cannot have.
	ErrBadHeader = errors.New("structures: bad cuckoo filter header")
	// ErrBadChunk is returned for a chunk of a dump that has no place in the filter.
	ErrBadChunk = errors.New("structures: bad cuckoo filter chunk")
)

// Ranges of CF.RESERVE.
const (
	MaxCapacity   = 1 << 30
	MaxBucketSize = 255
	MaxIterations = 1<<16 - 1
	MaxExpansion  = 32768
	// MaxFilters is the most sub-filters that the header of a dump may have.
	MaxFilters = 1 << 16
)

// Filter is a cuckoo filter of one sub-filter or more, which are the arrays of its stack. A new one
// has none, and must be given its shape by Reserve or LoadHeader before anything else.
type Filter struct {
	cells.Stack
	buckets        uint64 // of the first sub-filter
	items, deletes uint64
	bucketSize     uint64
	iterations     uint64
	expansion      uint64

	path  []uint64 // slots that were swapped by kick, which are swapped back if it fails
	added []bool   // by Insert, for each item
	moves int      // that kick may yet make for nothing
}

// New returns a filter without sub-filters.
func New() *Filter { return &Filter{} }

// Shape is what CF.RESERVE asks for.
type Shape struct {
	Capacity   uint64 // slots of the first sub-filter, 2 * BucketSize to 2^30; rounded up
	BucketSize uint64 // slots of a bucket, 1 to 255
	Iterations uint64 // how often a fingerprint may be moved for another one, 1 to 65535
	// Expansion is the size of a sub-filter over that of the one before, 0 to 32768, rounded up to a
	// power of two. With 0 the filter does not grow.
	Expansion uint64
}

// Reserve makes the first sub-filter of a new filter. limit bounds its bytes. The errors are
// ErrParams and ErrMemory; the filter is then as new.
func (f *Filter) Reserve(ch *structures.Change, s Shape, limit uint64) error {
	if s.BucketSize < 1 || s.BucketSize > MaxBucketSize || s.Iterations < 1 || s.Iterations > MaxIterations ||
		s.Expansion > MaxExpansion || s.Capacity < 2*s.BucketSize || s.Capacity > MaxCapacity {
		return ErrParams
	}
	buckets := powerOfTwo(s.Capacity / s.BucketSize)
	if buckets*s.BucketSize > min(limit, cells.MaxBytes) {
		return ErrMemory
	}
	f.buckets, f.bucketSize, f.iterations, f.expansion = buckets, s.BucketSize, s.Iterations, s.Expansion
	if f.expansion > 0 {
		f.expansion = powerOfTwo(f.expansion)
	}
	f.Push(buckets * s.BucketSize)
	ch.Op(opReserve, 4)
	ch.Uint(s.Capacity)
	ch.Uint(s.BucketSize)
	ch.Uint(s.Iterations)
	ch.Uint(s.Expansion)
	return nil
}

// powerOfTwo returns the least power of two that is not below n, at least 1.
func powerOfTwo(n uint64) uint64 {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len64(n-1)
}

// hash is where an item may be: its two hashes, and the fingerprint that it leaves.
type hash struct {
	first, second uint64
	print         byte
}

// mixer spreads a fingerprint over the bits of a hash.
const mixer = 0x5bd1e995

func hashOf(item []byte) hash {
	h := structures.Murmur64A(item, 0)
	print := byte(h%255 + 1)
	return hash{h, other(h, print), print}
}

// other returns the second hash for the first one, and the first one for the second.
func other(h uint64, print byte) uint64 { return h ^ uint64(print)*mixer }

// bucketsOf is the number of buckets of a sub-filter.
func (f *Filter) bucketsOf(a *cells.Array) uint64 { return a.Size() / f.bucketSize }

// find returns the slot of a sub-filter which has that content in the bucket of the first hash, or
// else in that of the second one.
func (f *Filter) find(a *cells.Array, first, second uint64, content byte) (slot uint64, ok bool) {
	n := f.bucketsOf(a)
	for _, h := range [...]uint64{first, second} {
		at := h % n * f.bucketSize
		if i := a.Index(at, int(f.bucketSize), content); i >= 0 {
			return at + uint64(i), true
		}
	}
	return 0, false
}

// Exists reports whether item may be in the filter: false is certain of an item that was not deleted.
func (f *Filter) Exists(item []byte) bool { return f.has(hashOf(item)) }

func (f *Filter) has(h hash) bool {
	for k := f.Arrays() - 1; k >= 0; k-- {
		if _, ok := f.find(f.Array(k), h.first, h.second, h.print); ok {
			return true
		}
	}
	return false
}

// Count returns how often item may have been added: the slots of both of its buckets that have its
// fingerprint. One bucket that is both counts twice, as in the source of RedisBloom 2.
func (f *Filter) Count(item []byte) (count uint64) {
	h := hashOf(item)
	for k := range f.Arrays() {
		a := f.Array(k)
		for _, x := range [...]uint64{h.first, h.second} {
			at := x % f.bucketsOf(a) * f.bucketSize
			for i := range f.bucketSize {
				if a.Get(at+i) == h.print {
					count++
				}
			}
		}
	}
	return count
}

// Items is the number of items: those added less those deleted.
func (f *Filter) Items() uint64 { return f.items }

// Info is what CF.INFO and CF.DEBUG tell.
type Info struct {
	Bytes      uint64 // as RedisBloom counts them: its structures and the slots
	Buckets    uint64 // of the first sub-filter
	Filters    int
	Items      uint64
	Deletes    uint64 // since fingerprints were last moved to older sub-filters
	BucketSize uint64
	Expansion  uint64
	Iterations uint64
}

// Info describes the filter.
func (f *Filter) Info() Info {
	const own, each = 40, 16 // bytes of RedisBloom's structures
	return Info{
		Bytes: own + each*uint64(f.Arrays()) + f.Bytes(), Buckets: f.buckets, Filters: f.Arrays(), Items: f.items, Deletes: f.deletes,
		BucketSize: f.bucketSize, Expansion: f.expansion, Iterations: f.iterations,
	}
}
