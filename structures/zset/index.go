package zset

import (
	"unsafe"

	"github.com/vigildb/vigil/structures"
)

// index finds the leaf of a member by the member's hash. It is a table of sections,
// each of the hashes that begin with some bits (Fagin et al., Extendible Hashing,
// 1979): it grows by the split of one section, and never as a whole.
//
// An entry is 32 bits of hash << 32 | number of the leaf + 1; 0 is a free place. Two
// members with the same 32 bits in one leaf have two entries that are the same.
type index struct {
	sections []*section // by the first depth bits of the hash
	depth    uint8
	memory   int // of sections
	// Of a set that is indexed, see away.go:
	paged   bool       // sections are pages
	changed []*section // since they were written; some may be gone
	writing []*section // those of them that are written next, see Part
	due     int        // about what writing them costs, in bytes
	removed []uint64   // numbers of stored pages of sections that are gone
}

// section is an open-addressing table with linear probing.
type section struct {
	slots   []uint64
	prefix  uint32 // the bits of the hash that all of its entries have in common
	used    uint32
	depth   uint8 // how many bits
	away    bool  // it is on disk only, and has no slots
	recent  bool  // it was used since Shed came by
	stored  bool  // its page was on disk at the last Clean
	changed bool  // it is in index.changed or writing
	gone    bool  // others are in its place
	whole   bool  // it changed otherwise than ops say: its page is to be written whole
	written int   // ops that were written
	// ops is what changed since the page was written, and if the section is away what
	// may not be on disk yet: entries, those that are gone with entryGone.
	ops    []uint64
	filter structures.Filter // of hashes if it is away; nil: nothing is known of them
}

const (
	sectionSize = int(unsafe.Sizeof(section{}))
	// A section doubles between these two, and is split then.
	leastSection = 16
	mostSection  = 512
	// It is full at 13/16, where a member that is not there takes some 15 looks.
	fullNumerator, fullDenominator = 13, 16
	// maxDepth leaves the low bits of a hash, by which a section is addressed.
	maxDepth = 22
)

// newIndex returns an index with room for some entries.
func newIndex(count int) *index {
	x := &index{}
	size := leastSection
	for count*fullDenominator > size*fullNumerator && size < mostSection {
		size *= 2
	}
	for count>>x.depth > mostSection*3/4 && x.depth < maxDepth {
		x.depth++
	}
	x.sections = make([]*section, 1<<x.depth)
	for i := range x.sections {
		x.sections[i] = x.newSection(uint32(uint64(i)<<(32-x.depth)), x.depth, size)
	}
	return x
}

func (x *index) newSection(prefix uint32, depth uint8, size int) *section {
	x.memory += sectionSize + size*8
	return &section{prefix: prefix, depth: depth, slots: make([]uint64, size)}
}

func (x *index) size() int { return x.memory + cap(x.sections)*8 }

func (x *index) section(hash uint32) *section {
	return x.sections[uint64(hash)<<x.depth>>32]
}

// put adds an entry.
func (x *index) put(hash, num uint32) {
	s, e := x.section(hash), uint64(hash)<<32|uint64(num+1)
	if s.away {
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

func (s *section) put(e uint64) {
	mask := len(s.slots) - 1
	at := int(e>>32) & mask
	for s.slots[at] != 0 {
		at = (at + 1) & mask
	}
	s.slots[at] = e
	s.used++
}

// entry returns the place of an entry, -1 if there is none.
func (s *section) entry(hash, num uint32) int {
	mask := len(s.slots) - 1
	want := uint64(hash)<<32 | uint64(num+1)
	for at := int(hash) & mask; s.slots[at] != 0; at = (at + 1) & mask {
		if s.slots[at] == want {
			return at
		}
	}
	return -1
}

// move has an entry tell of another leaf. Only of spoilt pages it is not there.
func (x *index) move(hash, from, to uint32) {
	s := x.section(hash)
	before, now := uint64(hash)<<32|uint64(from+1), uint64(hash)<<32|uint64(to+1)
	if s.away {
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

// remove removes an entry of a section in memory. Only of spoilt pages it is not there.
func (x *index) remove(hash, num uint32) {
	s := x.section(hash)
	hole := s.entry(hash, num)
	if hole < 0 {
		return
	}
	if s.takeOut(hole); x.paged && s.entry(hash, num) >= 0 {
		x.alter(s)
	} else {
		x.note(s, uint64(hash)<<32|uint64(num+1)|entryGone)
	}
	if len(s.slots) > leastSection && int(s.used) < len(s.slots)/8 {
		x.resize(s, len(s.slots)/4)
	}
}

// resize gives a section another number of places.
func (x *index) resize(s *section, size int) {
	old := s.slots
	x.memory += (size - len(old)) * 8
	s.slots, s.used = make([]uint64, size), 0
	for _, e := range old {
		if e != 0 {
			s.put(e)
		}
	}
}

// grow gives a section more places, or makes two of it. It returns that of the hash.
func (x *index) grow(s *section, hash uint32) *section {
	if len(s.slots) < mostSection || s.depth >= maxDepth {
		x.resize(s, 2*len(s.slots))
		return s
	}
	if s.depth == x.depth {
		twice := make([]*section, 2*len(x.sections))
		for i, s := range x.sections {
			twice[2*i], twice[2*i+1] = s, s
		}
		x.sections = twice
		x.depth++
	}
	depth := s.depth + 1
	halves := [2]*section{x.newSection(s.prefix, depth, mostSection),
		x.newSection(s.prefix|1<<(32-depth), depth, mostSection)}
	for _, e := range s.slots {
		if e != 0 {
			halves[e>>(64-depth)&1].put(e)
		}
	}
	x.memory -= sectionSize + len(s.slots)*8
	x.dropOps(s)
	if x.paged {
		x.drop(s)
		x.alter(halves[0])
		x.alter(halves[1])
	}
	// The places in the table of those that have the prefix of the section.
	width := 1 << (x.depth - s.depth)
	first := int(uint64(hash)<<x.depth>>32) &^ (width - 1)
	for i := range width {
		x.sections[first+i] = halves[i*2/width]
	}
	return x.section(hash)
}
