package structures

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// Bytes by the hundred megabytes. The Go runtime cannot stop a goroutine within one
// call of copy or clear, or within an append that moves: when it wants to stop the
// world for a collection, every client waits until the last of them is through. 512 MB
// take a tenth of a second, and several when the pages are new and the processors are
// busy. So what may be long is copied a block at a time, between which a goroutine can
// be stopped; make clears like that by itself. A signal to stop hardly ever meets the
// few instructions between two blocks: the goroutine finds out when it enters a function
// that may need more stack, so there is a call for each block.

// blockBytes is what is copied or cleared at once: the runtime's own measure when it
// clears memory.
const blockBytes = 256 << 10

// Copy is the built-in copy for slices of any length.
func Copy(dst, src []byte) int {
	if len(src) <= blockBytes {
		return copy(dst, src)
	}
	return copyBlocks(dst, src)
}

// copyBlocks copies forwards or backwards, whichever slices that overlap need.
func copyBlocks(dst, src []byte) int {
	n := min(len(dst), len(src))
	if n == 0 {
		return 0
	}
	if behind(dst, src[:n]) {
		for end := n; end > 0; end -= min(end, blockBytes) {
			from := max(end-blockBytes, 0)
			copyBlock(dst[from:end], src[from:end])
		}
		return n
	}
	for from := 0; from < n; from += blockBytes {
		end := min(from+blockBytes, n)
		copyBlock(dst[from:end], src[from:end])
	}
	return n
}

// copyBlock is where a goroutine that copies can be stopped.
//
//go:noinline
func copyBlock(dst, src []byte) { copy(dst, src) }

// behind reports whether dst begins within src.
func behind(dst, src []byte) bool {
	from, to := uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(unsafe.Pointer(unsafe.SliceData(dst)))
	return to > from && to-from < uintptr(len(src))
}

// Clear is the built-in clear for slices of any length.
func Clear(b []byte) {
	for ; len(b) > blockBytes; b = b[blockBytes:] {
		clearBlock(b[:blockBytes])
	}
	clearBlock(b)
}

// clearBlock is where a goroutine that clears can be stopped.
//
//go:noinline
func clearBlock(b []byte) { clear(b) }

// Clone returns a copy of b, without room behind it if b is long.
func Clone(b []byte) []byte {
	if len(b) <= blockBytes {
		return append([]byte(nil), b...)
	}
	c := make([]byte, len(b))
	copyBlocks(c, b)
	return c
}

// Grow returns b with room for n more bytes. If b has not that room and is long, it
// gets an eighth more than it needs.
func Grow(b []byte, n int) []byte {
	need := len(b) + n
	switch {
	case need <= cap(b):
		return b
	case need <= blockBytes:
		return slices.Grow(b, n)
	}
	return GrowTo(b, need+need/8)
}

// GrowTo returns b with a capacity of size, if it has less.
func GrowTo(b []byte, size int) []byte {
	if size <= cap(b) {
		return b
	}
	grown := make([]byte, size)
	copyBlocks(grown, b)
	return grown[:len(b)]
}

// Append is the built-in append for a src of any length, which must not be a part of
// the room behind dst, and a dst of any length. If either is long, there is room for more behind it.
func Append(dst, src []byte) []byte {
	if len(dst)+len(src) <= blockBytes {
		return append(dst, src...)
	}
	return appendBlocks(dst, src)
}

func appendBlocks(dst, src []byte) []byte {
	n := len(dst)
	dst = Grow(dst, len(src))[:n+len(src)]
	copyBlocks(dst[n:], src)
	return dst
}

// Zeros reports whether b holds zeros only.
func Zeros(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
	}
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
