package cuckoo

import (
	"errors"
	"math"
	"math/bits"

	"github.com/vigildb/vigil/structures/cells"
)

var (
	// ErrShape is returned by Merge for filters of different shapes.
	ErrShape = errors.New("structures: cuckoo filters of different shapes")
	// ErrNoRoom is returned by Merge if fingerprints find no slot.
	ErrNoRoom = errors.New("structures: cuckoo filter has no room for the items of others")
	// ErrUnread is returned by Merge if a page cannot be read.
	ErrUnread = errors.New("structures: page of a cuckoo filter cannot be read")
)

// Merge returns a new filter with the items of all others, each as often as all of them have it, in
// slots of at most limit bytes and at most so many sub-filters. What the filters would have in any order
// need not be in the same slots.
//
// The number of buckets is a power of two, so that the bucket in which a fingerprint is tells both of its
// buckets in every sub-filter that has no more of them. Those of a larger one it does not tell. Fingerprints
// of sub-filter k can therefore go to sub-filters up to k; only if the filter grows by equal ones
// can they go to those on top too, and to new ones.
//
// The errors are ErrShape, ErrNoRoom and ErrUnread.
func Merge(filters []*Filter, maxFilters int, limit uint64) (*Filter, error) {
	first := filters[0]
	h := Header{Buckets: first.buckets, BucketSize: first.bucketSize, Iterations: first.iterations, Expansion: first.expansion}
	for _, f := range filters {
		if f.buckets != h.Buckets || f.bucketSize != h.BucketSize || f.expansion != h.Expansion {
			return nil, ErrShape
		}
		h.Filters = max(h.Filters, uint64(f.Arrays()))
		h.Items = addUpTo(h.Items, f.items)
		h.Deletes = addUpTo(h.Deletes, f.deletes)
	}
	if h.Filters > 1 && bits.OnesCount64(h.Expansion) != 1 {
		return nil, ErrShape // the header of a dump may have such an expansion
	}
	sum := New()
	if err := sum.Load(h, limit); err != nil {
		return nil, ErrNoRoom
	}
	sum.moves = maxMoves
	m := merging{sum: sum, maxFilters: maxFilters, limit: limit}
	for i, f := range filters {
		for k := range f.Arrays() {
			if err := m.take(f.Array(k), k, i == 0); err != nil {
				return nil, err
			}
		}
	}
	return sum, nil
}

// addUpTo adds counters, which the header of a dump may have made too large.
func addUpTo(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// merging is a filter that takes the fingerprints of others.
type merging struct {
	sum        *Filter
	maxFilters int
	limit      uint64
	part       []byte
}

// mergeBytes of slots are read together.
const mergeBytes = 16 << 10

// take takes the fingerprints of sub-filter k of another filter: in the same slots if the sum has nothing
// yet.
func (m *merging) take(a *cells.Array, k int, first bool) error {
	for off := uint64(0); off < a.Size(); off += mergeBytes {
		var ok bool
		if m.part, ok = a.Append(m.part[:0], off, min(a.Size()-off, mergeBytes)); !ok {
			return ErrUnread
		}
		if first {
			m.sum.Array(k).Write(off, m.part)
			continue
		}
		for i, print := range m.part {
			if print != 0 && !m.place(k, (off+uint64(i))/m.sum.bucketSize, print) {
				return ErrNoRoom
			}
		}
	}
	return nil
}

// place finds a slot for a fingerprint that was in a bucket of sub-filter k.
func (m *merging) place(k int, bucket uint64, print byte) bool {
	f := m.sum
	h := hash{bucket, other(bucket, print), print}
	for {
		if f.expansion == 1 {
			k = f.Arrays() - 1
		}
		for j := k; j >= 0; j-- {
			if slot, ok := f.find(f.Array(j), h.first, h.second, 0); ok {
				f.Array(j).Set(slot, print)
				return true
			}
		}
		if f.kick(f.Array(k), h) {
			return true
		}
		if f.expansion != 1 || f.Arrays() >= m.maxFilters || !f.grow(m.limit) {
			return false
		}
	}
}
