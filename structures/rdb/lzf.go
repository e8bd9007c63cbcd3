package rdb

import (
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// LZF is a sequence of
//
//	000nnnnn | n+1 bytes                  the bytes themselves
//	nnnooooo | oooooooo                   n+2 bytes (n 1 to 6) that already stand o+1 bytes back
//	111ooooo | nnnnnnnn | oooooooo        n+9 bytes, likewise
//
// What stands back may reach into what is being written: an offset of 0 repeats
// the last byte.
const (
	lzfLiteral = 32      // longest run of literal bytes
	lzfCopy    = 264     // longest copy
	lzfWindow  = 1 << 13 // a copy reaches no further back
	// lzfFactor is the most that LZF can stretch: 3 bytes for the longest copy.
	lzfFactor = lzfCopy / 3
)

// expandLZF appends size bytes that src stands for to dst.
func expandLZF(dst, src []byte, size uint64) ([]byte, error) {
	if err := checkLZF(src, size); err != nil {
		return dst, err
	}
	return inflate(grow(dst, int(size)), src, int(size), nil)
}

// checkLZF refuses a size that src cannot have, before memory is asked for.
func checkLZF(src []byte, size uint64) error {
	if size > lzfFactor*uint64(len(src)) {
		return damaged("%d bytes of LZF for %d", len(src), size)
	}
	return nil
}

// inflate appends the size bytes that src stands for to dst, and does not look
// at what was there before. If drain is not nil it is called after each step,
// and may take from the front what is further than lzfWindow from the end: it
// returns what is left. dst is empty then at the beginning.
func inflate(dst, src []byte, size int, drain func(dst []byte) ([]byte, error)) (_ []byte, err error) {
	from := len(dst)
	for at := 0; at < len(src); {
		ctrl := int(src[at])
		at++
		if ctrl < lzfLiteral {
			n := ctrl + 1
			if n > len(src)-at || n > size {
				return dst, errLZF
			}
			dst = append(dst, src[at:at+n]...)
			at, size = at+n, size-n
		} else {
			n := ctrl >> 5
			if n == 7 && at < len(src) {
				n += int(src[at])
				at++
			}
			if at >= len(src) {
				return dst, errLZF
			}
			n += 2
			back := len(dst) - (ctrl&31<<8 | int(src[at])) - 1
			if back < from || n > size {
				return dst, errLZF
			}
			dst = copyBack(dst, back, n)
			at, size = at+1, size-n
		}
		if drain != nil {
			if dst, err = drain(dst); err != nil {
				return dst, err
			}
		}
	}
	if size != 0 {
		return dst, errLZF
	}
	return dst, nil
}

var errLZF = fmt.Errorf("damaged LZF: %w", structures.ErrCorrupt)

// copyBack appends the n bytes from back on, which may overlap what it appends:
// each round can copy all that has been written since back.
func copyBack(dst []byte, back, n int) []byte {
	for n > 0 {
		m := min(n, len(dst)-back)
		dst = append(dst, dst[back:back+m]...)
		n -= m
	}
	return dst
}

// grow makes room for n bytes more.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return append(make([]byte, 0, len(b)+n), b...)
}

// appendZeros writes a string of n bytes, which part appends piece by piece from an offset on: in LZF if that is shorter, as it
// is with many zeros. All pages of the value must be in memory.
func appendZeros(dst []byte, n uint64, part func(dst []byte, off uint64) []byte) []byte {
	var packed, piece []byte
	for off := uint64(0); off < n && uint64(len(packed)) < n; off += uint64(len(piece)) {
		piece = part(piece[:0], off)
		packed = shrinkZeros(packed, piece)
	}
	if uint64(len(packed)) < n {
		return structures.Append(appendPacked(dst, n, uint64(len(packed))), packed)
	}
	dst = structures.Grow(appendLength(dst, n), int(n))
	for from, end := len(dst), len(dst)+int(n); len(dst) < end; {
		dst = part(dst, uint64(len(dst)-from))
	}
	return dst
}

// shrinkZeros appends src in LZF to dst. Only runs of zeros become shorter: the
// bits of a Bloom filter have no other repetitions, and a filter that is hardly
// filled is nearly all zeros.
func shrinkZeros(dst, src []byte) []byte {
	for len(src) > 0 {
		lit := literalRun(src)
		dst = append(append(dst, byte(lit-1)), src[:lit]...)
		src = src[lit:]
		if dst[len(dst)-1] != 0 {
			continue
		}
		for n := zeroRun(src); n >= minZeros; n = zeroRun(src) {
			dst, src = appendCopy(dst, 1, n), src[n:]
		}
	}
	return dst
}

// minZeros is the least number of zeros that is shorter as a copy.
const minZeros = 3

// literalRun is the length of the next run of literals: up to the first zero of
// a run that is worth a copy, this zero included.
func literalRun(src []byte) int {
	n := min(len(src), lzfLiteral)
	for i := range n {
		if src[i] == 0 && zeroRun(src[i+1:]) >= minZeros {
			return i + 1
		}
	}
	return n
}

// zeroRun counts the zeros at the beginning, up to what one copy can have.
func zeroRun(src []byte) int {
	n := 0
	for n < len(src) && n < lzfCopy && src[n] == 0 {
		n++
	}
	return n
}
