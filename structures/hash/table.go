package hash

import (
	"math"
	"unsafe"

	"github.com/vigildb/vigil/structures/paged"
)

// A large hash is a tree over the bits of its fields' hashes. A branch has 64
// places for 6 bits; a segment takes 1, 2, 4 ... or all of them, as many as
// have its prefix. Where no field is, places are empty. One segment needs no branch.
//
// It grows by the split of one segment of some kilobytes, and shrinks by the
// joining of two. No operation touches all fields, the collector sees one
// object for a hundred fields, and a segment is a page on disk.
const (
	branchBits = 6
	branchSize = int(unsafe.Sizeof(branch{}))
	// maxDepth bounds the depth of segments to five whole branches. With the
	// 32 bits of a tag that is nearly all of a hash.
	maxDepth = 5 * branchBits
)

type branch [1 << branchBits]*segment

type table struct {
	root     *branch  // nil while there is one segment, or none
	only     *segment // if root is nil: of depth 0
	memory   int      // of segments and branches
	live     int      // bytes of entries
	segments int
	scratch  []byte
}

// hashOf is the place of a field in the table. Its first bits choose the page.
func (h *Hash) hashOf(field []byte) uint64 { return h.keys.Fields.Sum(field) }

// seek returns the place of a hash: its branch, the level of that, and the
// segment there, nil if the place is empty. A table without branches gives nil, 0 and its
// segment.
func (t *table) seek(hash uint64) (b *branch, level int, s *segment) {
	if b = t.root; b == nil {
		return nil, 0, t.only
	}
	for {
		s = b[placeOf(hash, level)]
		if s == nil || s.below == nil {
			return b, level, s
		}
		b = s.below
		level++
	}
}

// placeOf is the place of a hash in a branch of a level.
func placeOf(hash uint64, level int) int {
	return int(hash >> (64 - branchBits*(level+1)) & (1<<branchBits - 1))
}

// levelOf is the level of the branch that holds segments of a depth.
func levelOf(depth uint8) int { return max(int(depth)-1, 0) / branchBits }

// span returns the first place and the number of places, in a branch of a
// level, of hashes that share their first depth bits with prefix.
func span(prefix uint64, depth uint8, level int) (first, width int) {
	width = 1 << (branchBits*(level+1) - int(depth))
	return placeOf(prefix, level) &^ (width - 1), width
}

// fill puts s, which may be nil, on all places of a prefix.
func (b *branch) fill(prefix uint64, depth uint8, level int, s *segment) {
	first, width := span(prefix, depth, level)
	for i := range width {
		b[first+i] = s
	}
}

// after returns the first hash after the place of a hash, 0 if that was the
// last place.
func after(hash uint64, level int, s *segment) uint64 {
	if s != nil {
		return s.prefix + 1<<(64-s.depth) // depth 0: 1<<64 is 0
	}
	width := uint64(1) << (64 - branchBits*(level+1))
	return hash&^(width-1) + width
}

// each visits the segments in the order of hashes, from the one at hash on,
// until visit returns false. Visit may split or join segments.
func (t *table) each(hash uint64, visit func(s *segment) bool) {
	for {
		_, level, s := t.seek(hash)
		next := after(hash, level, s)
		if s != nil && !visit(s) || next == 0 {
			return
		}
		hash = next
	}
}

// tableFind returns the segment of a field, its slot there and its entry.
func (h *Hash) tableFind(field []byte) (s *segment, i int, e entry, found bool) {
	hash := h.hashOf(field)
	_, _, s = h.table.seek(hash)
	if s == nil || s.Evicted && !s.has(s.tag(hash), field) || !h.touch(s) {
		return nil, 0, entry{}, false
	}
	i, e, found = s.find(s.tag(hash), field)
	return s, i, e, found
}

// tablePut sets a field, and returns the expiry that it had (0 for none).
func (h *Hash) tablePut(field, value []byte, expiry int64) (was int64, created bool) {
	t, hash := h.table, h.hashOf(field)
	b, level, s := t.seek(hash)
	if s == nil {
		s = t.newSegment(b, level, hash)
	} else if s.Evicted && (expiry > 0 || !s.takes(s.tag(hash), 1, hashEntrySize(field, value, 0))) && !h.touch(s) {
		return 0, false
	}
	scratch := &t.scratch
	if t.segments < 4 {
		scratch = nil
	}
	memory, live, due := s.memory(), s.live(), s.unwritten()
	was, created = s.put(h.keys.Fields, hash, field, value, expiry, scratch)
	t.memory += s.memory() - memory
	t.live += s.live() - live
	h.pages.Due += s.unwritten() - due
	if s.full() {
		h.split(b, level, s)
	}
	return was, created
}

// fresh is the state of a segment that is new.
var fresh = paged.DeltaState{State: paged.State{Dirty: true}}

// newSegment makes a segment for an empty place of a branch, and for as many
// empty places around it as one prefix covers. A table without branches gets its first.
func (t *table) newSegment(b *branch, level int, hash uint64) *segment {
	s := &segment{nextExpiry: math.MaxInt64, DeltaState: fresh}
	if b == nil {
		t.only = s
	} else {
		s.depth = uint8(branchBits * (level + 1))
		least := uint8(branchBits*level + 1)
		for s.depth > least && b.empty(hash, s.depth-1, level) {
			s.depth--
		}
		s.prefix = hash &^ (math.MaxUint64 >> s.depth)
		b.fill(hash, s.depth, level, s)
	}
	t.memory += segmentSize
	t.segments++
	return s
}

// empty reports whether all places of a prefix are empty.
func (b *branch) empty(prefix uint64, depth uint8, level int) bool {
	first, width := span(prefix, depth, level)
	for i := range width {
		if b[first+i] != nil {
			return false
		}
	}
	return true
}

// split divides a full segment, and its halves if they are full. A half
// without fields leaves its places empty.
func (h *Hash) split(b *branch, level int, s *segment) {
	t := h.table
	if b == nil {
		t.only, t.root = nil, new(branch)
		t.memory += branchSize
		b = t.root
	} else if int(s.depth) == branchBits*(level+1) {
		below := &segment{below: new(branch)}
		b[placeOf(s.prefix, level)] = below
		t.memory += segmentSize + branchSize
		b, level = below.below, level+1
	}
	count, size := s.lower(s.tag(s.prefix|1<<(63-s.depth))), 0
	for _, p := range s.slots[:count] {
		e := readEntry(s.buf, int(p.at))
		size += e.size
	}
	left := h.descend(s, 0, s.slots[:count], size)
	right := h.descend(s, 1, s.slots[count:], s.live()-size)
	h.retire(s)
	h.settleHalf(b, level, left)
	h.settleHalf(b, level, right)
}

// descend makes the half of s whose next bit is given from slots of s, with
// size bytes of entries.
func (h *Hash) descend(s *segment, bit uint64, slots []slot, size int) *segment {
	to := &segment{depth: s.depth + 1, prefix: s.prefix | bit<<(63-s.depth), nextExpiry: math.MaxInt64, DeltaState: fresh}
	to.reserve(len(slots), size)
	h.move(to, s, slots)
	return to
}

// move adds entries of a segment to another one.
func (h *Hash) move(to, from *segment, slots []slot) {
	same := to.tagFrom() == from.tagFrom()
	for _, p := range slots {
		e := readEntry(from.buf, int(p.at))
		if !same {
			p.tag = to.tag(h.hashOf(e.field))
		}
		to.adopt(p.tag, from.buf[e.at:e.at+e.size], e.expiry)
	}
}

// reserve makes buffers for n fields in size bytes and an eighth more.
func (s *segment) reserve(n, size int) {
	s.slots = make([]slot, 0, n+n/8)
	s.buf = make([]byte, 0, size+size/8)
}

// settleHalf puts half of a split segment in its place.
func (h *Hash) settleHalf(b *branch, level int, s *segment) {
	if len(s.slots) == 0 {
		b.fill(s.prefix, s.depth, level, nil)
		return
	}
	b.fill(s.prefix, s.depth, level, s)
	h.table.memory += s.memory()
	h.table.live += s.live()
	h.pages.Due += s.unwritten()
	h.table.segments++
	if s.full() {
		h.split(b, level, s)
	}
}
