package bits

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// RangeUnit says what the bounds of a BITCOUNT or BITPOS range count.
type RangeUnit uint8

const (
	InBytes RangeUnit = iota
	InBits
)

// At returns the bit at offset off, and 0 behind the end of b.
func At(b []byte, off uint64) int {
	if off>>3 >= uint64(len(b)) {
		return 0
	}
	return int(b[off>>3] >> (7 - off&7) & 1)
}

// Put sets the bit at offset off, which must lie within b, and returns what
// it was.
func Put(b []byte, off uint64, bit int) (old int) {
	mask := byte(0x80) >> (off & 7)
	if b[off>>3]&mask != 0 {
		old = 1
	}
	if bit != 0 {
		b[off>>3] |= mask
	} else {
		b[off>>3] &^= mask
	}
	return old
}

// CountBits returns the number of bits set in b.
func CountBits(b []byte) int64 {
	var n0, n1 int
	for ; len(b) >= 32; b = b[32:] {
		n0 += bits.OnesCount64(binary.LittleEndian.Uint64(b)) +
			bits.OnesCount64(binary.LittleEndian.Uint64(b[8:]))
		n1 += bits.OnesCount64(binary.LittleEndian.Uint64(b[16:])) +
			bits.OnesCount64(binary.LittleEndian.Uint64(b[24:]))
	}
	for ; len(b) >= 8; b = b[8:] {
		n0 += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	for _, x := range b {
		n0 += bits.OnesCount8(x)
	}
	return int64(n0 + n1)
}

// Count returns the number of bits set between start and end, both
// included, as BITCOUNT does. Negative bounds count from the end; bounds
// outside b are moved to its ends; a range that is empty counts 0.
func Count(b []byte, start, end int64, unit RangeUnit) int64 {
	// Two negative bounds in the wrong order stay an empty range even where
	// both would be moved to the first byte.
	if start < 0 && end < 0 && start > end {
		return 0
	}
	first, last, ok := bitSpan(len(b), start, end, unit)
	if !ok {
		return 0
	}
	lo, hi := first>>3, last>>3
	head := byte(0xff) >> (first & 7)
	tail := byte(0xff) << (7 - last&7)
	if lo == hi {
		return int64(bits.OnesCount8(b[lo] & head & tail))
	}
	return int64(bits.OnesCount8(b[lo]&head)+bits.OnesCount8(b[hi]&tail)) + CountBits(b[lo+1:hi])
}

// Each visits the positions of the bits of one value in a range, which is that of Count, in their
// order, until visit returns false.
func Each(b []byte, bit int, start, end int64, unit RangeUnit, visit func(at int64) bool) {
	if start < 0 && end < 0 && start > end {
		return
	}
	first, last, ok := bitSpan(len(b), start, end, unit)
	if !ok {
		return
	}
	for at := first >> 3; at <= last>>3; at++ {
		x := b[at]
		if bit == 0 {
			x = ^x
		}
		if at == first>>3 {
			x &= 0xff >> (first & 7)
		}
		if at == last>>3 {
			x &= 0xff << (7 - last&7)
		}
		for x != 0 {
			lead := bits.LeadingZeros8(x)
			if !visit(at*8 + int64(lead)) {
				return
			}
			x &^= 0x80 >> lead
		}
	}
}

// bitSpan turns the bounds of a range over n bytes into the first and the last
// bit; ok is false for an empty range.
func bitSpan(n int, start, end int64, unit RangeUnit) (first, last int64, ok bool) {
	total := int64(n)
	if unit == InBits {
		total *= 8
	}
	if start < 0 {
		start = max(start+total, 0)
	}
	if end < 0 {
		end = max(end+total, 0)
	}
	end = min(end, total-1)
	if start > end {
		return 0, 0, false
	}
	if unit == InBits {
		return start, end, true
	}
	return start * 8, end*8 + 7, true
}

// Search is the range of a BITPOS.
type Search struct {
	Start, End int64
	Unit       RangeUnit
	// HasEnd says that End was given. Without it the search goes to the end of
	// the string, and the string counts as continued by zeros.
	HasEnd bool
}

// Find returns the position of the first bit in the range that equals bit,
// or -1, as BITPOS does on a key that exists. The position counts from the
// start of the string in every unit. A search for 0 that has no given end and
// finds ones only returns the position behind the string; an empty range
// returns -1.
func Find(b []byte, bit int, r Search) int64 {
	end := r.End
	if !r.HasEnd {
		end = math.MaxInt64
	}
	first, last, ok := bitSpan(len(b), r.Start, end, r.Unit)
	if !ok {
		return -1
	}
	if at := firstBit(b, bit, first, last); at >= 0 {
		return at
	}
	if bit == 0 && !r.HasEnd {
		return int64(len(b)) * 8
	}
	return -1
}

// firstBit searches bits first to last, which lie within b.
func firstBit(b []byte, bit int, first, last int64) int64 {
	var flip uint64
	if bit == 0 {
		flip = math.MaxUint64
	}
	at, end := first>>3, last>>3+1
	// Bits before first are masked out of the first byte only.
	if x := (b[at] ^ byte(flip)) & (0xff >> (first & 7)); x != 0 {
		return notBehind(at*8+int64(bits.LeadingZeros8(x)), last)
	}
	at++
	for ; at+8 <= end; at += 8 {
		if x := binary.BigEndian.Uint64(b[at:]) ^ flip; x != 0 {
			return notBehind(at*8+int64(bits.LeadingZeros64(x)), last)
		}
	}
	for ; at < end; at++ {
		if x := b[at] ^ byte(flip); x != 0 {
			return notBehind(at*8+int64(bits.LeadingZeros8(x)), last)
		}
	}
	return -1
}

// notBehind returns -1 for a position behind last.
func notBehind(pos, last int64) int64 {
	if pos > last {
		return -1
	}
	return pos
}

// Operator is an operation of BITOP.
type Operator uint8

const (
	And Operator = iota
	Or
	Xor
	Not
	Diff  // set in the first source and in no other
	Diff1 // set in another source and not in the first
	AndOr // set in the first source and in another
	One   // set in exactly one source
)

// Combine appends to dst the result of op over srcs and returns it. The
// result is as long as the longest source; shorter ones count as continued by
// zeros, and a missing key is an empty source. Not takes one source and
// ignores others. dst must not overlap a source.
func Combine(dst []byte, op Operator, srcs [][]byte) []byte {
	if len(srcs) == 0 {
		return dst
	}
	longest := 0
	if op == Not {
		srcs = srcs[:1]
	}
	for _, s := range srcs {
		longest = max(longest, len(s))
	}
	base := len(dst)
	dst = structures.Grow(dst, longest)[:base+longest]
	out := dst[base:]
	first, others := srcs[0], srcs[1:]
	for from := 0; from < longest; from += combinedBytes {
		to := min(from+combinedBytes, longest)
		part := out[from:to]
		clear(part[copy(part, first[min(from, len(first)):]):])
		switch op {
		case Not:
			invertBits(part)
		case Diff1:
			joinPart(part, from, Diff, srcs[:1], others)
		case AndOr:
			joinPart(part, from, And, srcs[:1], others)
		case One:
			onePart(part, from, others)
		default:
			combinePart(part, from, op, others)
		}
		if to < longest {
			others = reaching(others, to, op)
		}
	}
	return dst
}

// combinedBytes is how much of the result is made at once: as much as stays in the
// processor's cache while source after source comes.
const combinedBytes = 64 << 10

// combinePart combines part, the result from offset from on, with the sources.
func combinePart(part []byte, from int, op Operator, srcs [][]byte) {
	for _, s := range srcs {
		s = s[min(from, len(s)):min(from+len(part), len(s))]
		switch op {
		case And:
			andBits(part, s)
			clear(part[len(s):])
		case Or:
			orBits(part, s)
		case Xor:
			xorBits(part, s)
		case Diff:
			clearBits(part, s)
		}
	}
}

// joinPart sets part to the union of others, which it combines with first by op.
func joinPart(part []byte, from int, op Operator, first, others [][]byte) {
	clear(part)
	combinePart(part, from, Or, others)
	combinePart(part, from, op, first)
}

// onePart leaves in part, which holds the first source, the bits that are set in
// exactly one source.
func onePart(part []byte, from int, others [][]byte) {
	repeated := make([]byte, len(part))
	for _, s := range others {
		s = s[min(from, len(s)):min(from+len(part), len(s))]
		for i, x := range s {
			repeated[i] |= part[i] & x
			part[i] |= x
		}
	}
	clearBits(part, repeated)
}

// reaching returns the sources that matter from offset from on, so that a million
// short ones are looked at once and not for each part of a long result.
func reaching(srcs [][]byte, from int, op Operator) [][]byte {
	ended := func(s []byte) bool { return len(s) <= from }
	switch {
	case !slices.ContainsFunc(srcs, ended):
		return srcs
	case op == And:
		return [][]byte{nil} // clears what follows
	}
	return slices.DeleteFunc(slices.Clone(srcs), ended)
}

func invertBits(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, ^binary.LittleEndian.Uint64(b))
	}
	for i := range b {
		b[i] = ^b[i]
	}
}

func andBits(dst, src []byte) {
	for ; len(src) >= 8 && len(dst) >= 8; dst, src = dst[8:], src[8:] {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)&binary.LittleEndian.Uint64(src))
	}
	for i, x := range src {
		dst[i] &= x
	}
}

func orBits(dst, src []byte) {
	for ; len(src) >= 8 && len(dst) >= 8; dst, src = dst[8:], src[8:] {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)|binary.LittleEndian.Uint64(src))
	}
	for i, x := range src {
		dst[i] |= x
	}
}

func xorBits(dst, src []byte) {
	for ; len(src) >= 8 && len(dst) >= 8; dst, src = dst[8:], src[8:] {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)^binary.LittleEndian.Uint64(src))
	}
	for i, x := range src {
		dst[i] ^= x
	}
}

// clearBits clears in dst the bits that are set in src.
func clearBits(dst, src []byte) {
	for ; len(src) >= 8 && len(dst) >= 8; dst, src = dst[8:], src[8:] {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)&^binary.LittleEndian.Uint64(src))
	}
	for i, x := range src {
		dst[i] &^= x
	}
}
