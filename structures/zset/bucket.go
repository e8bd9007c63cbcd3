package zset

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// What is in this file makes pages of buckets, and buckets of pages.

// id is the number of the bucket's page.
func (s *bucket) id() uint64 { return firstBucket | uint64(s.prefix)<<1 | 1<<(32-s.depth) }

// leastHash returns the least hash of the bucket whose page has a number.
func leastHash(id uint64) uint32 { return uint32((id - firstBucket) & (id - 1) >> 1) }

// appendPage appends the bucket's page.
func (s *bucket) appendPage(dst []byte) []byte {
	var room [mostBucket]uint64
	entries := room[:0]
	for _, e := range s.slots {
		if e != 0 {
			entries = append(entries, e)
		}
	}
	slices.Sort(entries)
	dst = binary.AppendUvarint(dst, uint64(len(entries)))
	before := uint64(s.prefix)
	for _, e := range entries {
		dst = binary.AppendUvarint(dst, e>>32-before)
		dst = binary.AppendUvarint(dst, uint64(uint32(e)-1))
		before = e >> 32
	}
	return dst
}

// load makes a whole copy of a bucket of its page and of what changed since, which gives
// the number of entries that is known.
func (s *bucket) load(page []byte) (*bucket, error) {
	bad := func() error {
		return fmt.Errorf("page %x of the index of a sorted set, of %d entries: %w", s.id(), s.used, structures.ErrCorrupt)
	}
	r, hash := structures.Reader{B: page}, uint64(s.prefix)
	count := r.Uint(math.MaxUint32)
	if r.Bad || count > uint64(len(r.B))/2 {
		return nil, bad()
	}
	c := &bucket{prefix: s.prefix, depth: s.depth, slots: make([]uint64, placesFor(int(count)))}
	for count > uint64(c.used) && !r.Bad {
		hash += r.Uint(math.MaxUint32)
		num := r.Uint(math.MaxUint32/2 - 1)
		r.Bad = r.Bad || hash > uint64(s.prefix)|math.MaxUint32>>s.depth
		c.put(hash<<32 | (num + 1))
	}
	if r.Bad || len(r.B) > 0 && !isDelta(r.B, bucketMark) {
		return nil, bad()
	}
	ops, err := s.readDeltas(r.B)
	if err != nil {
		return nil, err
	}
	if ops = append(ops, s.ops...); len(ops) > 0 {
		c.enlarge(placesFor(int(c.used) + len(ops)))
		for _, e := range ops {
			c.apply(e)
		}
		c.enlarge(placesFor(int(c.used)))
	}
	if c.used != s.used {
		return nil, bad()
	}
	return c, nil
}

// placesFor is the number of places for some entries.
func placesFor(entries int) int {
	size := leastBucket
	for entries*fullDenominator > size*fullNumerator {
		size *= 2
	}
	return size
}

// enlarge gives a bucket another number of places.
func (s *bucket) enlarge(size int) {
	old := s.slots
	s.slots, s.used = make([]uint64, size), 0
	for _, e := range old {
		if e != 0 {
			s.put(e)
		}
	}
}

// An entry that is gone has this bit set, which numbers of leaves do not have.
const entryGone = 1 << 31

// may reports that an evicted bucket may have a hash.
func (s *bucket) may(hash uint32) bool {
	if s.filter == nil || s.filter.May(spread(hash)) {
		return true
	}
	return slices.ContainsFunc(s.ops, func(e uint64) bool { return uint32(e>>32) == hash })
}

// spread makes hashes that begin alike differ in their first bits.
func spread(hash uint32) uint32 { return hash * 0x9e3779b1 }

// takes reports that a bucket has places for some more entries, or is in memory and gets them.
func (s *bucket) takes(n int) bool {
	return !s.Evicted || (int(s.used)+n)*fullDenominator <= mostBucket*fullNumerator
}

// apply makes an entry of a bucket present or not.
func (s *bucket) apply(e uint64) {
	hash, num := uint32(e>>32), uint32(e&^entryGone)-1
	at := s.entry(hash, num)
	switch {
	case e&entryGone != 0 && at >= 0:
		s.takeOut(at)
	case e&entryGone == 0 && at < 0:
		s.put(e)
	}
}

// takeOut removes the entry in a place, and moves those behind it that are not in theirs.
func (s *bucket) takeOut(hole int) {
	mask := len(s.slots) - 1
	for at := (hole + 1) & mask; s.slots[at] != 0; at = (at + 1) & mask {
		home := int(s.slots[at]>>32) & mask
		if (at-home)&mask >= (at-hole)&mask {
			s.slots[hole] = s.slots[at]
			hole = at
		}
	}
	s.slots[hole] = 0
	s.used--
}

// appendDelta appends the delta of a bucket's page.
func (s *bucket) appendDelta(dst []byte) []byte {
	dst = append(dst, bucketMark...)
	for _, e := range s.ops[s.written:] {
		dst = binary.AppendUvarint(dst, uint64(uint32(e>>32)-s.prefix))
		num, gone := uint64(uint32(e&^entryGone)-1)<<1, uint64(e)&entryGone>>31
		dst = binary.AppendUvarint(dst, num|gone)
	}
	return dst
}

// readDeltas returns what the deltas of a bucket's page say.
func (s *bucket) readDeltas(deltas []byte) (ops []uint64, err error) {
	for r := (structures.Reader{B: deltas}); len(r.B) > 0; {
		if isDelta(r.B, bucketMark) {
			r.B = r.B[len(bucketMark):]
			continue
		}
		hash := r.Uint(math.MaxUint32) + uint64(s.prefix)
		num := r.Uint(math.MaxUint32 - 2)
		if r.Bad || hash > uint64(s.prefix)|math.MaxUint32>>s.depth {
			return nil, fmt.Errorf("delta of page %x of the index of a sorted set: %w", s.id(), structures.ErrCorrupt)
		}
		ops = append(ops, hash<<32|num&1<<31|(num>>1+1))
	}
	return ops, nil
}

// cost is about what writing the page of a bucket costs, in bytes.
func (s *bucket) cost() int { return s.Cost((len(s.ops)-s.written)*8, 2*bucketGain*8, leafBytes) }

// bucketPages are the buckets of an index as their pages see them, [paged.DeltaPages].
type bucketPages index

func (x *index) paging() *bucketPages { return (*bucketPages)(x) }

func (p *bucketPages) Each(from uint64, visit func(id uint64, s *bucket) bool) {
	if !p.paged {
		return
	}
	from = max(from, firstBucket)
	(*index)(p).each(leastHash(from), func(s *bucket) bool { return s.id() < from || visit(s.id(), s) })
}

// InHead reports that no bucket has a page.
func (p *bucketPages) InHead() bool { return !p.paged }

func (p *bucketPages) Bytes(s *bucket) int {
	if s.Evicted {
		return int(s.used) * 8
	}
	return len(s.slots) * 8
}

func (p *bucketPages) Append(dst []byte, s *bucket) []byte { return s.appendPage(dst) }

// Decode makes a whole copy of an evicted bucket. As long as the set is loaded no leaf is known.
func (p *bucketPages) Decode(_ uint64, s *bucket, page []byte) (*bucket, error) {
	c, err := s.load(page)
	if err == nil && p.leaves.live > 0 {
		err = (*index)(p).known(s, c.slots)
	}
	return c, err
}

// Evict gives a bucket a filter of its hashes in their place.
func (p *bucketPages) Evict(s *bucket) bool {
	s.filter = structures.NewFilter(int(s.used) + int(s.used)/4)
	for _, e := range s.slots {
		if e != 0 {
			s.filter.Add(spread(uint32(e >> 32)))
		}
	}
	p.memory += cap(s.filter) - len(s.slots)*8
	s.slots = nil
	return true
}

// Adopt keeps of what changed in the bucket what is to be written.
func (p *bucketPages) Adopt(s, c *bucket) {
	due, unwritten := s.cost(), s.ops[s.written:]
	p.memory += len(c.slots)*8 - cap(s.filter)
	(*index)(p).dropOps(s)
	s.slots, s.filter, s.Evicted, s.ops = c.slots, nil, false, append([]uint64(nil), unwritten...)
	p.memory += cap(s.ops) * 8
	p.pages.Due += s.cost() - due
}

func (p *bucketPages) Cost(s *bucket) int { return s.cost() }

func (p *bucketPages) ByDelta(s *bucket) bool {
	return s.DeltaState.ByDelta((len(s.ops)-s.written)*8, 2*bucketGain*8)
}

func (p *bucketPages) AppendDelta(dst []byte, s *bucket) []byte { return s.appendDelta(dst) }

// Wrote forgets what changed in a bucket in memory. The disk may not have it yet, so that one that is evicted keeps it.
func (p *bucketPages) Wrote(s *bucket) {
	if s.written = len(s.ops); !s.Evicted {
		(*index)(p).dropOps(s)
	}
}

func (p *bucketPages) Kept(s *bucket) int { return cap(s.ops) * 8 }

func (p *bucketPages) Forget(s *bucket) {
	if s.filter != nil {
		for _, e := range s.ops {
			s.filter.Add(spread(uint32(e >> 32)))
		}
	}
	(*index)(p).dropOps(s)
}
