package zset

import (
	"encoding/binary"
	"math"
)

// Reset makes s an empty set. One of its leaves becomes the next one.
func (s *Set) Reset() {
	l := s.only
	if l == nil {
		l = s.spare
	}
	if l != nil {
		*l = leaf{buf: l.buf[:0], slots: l.slots[:0]}
	}
	*s = Set{promised: -1, tree: tree{leaves: leaves{keys: s.keys, spare: l, numbered: s.numbered[:0], free: s.free[:0]}}}
}

// IsCompact reports whether the set is one small leaf.
func (s *Set) IsCompact(limit int) bool { return s.only != nil && len(s.only.buf) <= limit }

// scoreLengths are the lengths that a score has in a record, by its code. Most scores
// are small integers, of whose bits all but the first are zero.
var scoreLengths = [4]int{2, 3, 4, scoreSize}

// scoreCode is the code of the shortest length for the bits of a score.
func scoreCode(score uint64) int {
	code := 0
	for score<<(8*scoreLengths[code]) != 0 { // 64 is 0
		code++
	}
	return code
}

// AppendCompact appends a set of one leaf, without the zero bytes at the end of scores:
//
//	longest | peak (uvarints) | for each entry:
//	length of member << 2 | code of the score's length (uvarint) | score | member
func (s *Set) AppendCompact(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.longest))
	dst = binary.AppendUvarint(dst, uint64(s.peak))
	for i := range s.only.slots {
		b, member := s.only.entry(i)
		score := math.Float64bits(scoreOf(b))
		code := scoreCode(score)
		dst = binary.AppendUvarint(dst, uint64(len(member))<<2|uint64(code))
		var bits [scoreSize]byte
		binary.BigEndian.PutUint64(bits[:], score)
		dst = append(dst, bits[:scoreLengths[code]]...)
		dst = append(dst, member...)
	}
	return dst
}

// LoadCompact makes s the set that AppendCompact appended.
func (s *Set) LoadCompact(b []byte) {
	l := s.only
	if l == nil {
		l = s.spare
	}
	if l == nil {
		l = &leaf{}
	}
	longest, w := binary.Uvarint(b)
	b = b[w:]
	peak, w := binary.Uvarint(b)
	b = b[w:]
	*l = leaf{buf: l.buf[:0], slots: l.slots[:0]}
	for len(b) > 0 {
		head, w := binary.Uvarint(b)
		n, size := scoreLengths[head&3], int(head>>2)
		var bits [scoreSize]byte
		copy(bits[:], b[w:w+n])
		score := binary.BigEndian.Uint64(bits[:])
		member := b[w+n : w+n+size]
		l.slots = append(l.slots, slot(len(l.buf))<<16)
		l.buf = binary.BigEndian.AppendUint64(l.buf, scoreBits(math.Float64frombits(score)))
		l.buf = binary.AppendUvarint(l.buf, uint64(size))
		l.buf = append(l.buf, member...)
		b = b[w+n+size:]
	}
	*s = Set{
		tree: tree{only: l, leaves: leaves{keys: s.keys, live: 1, memory: l.memory(),
			numbered: append(s.numbered[:0], l), free: s.free[:0]}},
		count: l.len(), promised: -1, longest: uint32(longest), peak: uint32(peak),
	}
	s.alter(l)
}
