package zset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// Pages of a set that is indexed, beside those of leaves. They are on disk and never
// change:
//
//	bucket    entries | { hash - the one before | number of the leaf } ... (uvarints)
//	          at 2^61 + twice the bits that the hashes have in common, and the bit behind them
//	          set; in the order of hashes, the first one without these bits
//	branch    { number of a leaf | entries | bytes (uvarints) | first score (8) |
//	          n (uvarint) | the first n bytes, 24 at most, of the first member } ...
//	          one on the lowest level, at 2^62 + its number
const (
	firstBucket = 1 << 61
	firstBranch = 1 << 62
)

// ResidentFrom is the number from which on pages are never evicted.
func (s *Set) ResidentFrom() uint64 { return firstBranch }

// alterBranch notes that a branch on the lowest level is not what it was.
func (t *tree) alterBranch(n *branch) {
	if !t.indexed || n == nil || n.leaves == nil {
		return
	}
	if n.num == 0 {
		t.lastBranch++
		n.num = t.lastBranch
	}
	t.branches.Alter(n)
}

// id is the number of the page of a branch on the lowest level.
func (n *branch) id() uint64 { return firstBranch + uint64(n.num) }

// eachLowest visits the branches on the lowest level in order.
func eachLowest(n *branch, visit func(n *branch)) {
	if n.leaves != nil {
		visit(n)
		return
	}
	for _, b := range n.below {
		eachLowest(b, visit)
	}
}

// appendPage appends the page of a branch on the lowest level.
func (n *branch) appendPage(dst []byte) []byte {
	for _, l := range n.leaves {
		member := l.buf[scoreSize:]
		if !l.Evicted {
			member = l.member(0)
		}
		dst = binary.AppendUvarint(dst, uint64(l.num))
		dst = binary.AppendUvarint(dst, uint64(l.len()))
		dst = binary.AppendUvarint(dst, uint64(l.bytes()))
		dst = append(dst, l.buf[:scoreSize]...)
		member = member[:min(len(member), stubBytes)]
		dst = binary.AppendUvarint(dst, uint64(len(member)))
		dst = append(dst, member...)
	}
	return dst
}

// loadBranch makes the leaves of a branch's page, all of them evicted.
func loadBranch(page []byte) (leaves []*leaf, err error) {
	for r := (structures.Reader{B: page}); len(r.B) > 0 || r.Bad; {
		l := &leaf{num: uint32(r.Uint(math.MaxUint32 / 2)), DeltaState: evicted}
		l.count, l.size = uint16(r.Uint(math.MaxUint16)), uint32(r.Uint(math.MaxUint32))
		score := r.Bytes(scoreSize)
		member := r.Bytes(int(r.Uint(stubBytes)))
		if r.Bad || l.count == 0 || int(l.size) < int(l.count)*(scoreSize+1) || l.size > leafBytes && l.count > 1 ||
			math.IsNaN(scoreOf(binary.BigEndian.Uint64(score))) {
			return nil, fmt.Errorf("branch of a sorted set: leaf %d: %w", len(leaves), structures.ErrCorrupt)
		}
		l.makeStub(binary.BigEndian.Uint64(score), member)
		leaves = append(leaves, l)
	}
	if len(leaves) == 0 || len(leaves) > fan {
		return nil, fmt.Errorf("branch of a sorted set of %d leaves: %w", len(leaves), structures.ErrCorrupt)
	}
	return leaves, nil
}

// coming is what the head of an indexed set says, until its pages are there.
type coming struct {
	bytes    uint64
	order    []uint32           // numbers of branches
	branches map[uint32][]*leaf // their leaves, nil until their pages are there
	leaves   []leafPage         // that were given
}

type leafPage struct {
	id   uint64
	page []byte
}

// appendIndex appends what the head of an indexed set has more than that of others.
func (s *Set) appendIndex(dst []byte) []byte {
	bytes := 0
	for _, l := range s.numbered {
		if l != nil {
			bytes += l.bytes()
		}
	}
	dst = binary.AppendUvarint(dst, uint64(bytes))
	dst = binary.AppendUvarint(dst, uint64(s.longest))
	buckets, at := 0, len(dst)
	s.index.each(0, func(bk *bucket) bool {
		buckets++
		dst = binary.AppendUvarint(append(dst, bk.depth), uint64(bk.used))
		return true
	})
	dst = slices.Insert(dst, at, binary.AppendUvarint(nil, uint64(buckets))...)
	eachLowest(s.root, func(n *branch) { dst = binary.AppendUvarint(dst, uint64(n.num)) })
	return dst
}

// loadIndex reads what appendIndex appended.
func (s *Set) loadIndex(head []byte) error {
	r := structures.Reader{B: head}
	c := &coming{bytes: r.Uint(math.MaxInt64), branches: map[uint32][]*leaf{}}
	s.longest = uint32(r.Uint(math.MaxUint32))
	buckets, at, used := r.Uint(1<<maxDepth), uint64(0), uint64(0)
	x := &index{paged: true, leaves: &s.leaves}
	var list []*bucket
	for ; buckets > 0 && !r.Bad; buckets-- {
		depth := r.Bytes(1)
		n := r.Uint(math.MaxUint32)
		if r.Bad || depth[0] > maxDepth || at >= 1<<32 || at<<depth[0]&math.MaxUint32 != 0 {
			return errIndex
		}
		list = append(list, &bucket{prefix: uint32(at), depth: depth[0], used: uint32(n), DeltaState: evicted})
		x.pages.Found()
		x.depth = max(x.depth, depth[0])
		x.memory += bucketSize
		at += 1 << (32 - depth[0])
		used += n
	}
	for len(r.B) > 0 {
		num := uint32(r.Uint(math.MaxUint32))
		c.order, c.branches[num] = append(c.order, num), nil
		s.lastBranch = max(s.lastBranch, num)
	}
	if r.Bad || at != 1<<32 || used != uint64(s.promised) || s.promisedPages < 2 || len(c.order) == 0 || len(c.order) > s.promisedPages {
		return errIndex
	}
	x.buckets = make([]*bucket, 0, 1<<x.depth)
	for _, bk := range list {
		x.buckets = append(x.buckets, slices.Repeat([]*bucket{bk}, 1<<(x.depth-bk.depth))...)
	}
	s.index, s.indexed, s.coming = x, true, c
	return nil
}

var errIndex = fmt.Errorf("index in the head of a sorted set: %w", structures.ErrCorrupt)

// evicted is a page that an index tells of.
var evicted = paged.DeltaState{State: paged.State{Stored: true, Evicted: true}}

// supply takes a page of an indexed set, before Complete.
func (s *Set) supply(id uint64, page []byte) error {
	switch {
	case id >= firstBranch:
		num := id - firstBranch
		if there, ok := s.coming.branches[uint32(num)]; num > math.MaxUint32 || !ok || there != nil {
			return fmt.Errorf("sorted set page %x is not in the head or was given twice: %w", id, structures.ErrCorrupt)
		}
		leaves, err := loadBranch(page)
		s.coming.branches[uint32(num)] = leaves
		return err
	case id >= firstBucket:
		bk := s.index.bucket(leastHash(id))
		if bk.id() != id || !bk.Evicted {
			return fmt.Errorf("sorted set page %x is not in the head or was given twice: %w", id, structures.ErrCorrupt)
		}
		return s.index.pages.Supply(s.index.paging(), id, bk, page)
	}
	s.coming.leaves = append(s.coming.leaves, leafPage{id, bytes.Clone(page)})
	return nil
}

// assemble makes an indexed set of what its head says and the pages that were given. The
// others are evicted.
func (s *Set) assemble() error {
	c := s.coming
	s.coming = nil
	var line []*leaf
	var level []child
	size := uint64(0)
	for _, num := range c.order {
		leaves := c.branches[num]
		if leaves == nil {
			return fmt.Errorf("sorted set lacks page %x: %w", firstBranch+uint64(num), structures.ErrCorrupt)
		}
		n := s.newBranch(true)
		n.num, n.Stored = num, true
		for i, l := range leaves {
			n.insert(i, child{leaf: l})
			s.count += l.len()
			size += uint64(l.size)
		}
		line = append(line, leaves...)
		level = append(level, child{below: n})
	}
	if s.count != s.promised || len(line) != s.promisedPages || size != c.bytes {
		return fmt.Errorf("sorted set of %d members in %d pages has %d in %d: %w", s.promised, s.promisedPages, s.count, len(line), structures.ErrCorrupt)
	}
	if err := inOrder(line); err != nil {
		return err
	}
	s.peak = uint32(s.count)
	if err := s.enlist(line); err != nil {
		return err
	}
	s.raise(level)
	for _, given := range c.leaves {
		l := s.leaf(uint32(min(given.id, math.MaxUint32)))
		if l == nil || !l.Evicted {
			return fmt.Errorf("sorted set page %x is not in a branch or was given twice: %w", given.id, structures.ErrCorrupt)
		}
		if err := s.pages.Supply(s.paging(), given.id, l, given.page); err != nil {
			return err
		}
	}
	if pages, _ := s.Evicted(); pages > 0 && s.pages.Pager == nil {
		return fmt.Errorf("sorted set lacks %d pages: %w", pages, structures.ErrCorrupt)
	}
	return s.agree(line)
}

// inOrder returns an error if leaves are known to begin out of order.
func inOrder(line []*leaf) error {
	for i, l := range line {
		if i == 0 {
			continue
		}
		before := line[i-1]
		if a, b := before.first(), l.first(); a > b || a == b && bytes.Compare(before.buf[scoreSize:], l.buf[scoreSize:]) > 0 {
			return fmt.Errorf("sorted set pages %d and %d are out of order: %w", before.num, l.num, structures.ErrCorrupt)
		}
	}
	return nil
}

// agree returns an error if leaves in memory overlap, or have entries that buckets in
// memory do not have.
func (s *Set) agree(line []*leaf) error {
	var err error
	s.index.each(0, func(bk *bucket) bool {
		err = s.index.known(bk, bk.slots)
		return err == nil
	})
	if err != nil {
		return err
	}
	for n, l := range line {
		if n > 0 && !l.Evicted && !line[n-1].Evicted && compare(line[n-1], line[n-1].len()-1, l, 0) >= 0 {
			return fmt.Errorf("sorted set pages %d and %d overlap: %w", line[n-1].num, l.num, structures.ErrCorrupt)
		}
		for i := range l.slots {
			hash := s.hashOf(l.member(i))
			if bk := s.index.bucket(hash); !bk.Evicted && bk.entry(hash, l.num) < 0 {
				return fmt.Errorf("sorted set page %d has a member that page %x has not: %w", l.num, bk.id(), structures.ErrCorrupt)
			}
		}
	}
	return nil
}
