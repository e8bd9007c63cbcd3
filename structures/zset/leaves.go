package zset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// leaves are the leaves of a set by their numbers, which are those of their pages.
type leaves struct {
	keys     *structures.HashKeys
	pages    paged.Incremental[*leaf]
	numbered []*leaf // nil if the number is free
	live     int     // leaves that are not nil
	free     []uint32
	spare    *leaf // of a set that was reset, for the first leaf
	memory   int   // of leaves and branches
	indexed  bool  // the index and the lowest branches are pages too
}

// sparse is by how much the largest number of a leaf may exceed twice their number.
const sparse = 64

// Leaves that are evicted keep their numbers, so that these may be further apart in an indexed
// set: below spareNumbers and sparser times the number of leaves. See readyDrop.
var sparser, spareNumbers = 64, 1 << 20 // variables for tests

// distant reports that numbers would be too far apart if some leaves were gone.
func (ls *leaves) distant(gone int) bool {
	return len(ls.numbered) > sparser*(ls.live-gone)+spareNumbers
}

func (ls *leaves) hashOf(member []byte) uint32 { return uint32(ls.keys.Fields.Sum(member) >> 32) }

// leaf is the leaf with a number, nil if there is none.
func (ls *leaves) leaf(num uint32) *leaf {
	if int(num) < len(ls.numbered) {
		return ls.numbered[num]
	}
	return nil
}

// named is the leaf of a slot of the index. It is nil if there is none: a bucket whose page
// was spoilt on disk may name one that was removed since the bucket was read.
func (ls *leaves) named(slot uint64) *leaf { return ls.leaf(uint32(slot) - 1) }

// newLeaf returns an empty leaf with a free number.
func (ls *leaves) newLeaf() *leaf {
	l := ls.spare
	if ls.spare = nil; l == nil {
		l = &leaf{}
	}
	ls.number(l)
	ls.live++
	ls.memory += l.memory()
	return l
}

// number gives a leaf a free number. Of those in free some are not: they were given
// up, and may have come into use again since.
func (ls *leaves) number(l *leaf) {
	l.num, l.Recent = uint32(len(ls.numbered)), true
	for n := len(ls.free); n > 0 && int(l.num) == len(ls.numbered); n = len(ls.free) {
		if num := ls.free[n-1]; int(num) < len(ls.numbered) && ls.numbered[num] == nil {
			l.num = num
		}
		ls.free = ls.free[:n-1]
	}
	if int(l.num) == len(ls.numbered) {
		ls.numbered = append(ls.numbered, nil)
	}
	ls.numbered[l.num] = l
	ls.alter(l)
}

// vacate makes the number of a leaf a free one. Free numbers above those of all leaves are
// given up.
func (ls *leaves) vacate(l *leaf) {
	ls.pages.Remove(ls.paging(), uint64(l.num), l)
	ls.numbered[l.num] = nil
	ls.free = append(ls.free, l.num)
	n := len(ls.numbered)
	for n > 0 && ls.numbered[n-1] == nil {
		n--
	}
	if ls.numbered = ls.numbered[:n]; cap(ls.numbered) > 4*n+sparse {
		ls.numbered, ls.free = slices.Clone(ls.numbered), ls.vacant()
	}
}

// vacant lists the numbers below the largest that are free.
func (ls *leaves) vacant() (free []uint32) {
	for num, l := range ls.numbered {
		if l == nil {
			free = append(free, uint32(num))
		}
	}
	return free
}

// enlist notes the numbers of leaves, which must be there once each, and not further
// apart than this package makes them.
func (ls *leaves) enlist(line []*leaf) error {
	largest := 0
	for _, l := range line {
		largest = max(largest, int(l.num))
	}
	if largest >= 2*len(line)+sparse && (!ls.indexed || largest >= sparser*len(line)+spareNumbers) {
		return fmt.Errorf("sorted set page %d of %d: %w", largest, len(line), structures.ErrCorrupt)
	}
	ls.numbered, ls.live = make([]*leaf, largest+1), len(line)
	for _, l := range line {
		if ls.numbered[l.num] != nil {
			return fmt.Errorf("sorted set page %d given twice: %w", l.num, structures.ErrCorrupt)
		}
		ls.numbered[l.num] = l
		ls.memory += l.memory()
		if !l.Stored {
			ls.alter(l)
		}
		if l.Evicted {
			ls.pages.Found()
		}
	}
	ls.free = ls.vacant()
	return nil
}

// resized keeps the account of memory around a change of a leaf.
func (ls *leaves) resized(l *leaf, before int) { ls.memory += l.memory() - before }

// alter notes that the page of a leaf is to be written whole.
func (ls *leaves) alter(l *leaf) {
	if !l.Dirty || !l.Whole {
		ls.altered(l)
	}
}

func (ls *leaves) altered(l *leaf) {
	ls.pages.Alter(ls.paging(), l)
	before := l.memory()
	l.gained = nil
	ls.resized(l, before)
}

// gain notes that a leaf got an entry. One that the disk does not have is to be written whole already.
func (ls *leaves) gain(l *leaf, b uint64, member []byte) {
	if ls.pages.Pager == nil || !ls.indexed || l.Whole || l.gained.unwritten() > leafGain && !l.Evicted {
		ls.alter(l)
		return
	}
	before, due := l.memory(), l.cost()
	if l.gained == nil {
		l.gained = &gains{}
	}
	l.gained.add(b, member)
	l.Dirty = true
	ls.pages.Due += l.cost() - due
	ls.resized(l, before)
}

// pin makes sure that a leaf is in memory, which fails if it cannot be read.
func (ls *leaves) pin(l *leaf) bool {
	return l.Recent || ls.pages.Pin(ls.paging(), uint64(l.num), l)
}

// twin reports that a leaf in memory has another member with the hash of an entry.
func (ls *leaves) twin(l *leaf, i int, hash uint32) bool {
	for j, slot := range l.slots {
		if j != i && uint16(slot) == tagOf(hash) && ls.hashOf(l.member(j)) == hash {
			return true
		}
	}
	return false
}

// leafPages are leaves as their pages see them, [paged.DeltaPages].
type leafPages leaves

func (ls *leaves) paging() *leafPages { return (*leafPages)(ls) }

func (p *leafPages) Each(from uint64, visit func(id uint64, l *leaf) bool) {
	for id := from; id < uint64(len(p.numbered)); id++ {
		if l := p.numbered[id]; l != nil && !visit(id, l) {
			return
		}
	}
}

// InHead reports whether the set is stored without pages: it is a leaf of a size that
// is rewritten at every change, but costs one key instead of two.
func (p *leafPages) InHead() bool {
	return p.live == 0 || p.live == 1 && !p.numbered[len(p.numbered)-1].big()
}

func (p *leafPages) Bytes(l *leaf) int {
	if l.Evicted {
		return int(l.size)
	}
	return cap(l.buf) + cap(l.slots)*slotSize
}

func (p *leafPages) Append(dst []byte, l *leaf) []byte { return append(dst, l.buf...) }

// Decode makes a leaf of the page of one that is evicted and of what that gained, which have to be what is known of it.
func (p *leafPages) Decode(id uint64, l *leaf, page []byte) (*leaf, error) {
	c := &leaf{num: l.num}
	if err := c.load(page); err != nil {
		return nil, err
	}
	l.gained.each(0, c.addOnce)
	if c.len() != l.len() || len(c.buf) != l.bytes() || c.first() != l.first() ||
		len(l.buf) != scoreSize+min(len(c.member(0)), stubBytes) || !bytes.HasPrefix(c.member(0), l.buf[scoreSize:]) {
		return nil, fmt.Errorf("sorted set page %d of %d entries in %d bytes has %d in %d, or begins with another: %w",
			id, l.len(), l.bytes(), c.len(), len(c.buf), structures.ErrCorrupt)
	}
	for i, slot := range c.slots {
		if i > 0 && compare(c, i-1, c, i) >= 0 {
			return nil, fmt.Errorf("sorted set page %d is not in order: %w", id, structures.ErrCorrupt)
		}
		c.slots[i] = slot | slotTag((*leaves)(p).hashOf(c.member(i)))
	}
	return c, nil
}

// Evict leaves of a leaf its first score and the beginning of its first member.
func (p *leafPages) Evict(l *leaf) bool {
	before := l.memory()
	l.size, l.count = uint32(len(l.buf)), uint16(l.len())
	member := l.member(0)
	l.makeStub(binary.BigEndian.Uint64(l.buf), member[:min(len(member), stubBytes)])
	(*leaves)(p).resized(l, before)
	return true
}

// Adopt keeps of what the leaf gained what is to be written.
func (p *leafPages) Adopt(l, c *leaf) {
	before, due, gained := l.memory(), l.cost(), l.gained
	l.buf, l.slots, l.Evicted, l.gained = c.buf, c.slots, false, nil
	if gained.unwritten() > 0 {
		l.gained = &gains{}
		gained.each(gained.written, l.gained.add)
	}
	p.pages.Due += l.cost() - due
	(*leaves)(p).resized(l, before)
}

func (p *leafPages) Cost(l *leaf) int { return l.cost() }

func (p *leafPages) ByDelta(l *leaf) bool { return l.byDelta() }

func (p *leafPages) AppendDelta(dst []byte, l *leaf) []byte {
	return append(append(dst, leafMark...), l.gained.buf[l.gained.written:]...)
}

// Wrote forgets what a leaf in memory gained. The disk may not have it yet, so that one that is evicted keeps it.
func (p *leafPages) Wrote(l *leaf) {
	if l.Evicted && l.gained != nil {
		l.gained.written = len(l.gained.buf)
	} else {
		p.forget(l)
	}
}

func (p *leafPages) Kept(l *leaf) int { return l.gained.memory() }

func (p *leafPages) Forget(l *leaf) {
	l.size, l.count = uint32(l.bytes()), uint16(l.len())
	p.forget(l)
}

func (p *leafPages) forget(l *leaf) {
	before := l.memory()
	l.gained = nil
	(*leaves)(p).resized(l, before)
}
