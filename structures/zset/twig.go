package zset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Pages of a set that is indexed, beside those of leaves. They are on disk and never
// change:
//
//	section   entries | { hash - the one before | number of the leaf } ... (uvarints)
//	          at 2^61 + twice the bits that the hashes have in common, and the bit behind them
//	          set; in the order of hashes, the first one without these bits
//	twig      { number of a leaf | entries | bytes (uvarints) | first score (8) |
//	          n (uvarint) | the first n bytes, 24 at most, of the first member } ...
//	          a branch on the lowest level, at 2^62 + its number
const (
	firstSection = 1 << 61
	firstTwig    = 1 << 62
)

// ResidentFrom is the number from which on pages are never away.
func (s *Set) ResidentFrom() uint64 { return firstTwig }

// alterTwig notes that a branch on the lowest level is not what it was.
func (s *Set) alterTwig(n *branch) {
	if !s.indexed || n == nil || n.leaves == nil {
		return
	}
	if n.page.num == 0 {
		s.lastTwig++
		n.page.num = s.lastTwig
	}
	if !n.page.changed {
		n.page.changed = true
		s.twigs = append(s.twigs, n)
	}
}

// dropTwig notes that a branch is gone.
func (s *Set) dropTwig(n *branch) {
	if n.page.stored {
		s.removed = append(s.removed, n.page.id())
	}
	n.page.num, n.page.stored = 0, false
}

func (p *twig) id() uint64 { return firstTwig + uint64(p.num) }

// eachTwig visits the branches on the lowest level in order.
func eachTwig(n *branch, visit func(n *branch)) {
	if n.leaves != nil {
		visit(n)
		return
	}
	for _, b := range n.below {
		eachTwig(b, visit)
	}
}

// pageIndex makes pages of the index and the branches, which are to be stored.
func (s *Set) pageIndex() {
	s.indexed, s.index.paged = true, true
	s.taintIndex()
}

func (s *Set) taintIndex() {
	s.index.each(0, func(sec *section) bool {
		if !sec.away {
			s.index.alter(sec)
		}
		return true
	})
	eachTwig(s.root, s.alterTwig)
}

// dropIndex lets go of the index. The branches go too, unless they are gone.
func (s *Set) dropIndex() {
	if s.indexed {
		s.removed = append(s.removed, s.index.removed...)
		s.index.each(0, func(sec *section) bool {
			if sec.away {
				s.gone--
			}
			if sec.stored {
				s.removed = append(s.removed, sec.id())
			}
			return true
		})
		if s.root != nil {
			eachTwig(s.root, s.dropTwig)
		}
	}
	s.index, s.indexed, s.twigs, s.hand = nil, false, nil, 0
}

// appendPage appends the page of a branch on the lowest level.
func (n *branch) appendPage(dst []byte) []byte {
	for _, l := range n.leaves {
		member := l.buf[scoreSize:]
		if !l.away {
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

// loadTwig makes the leaves of a branch's page, all of them away.
func loadTwig(page []byte) (leaves []*leaf, err error) {
	for r := (structures.Reader{B: page}); len(r.B) > 0 || r.Bad; {
		l := &leaf{num: uint32(r.Uint(math.MaxUint32 / 2))}
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
	bytes uint64
	order []uint32           // numbers of branches
	twigs map[uint32][]*leaf // their leaves, nil until their pages are there
}

// appendIndex appends what the head of an indexed set has more than that of others.
func (s *Set) appendIndex(dst []byte) []byte {
	bytes := 0
	for _, l := range s.leaves {
		if l != nil {
			bytes += l.bytes()
		}
	}
	dst = binary.AppendUvarint(dst, uint64(bytes))
	dst = binary.AppendUvarint(dst, uint64(s.longest))
	sections, at := 0, len(dst)
	s.index.each(0, func(sec *section) bool {
		sections++
		dst = binary.AppendUvarint(append(dst, sec.depth), uint64(sec.used))
		return true
	})
	dst = slices.Insert(dst, at, binary.AppendUvarint(nil, uint64(sections))...)
	eachTwig(s.root, func(n *branch) { dst = binary.AppendUvarint(dst, uint64(n.page.num)) })
	return dst
}

// loadIndex reads what appendIndex appended.
func (s *Set) loadIndex(head []byte) error {
	r := structures.Reader{B: head}
	c := &coming{bytes: r.Uint(math.MaxInt64), twigs: map[uint32][]*leaf{}}
	s.longest = uint32(r.Uint(math.MaxUint32))
	sections, at, used := r.Uint(1<<maxDepth), uint64(0), uint64(0)
	x := &index{paged: true}
	var list []*section
	for ; sections > 0 && !r.Bad; sections-- {
		depth := r.Bytes(1)
		n := r.Uint(math.MaxUint32)
		if r.Bad || depth[0] > maxDepth || at >= 1<<32 || at<<depth[0]&math.MaxUint32 != 0 {
			return errIndex
		}
		list = append(list, &section{prefix: uint32(at), depth: depth[0], used: uint32(n), away: true, stored: true})
		x.depth = max(x.depth, depth[0])
		x.memory += sectionSize
		at += 1 << (32 - depth[0])
		used += n
	}
	for len(r.B) > 0 {
		num := uint32(r.Uint(math.MaxUint32))
		c.order, c.twigs[num] = append(c.order, num), nil
		s.lastTwig = max(s.lastTwig, num)
	}
	if r.Bad || at != 1<<32 || used != uint64(s.promised) || s.promisedPages < 2 || len(c.order) == 0 || len(c.order) > s.promisedPages {
		return errIndex
	}
	x.sections = make([]*section, 0, 1<<x.depth)
	for _, sec := range list {
		x.sections = append(x.sections, slices.Repeat([]*section{sec}, 1<<(x.depth-sec.depth))...)
	}
	s.index, s.indexed, s.coming, s.gone = x, true, c, s.promisedPages+len(list)
	return nil
}

var errIndex = fmt.Errorf("index in the head of a sorted set: %w", structures.ErrCorrupt)

// supply takes a page of an indexed set, before Complete.
func (s *Set) supply(id uint64, page []byte) error {
	switch {
	case id >= firstTwig:
		num := id - firstTwig
		if there, ok := s.coming.twigs[uint32(num)]; num > math.MaxUint32 || !ok || there != nil {
			return fmt.Errorf("sorted set page %x is not in the head or was given twice: %w", id, structures.ErrCorrupt)
		}
		leaves, err := loadTwig(page)
		s.coming.twigs[uint32(num)] = leaves
		return err
	case id >= firstSection:
		sec := s.index.section(hashOfSection(id))
		if sec.id() != id || !sec.away {
			return fmt.Errorf("sorted set page %x is not in the head or was given twice: %w", id, structures.ErrCorrupt)
		}
		slots, err := sec.load(page)
		if err == nil {
			s.adoptSection(sec, slots)
		}
		return err
	}
	l := &leaf{num: uint32(id)}
	if id > math.MaxUint32/2 || len(page) == 0 {
		return fmt.Errorf("sorted set page %x of %d bytes: %w", id, len(page), structures.ErrCorrupt)
	}
	s.loading = append(s.loading, l)
	return l.load(page)
}

// assemble makes an indexed set of what its head says and the pages that were given. The
// others are away.
func (s *Set) assemble() error {
	c, given := s.coming, s.loading
	s.coming, s.loading = nil, nil
	var line []*leaf
	var level []child
	bytes := uint64(0)
	for _, num := range c.order {
		leaves := c.twigs[num]
		if leaves == nil {
			return fmt.Errorf("sorted set lacks page %x: %w", firstTwig+uint64(num), structures.ErrCorrupt)
		}
		n := s.newBranch(true)
		n.page = twig{num: num, stored: true}
		for i, l := range leaves {
			n.insert(i, child{leaf: l})
			s.count += l.len()
			bytes += uint64(l.size)
		}
		line = append(line, leaves...)
		level = append(level, child{below: n})
	}
	if s.count != s.promised || len(line) != s.promisedPages || bytes != c.bytes {
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
	for _, l := range given {
		to := s.leaf(l.num)
		if to == nil || !to.away {
			return fmt.Errorf("sorted set page %d is not in a branch or was given twice: %w", l.num, structures.ErrCorrupt)
		}
		if err := s.matches(to, l); err != nil {
			return err
		}
		s.adoptLeaf(to, l)
	}
	if s.gone > 0 && s.pager == nil {
		return fmt.Errorf("sorted set lacks %d pages: %w", s.gone, structures.ErrCorrupt)
	}
	return s.agree(line)
}

// inOrder returns an error if leaves begin out of order, as far as it is known.
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

// agree returns an error if leaves in memory overlap, or have entries that sections in
// memory do not have.
func (s *Set) agree(line []*leaf) error {
	var err error
	s.index.each(0, func(sec *section) bool {
		err = s.known(sec, sec.slots)
		return err == nil
	})
	if err != nil {
		return err
	}
	for n, l := range line {
		if n > 0 && !l.away && !line[n-1].away && compare(line[n-1], line[n-1].len()-1, l, 0) >= 0 {
			return fmt.Errorf("sorted set pages %d and %d overlap: %w", line[n-1].num, l.num, structures.ErrCorrupt)
		}
		for i := range l.slots {
			hash := s.hashOf(l.member(i))
			if sec := s.index.section(hash); !sec.away && sec.entry(hash, l.num) < 0 {
				return fmt.Errorf("sorted set page %d has a member that page %x has not: %w", l.num, sec.id(), structures.ErrCorrupt)
			}
		}
	}
	return nil
}

// known returns an error if entries of a section tell of leaves that are not there.
func (s *Set) known(sec *section, slots []uint64) error {
	for _, e := range slots {
		if e != 0 && s.named(e) == nil {
			return fmt.Errorf("page %x of the index of a sorted set tells of page %d: %w", sec.id(), uint32(e)-1, structures.ErrCorrupt)
		}
	}
	return nil
}
