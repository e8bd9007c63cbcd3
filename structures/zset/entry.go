package zset

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/vigildb/vigil/structures"
)

// An entry is a member with its score. The same bytes are in memory and on disk.
// This layout is on disk and never changes.
//
//	score (8, big endian, see scoreBits) | length of member (uvarint) | member
const scoreSize = 8

// minusZero is the score -0. It has the place of 0, but is shown as it was given.
const minusZero = 1<<63 - 1

// scoreBits are the bits of a score as an unsigned number whose order is that of
// the scores: all bits of negative numbers are turned round, and the sign of others.
// This is on disk and never changes.
func scoreBits(score float64) uint64 {
	b := math.Float64bits(score)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// scoreOf is the score of bits.
func scoreOf(b uint64) float64 {
	if b>>63 != 0 {
		return math.Float64frombits(b &^ (1 << 63))
	}
	return math.Float64frombits(^b)
}

// orderOf is the place of a score among others: two scores are equal if their
// places are.
func orderOf(b uint64) uint64 {
	if b == minusZero {
		return b + 1
	}
	return b
}

// entrySize is the size of the entry of a member.
func entrySize(member []byte) int {
	return scoreSize + (bits.Len(uint(len(member))|1)+6)/7 + len(member)
}

// writeEntry puts an entry at the beginning of dst, which has room.
func writeEntry(dst []byte, b uint64, member []byte) {
	binary.BigEndian.PutUint64(dst, b)
	n := scoreSize + binary.PutUvarint(dst[scoreSize:], uint64(len(member)))
	structures.Copy(dst[n:], member)
}

// readEntry reads the entry at an offset of a buffer that this package wrote.
func readEntry(buf []byte, at int) (b uint64, member []byte, size int) {
	b = binary.BigEndian.Uint64(buf[at:])
	n, w := int(buf[at+scoreSize]), 1
	if n >= 0x80 {
		var v uint64
		v, w = binary.Uvarint(buf[at+scoreSize:])
		n = int(v)
	}
	from := at + scoreSize + w
	return b, buf[from : from+n : from+n], scoreSize + w + n
}

// parseEntry reads the first entry of bytes that may be anything.
func parseEntry(buf []byte) (b uint64, member []byte, size int, err error) {
	if len(buf) < scoreSize {
		return 0, nil, 0, fmt.Errorf("score of %d bytes: %w", len(buf), structures.ErrCorrupt)
	}
	b = binary.BigEndian.Uint64(buf)
	if math.IsNaN(scoreOf(b)) {
		return 0, nil, 0, fmt.Errorf("score that is no number: %w", structures.ErrCorrupt)
	}
	n, w := binary.Uvarint(buf[scoreSize:])
	if w <= 0 || n > uint64(len(buf)-scoreSize-w) {
		return 0, nil, 0, fmt.Errorf("length of a member: %w", structures.ErrCorrupt)
	}
	from := scoreSize + w
	return b, buf[from : from+int(n)], from + int(n), nil
}
