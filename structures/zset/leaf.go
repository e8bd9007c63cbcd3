package zset

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// leaf is a run of consecutive entries: the bytes of its page, and where each of
// them begins.
type leaf struct {
	buf   []byte // of one that is evicted the score of the first entry and the beginning of its member, a stub
	slots []slot
	up    *branch // nil in a set of one leaf
	num   uint32  // of the leaf and its page
	size  uint32  // of the page if it is evicted
	count uint16  // of entries if it is evicted
	paged.DeltaState
	gained *gains // since its page was written, see deltas.go
}

// slot is the offset of an entry << 16 | its tag: the low bits of the hash of the
// member, 0 in a set of one leaf.
type slot uint32

const (
	leafSize = int(unsafe.Sizeof(leaf{}))
	slotSize = int(unsafe.Sizeof(slot(0)))
	// leafBytes bounds the entries of a leaf: larger ones would make pages that
	// cost more to write, smaller ones more leaves. An entry that does not fit has a
	// leaf of its own, so that offsets have 16 bits.
	leafBytes = 2048
	// A leaf below sparseBytes joins a neighbour if both have joinedBytes at most:
	// far less than what splits them again.
	sparseBytes = leafBytes / 4
	joinedBytes = leafBytes * 3 / 4
	// leafGain bounds what a leaf in memory gains until its page is written whole.
	leafGain = leafBytes / 4
	// stubBytes is how much of its first member an evicted leaf keeps. Scores that are
	// equal are told apart by that; if they are not, the leaf is read.
	stubBytes = 24
)

// tagOf is the tag of a member with a hash.
func tagOf(hash uint32) uint16 { return uint16(hash) }

// len is the number of entries.
func (l *leaf) len() int {
	switch {
	case !l.Evicted:
		return len(l.slots)
	case l.gained == nil:
		return int(l.count)
	}
	return int(l.count) + l.gained.count
}

func (l *leaf) memory() int {
	return leafSize + cap(l.buf) + cap(l.slots)*slotSize + l.gained.memory()
}

// big reports that the leaf is that of one entry that is larger than leaves are.
func (l *leaf) big() bool { return len(l.buf) > leafBytes }

// offset is where entry i begins, or the end of the last one.
func (l *leaf) offset(i int) int {
	if i == len(l.slots) {
		return len(l.buf)
	}
	return int(l.slots[i] >> 16)
}

// entry returns entry i.
func (l *leaf) entry(i int) (b uint64, member []byte) {
	b, member, _ = readEntry(l.buf, int(l.slots[i]>>16))
	return b, member
}

func (l *leaf) member(i int) []byte {
	_, member := l.entry(i)
	return member
}

func (l *leaf) order(i int) uint64 {
	b, _ := l.entry(i)
	return orderOf(b)
}

// first is the order of the first entry, which is known of an evicted leaf too.
func (l *leaf) first() uint64 { return orderOf(binary.BigEndian.Uint64(l.buf)) }

// setScore gives entry i another score.
func (l *leaf) setScore(i int, b uint64) {
	binary.BigEndian.PutUint64(l.buf[l.slots[i]>>16:], b)
}

// findTag returns the index of a member by its tag, -1 if it is not there.
func (l *leaf) findTag(tag uint16, member []byte) int {
	for i, s := range l.slots {
		if uint16(s) != tag {
			continue
		}
		if _, m := l.entry(i); bytes.Equal(m, member) {
			return i
		}
	}
	return -1
}

// find returns the index of a member in a leaf without tags, -1 if it is not there.
func (l *leaf) find(member []byte) int {
	for i := range l.slots {
		if _, m := l.entry(i); len(m) == len(member) && bytes.Equal(m, member) {
			return i
		}
	}
	return -1
}

// insert makes an entry the one with index i.
func (l *leaf) insert(i int, b uint64, member []byte, tag uint16) {
	at, need, end := l.offset(i), entrySize(member), len(l.buf)
	if end+need > cap(l.buf) {
		l.buf = structures.GrowTo(l.buf, end+need+min((end+need)/8, leafBytes/8)+8)
	}
	l.buf = l.buf[:end+need]
	copy(l.buf[at+need:], l.buf[at:end])
	writeEntry(l.buf[at:], b, member)
	n := len(l.slots)
	if n == cap(l.slots) {
		l.slots = append(make([]slot, 0, n+n/8+4), l.slots...)
	}
	l.slots = l.slots[:n+1]
	for j := n; j > i; j-- {
		l.slots[j] = l.slots[j-1] + slot(need)<<16
	}
	l.slots[i] = slot(at)<<16 | slot(tag)
}

// cut removes the entries from one index to another.
func (l *leaf) cut(from, to int) {
	lo, hi := l.offset(from), l.offset(to)
	l.buf = append(l.buf[:lo], l.buf[hi:]...)
	for j := to; j < len(l.slots); j++ {
		l.slots[j-to+from] = l.slots[j] - slot(hi-lo)<<16
	}
	l.slots = l.slots[:len(l.slots)-(to-from)]
	l.shrink()
}

// shrink gives the leaf buffers of the size that it needs, if more than half of
// the old ones is free.
func (l *leaf) shrink() {
	if cap(l.buf) > 2*len(l.buf)+64 {
		l.buf = append(make([]byte, 0, len(l.buf)+len(l.buf)/8), l.buf...)
		l.slots = append(make([]slot, 0, len(l.slots)+len(l.slots)/8), l.slots...)
	}
}

// take appends the entries of another leaf from one index to another.
func (l *leaf) take(o *leaf, from, to int) {
	lo, hi := o.offset(from), o.offset(to)
	at := len(l.buf)
	l.buf = structures.Append(slices.Grow(l.buf, hi-lo), o.buf[lo:hi])
	l.slots = slices.Grow(l.slots, to-from)
	for _, s := range o.slots[from:to] {
		l.slots = append(l.slots, s-slot(lo)<<16+slot(at)<<16)
	}
}

// load makes the leaf that of a page, whose tags are not known. The bytes are
// copied. A bad page gives ErrCorrupt.
func (l *leaf) load(page []byte) error {
	n, rest := 0, page
	for ; len(rest) > 0 && !isDelta(rest, leafMark); n++ {
		_, _, size, err := parseEntry(rest)
		if err != nil {
			return err
		}
		rest = rest[size:]
	}
	page = page[:len(page)-len(rest)]
	if n > 1 && len(page) > leafBytes || n == 0 && len(rest) > 0 {
		return errLargePage
	}
	l.buf = structures.Append(l.buf[:0], page)
	l.slots = slices.Grow(l.slots[:0], n)
	l.scan()
	return l.loadDeltas(rest)
}

// scan finds out where the entries of buf begin.
func (l *leaf) scan() {
	l.slots = l.slots[:0]
	for at := 0; at < len(l.buf); {
		_, _, size := readEntry(l.buf, at)
		l.slots = append(l.slots, slot(at)<<16)
		at += size
	}
}

// makeStub leaves of a leaf the score and a part of the member with which it begins.
func (l *leaf) makeStub(score uint64, member []byte) {
	stub := make([]byte, 0, scoreSize+len(member))
	l.buf = append(binary.BigEndian.AppendUint64(stub, score), member...)
	l.slots = nil
}

// compareStub compares the first member of an evicted leaf with another; 0 if it is
// not known how they differ, or if they do.
func (l *leaf) compareStub(member []byte) int {
	stub := l.buf[scoreSize:]
	if len(stub) == stubBytes {
		member = member[:min(len(member), stubBytes)]
	}
	return bytes.Compare(stub, member)
}

// bytes is the size of the entries of a leaf.
func (l *leaf) bytes() int {
	switch {
	case !l.Evicted:
		return len(l.buf)
	case l.gained == nil:
		return int(l.size)
	}
	return int(l.size) + len(l.gained.buf)
}

// takes reports that an entry of a new member can be added to an evicted leaf without
// reading it: behind its first entry, which stays what is known of it.
func (l *leaf) takes(b uint64, need int) bool {
	return l.Evicted && orderOf(b) > l.first() && l.bytes()+need <= leafBytes && l.len() < math.MaxUint16
}

// cost is about what writing the page of a leaf costs, in bytes.
func (l *leaf) cost() int { return l.Cost(l.gained.unwritten(), 2*leafGain, leafBytes) }

func (l *leaf) byDelta() bool { return l.ByDelta(l.gained.unwritten(), 2*leafGain) }
