package zset

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// IsCompact reports whether the set is one small leaf.
func (s *Set) IsCompact(limit int) bool { return s.only != nil && len(s.only.buf) <= limit }

// AppendCompact appends a set of one leaf. Most scores are small integers, of whose
// bits the last bytes are zero and left out:
//
//	longest | peak (uvarints) | for each entry:
//	length of member << 4 | bytes of score (uvarint) | score | member
func (s *Set) AppendCompact(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.longest))
	dst = binary.AppendUvarint(dst, uint64(s.peak))
	for i := range s.only.slots {
		b, member := s.only.entry(i)
		score := math.Float64bits(scoreOf(b))
		n := scoreSize - bits.TrailingZeros64(score)/8
		dst = binary.AppendUvarint(dst, uint64(len(member))<<4|uint64(n))
		for shift := 56; n > 0; n-- {
			dst = append(dst, byte(score>>shift))
			shift -= 8
		}
		dst = append(dst, member...)
	}
	return dst
}

// LoadCompact makes s the set that AppendCompact appended.
func (s *Set) LoadCompact(b []byte) {
	l := s.only
	if l == nil {
		l = &leaf{}
	}
	longest, w := binary.Uvarint(b)
	b = b[w:]
	peak, w := binary.Uvarint(b)
	b = b[w:]
	l.buf, l.slots = l.buf[:0], l.slots[:0]
	for len(b) > 0 {
		head, w := binary.Uvarint(b)
		n, size := int(head&15), int(head>>4)
		score := uint64(0)
		for _, x := range b[w : w+n] {
			score = score<<8 | uint64(x)
		}
		score <<= (scoreSize - n) * 8 // 64 if n is 0, of a score that is 0 anyway
		member := b[w+n : w+n+size]
		l.slots = append(l.slots, slot(len(l.buf))<<16)
		l.buf = binary.BigEndian.AppendUint64(l.buf, scoreBits(math.Float64frombits(score)))
		l.buf = binary.AppendUvarint(l.buf, uint64(size))
		l.buf = append(l.buf, member...)
		b = b[w+n+size:]
	}
	*s = Set{
		keys: s.keys, only: l, count: l.len(), live: 1, memory: l.memory(), promised: -1,
		leaves: append(s.leaves[:0], l), marks: append(s.marks[:0], 0), free: s.free[:0], changed: s.changed[:0],
		longest: uint32(longest), peak: uint32(peak),
	}
	l.num, l.up = 0, nil
	s.touch(0)
}
