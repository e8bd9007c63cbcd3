package zset

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// What is in this file makes pages of sections of the index, and sections of pages.

// id is the number of the section's page.
func (s *section) id() uint64 { return firstSection | uint64(s.prefix)<<1 | 1<<(32-s.depth) }

// hashOfSection returns the least hash of the section whose page has a number.
func hashOfSection(id uint64) uint32 { return uint32((id - firstSection) & (id - 1) >> 1) }

// appendPage appends the section's page.
func (s *section) appendPage(dst []byte) []byte {
	var room [mostSection]uint64
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

// load makes the places of a section of its page and of what changed since, which gives
// the number of entries that is known.
func (s *section) load(page []byte) ([]uint64, error) {
	bad := func() error {
		return fmt.Errorf("page %x of the index of a sorted set, of %d entries: %w", s.id(), s.used, structures.ErrCorrupt)
	}
	r, hash := structures.Reader{B: page}, uint64(s.prefix)
	count := r.Uint(math.MaxUint32)
	if r.Bad || count > uint64(len(r.B))/2 {
		return nil, bad()
	}
	c := section{slots: make([]uint64, sectionFor(int(count)))}
	for count > uint64(c.used) && !r.Bad {
		hash += r.Uint(math.MaxUint32)
		num := r.Uint(math.MaxUint32/2 - 1)
		r.Bad = r.Bad || hash > uint64(s.prefix)|math.MaxUint32>>s.depth
		c.put(hash<<32 | (num + 1))
	}
	if r.Bad || len(r.B) > 0 && !isTail(r.B, sectionMark) {
		return nil, bad()
	}
	ops, err := s.readTails(r.B)
	if err != nil {
		return nil, err
	}
	if ops = append(ops, s.ops...); len(ops) > 0 {
		c.enlarge(sectionFor(int(c.used) + len(ops)))
		for _, e := range ops {
			c.apply(e)
		}
		c.enlarge(sectionFor(int(c.used)))
	}
	if c.used != s.used {
		return nil, bad()
	}
	return c.slots, nil
}

// sectionFor is the number of places for some entries.
func sectionFor(entries int) int {
	size := leastSection
	for entries*fullDenominator > size*fullNumerator {
		size *= 2
	}
	return size
}

// enlarge gives a section another number of places.
func (s *section) enlarge(size int) {
	old := s.slots
	s.slots, s.used = make([]uint64, size), 0
	for _, e := range old {
		if e != 0 {
			s.put(e)
		}
	}
}

// alter notes that the page of a section, which is in memory, is to be written whole.
func (x *index) alter(s *section) {
	if !x.paged {
		return
	}
	if !s.changed {
		s.changed, s.recent = true, true
		x.changed = append(x.changed, s)
	} else {
		x.due -= s.unwritten()
	}
	s.whole = true
	x.due += leafBytes
	x.dropOps(s)
}

// drop notes that a section has been replaced.
func (x *index) drop(s *section) {
	s.gone = true
	if s.stored {
		x.removed = append(x.removed, s.id())
	}
}

// An entry that is gone has this bit set, which numbers of leaves do not have.
const entryGone = 1 << 31

// note notes what changed in a section: an entry is there, or gone.
func (x *index) note(s *section, e uint64) {
	if !x.paged {
		return
	}
	switch {
	case s.whole || !s.stored || len(s.ops)-s.written > mostSection/8 && !s.away:
		x.alter(s)
		return
	case !s.changed:
		s.changed, s.recent = true, s.recent || !s.away
		x.changed = append(x.changed, s)
		x.due += tailCost
	}
	before := cap(s.ops)
	if s.ops = append(s.ops, e); cap(s.ops) != before {
		x.memory += (cap(s.ops) - before) * 8
	}
	x.due += 8
}

// dropOps forgets what changed in a section.
func (x *index) dropOps(s *section) {
	x.memory -= cap(s.ops) * 8
	s.ops, s.written = nil, 0
}

// may reports that a section that is away may have a hash.
func (s *section) may(hash uint32) bool {
	if s.filter == nil || s.filter.May(spread(hash)) {
		return true
	}
	return slices.ContainsFunc(s.ops, func(e uint64) bool { return uint32(e>>32) == hash })
}

// spread makes hashes that begin alike differ in their first bits.
func spread(hash uint32) uint32 { return hash * 0x9e3779b1 }

// takes reports that a section has places for some more entries, or is in memory and gets them.
func (s *section) takes(n int) bool {
	return !s.away || (int(s.used)+n)*fullDenominator <= mostSection*fullNumerator
}

// apply makes an entry of a section present or not.
func (s *section) apply(e uint64) {
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
func (s *section) takeOut(hole int) {
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

// appendTail appends the tail of a section's page.
func (s *section) appendTail(dst []byte) []byte {
	dst = append(dst, sectionMark...)
	for _, e := range s.ops[s.written:] {
		dst = binary.AppendUvarint(dst, uint64(uint32(e>>32)-s.prefix))
		num, gone := uint64(uint32(e&^entryGone)-1)<<1, uint64(e)&entryGone>>31
		dst = binary.AppendUvarint(dst, num|gone)
	}
	return dst
}

// readTails returns what the tails of a section's page say.
func (s *section) readTails(tails []byte) (ops []uint64, err error) {
	for r := (structures.Reader{B: tails}); len(r.B) > 0; {
		if isTail(r.B, sectionMark) {
			r.B = r.B[len(sectionMark):]
			continue
		}
		hash := r.Uint(math.MaxUint32) + uint64(s.prefix)
		num := r.Uint(math.MaxUint32 - 2)
		if r.Bad || hash > uint64(s.prefix)|math.MaxUint32>>s.depth {
			return nil, fmt.Errorf("tail of page %x of the index of a sorted set: %w", s.id(), structures.ErrCorrupt)
		}
		ops = append(ops, hash<<32|num&1<<31|(num>>1+1))
	}
	return ops, nil
}

// forgetSection has what changed in a section that is away leave memory. The disk has it.
func (s *Set) forgetSection(sec *section) (freed int) {
	freed = cap(sec.ops) * 8
	if sec.filter != nil {
		for _, e := range sec.ops {
			sec.filter.Add(spread(uint32(e >> 32)))
		}
	}
	s.index.dropOps(sec)
	return freed
}
