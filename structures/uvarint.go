package structures

import (
	"encoding/binary"
	"math/bits"
)

// UvarintLen is the length of v as an uvarint.
func UvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// uvarint is binary.Uvarint, and sooner done for one byte, which is what most are.
func uvarint(b []byte) (v uint64, w int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}

// ReadUvarint reads the uvarint that b begins with, and its length. b is not checked.
func ReadUvarint(b []byte) (v, w int) {
	for shift := 0; ; shift += 7 {
		x := b[w]
		w++
		v |= int(x&0x7f) << shift
		if x < 0x80 {
			return v, w
		}
	}
}
