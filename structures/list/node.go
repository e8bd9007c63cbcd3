package list

import (
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// node is a run of consecutive list elements in one buffer, with free room at
// either side so that both ends can grow without moving what is there.
//
//	buf: | free ... | entry | entry | ... | entry | ... free |
//	                lo                            hi
//
// One entry can be read from either side:
//
//	length (uvarint) | bytes | length (uvarint, its bytes in reverse order)
//
// Nodes exist only in memory; what is on disk is drawn in pages.go.
type node struct {
	buf         []byte
	lo, hi      uint32
	count       uint32
	paged.State        // evicted: there is no buf, and hi is the size of the entries
	id          uint64 // number of the page; grows from head to tail
}

// nodeBytes bounds the entries of a node: larger ones would make a change in
// the middle dearer, smaller ones make more pages. An element that does not fit
// has a node of its own.
const nodeBytes = 8192

// firstRoom is the least buffer of a node. Most lists are short, so that the
// first node begins small and doubles.
const firstRoom = 32

// entrySize is the size of the entry of an element of n bytes.
func entrySize(n int) int { return n + 2*structures.UvarintLen(uint64(n)) }

func (n *node) used() int { return int(n.hi - n.lo) }

// next returns the element at offset at, and the offset after its entry.
func (n *node) next(at int) (elem []byte, end int) {
	size, w := int(n.buf[at]), 1
	if size >= 0x80 {
		size, w = structures.ReadUvarint(n.buf[at:])
	}
	from := at + w
	return n.buf[from : from+size : from+size], from + size + w
}

// prev returns the element whose entry ends at offset end, and where that
// entry begins.
func (n *node) prev(end int) (elem []byte, at int) {
	size, w := int(n.buf[end-1]), 1
	if size >= 0x80 {
		size, w = readLongBack(n.buf[:end])
	}
	from := end - w - size
	return n.buf[from : from+size : from+size], from - w
}

func readLongBack(b []byte) (v, w int) {
	for shift := 0; ; shift += 7 {
		w++
		x := b[len(b)-w]
		v |= int(x&0x7f) << shift
		if x < 0x80 {
			return v, w
		}
	}
}

// write puts the entry of elem at the beginning of dst.
func writeEntry(dst []byte, elem []byte) {
	size := len(elem)
	if size < 0x80 {
		dst[0] = byte(size)
		copy(dst[1:], elem)
		dst[size+1] = byte(size)
		return
	}
	w := structures.UvarintLen(uint64(size))
	structures.Copy(dst[w:], elem)
	last := size + 2*w - 1
	for i, v := 0, size; i < w; i, v = i+1, v>>7 {
		x := byte(v & 0x7f)
		if i < w-1 {
			x |= 0x80
		}
		dst[i], dst[last-i] = x, x
	}
}

// push adds elem at an end. The node grows if it has to.
func (n *node) push(end End, elem []byte) {
	need := entrySize(len(elem))
	if end == Tail {
		if len(n.buf)-int(n.hi) < need {
			n.makeRoom(Tail, need)
		}
		writeEntry(n.buf[n.hi:], elem)
		n.hi += uint32(need)
	} else {
		if int(n.lo) < need {
			n.makeRoom(Head, need)
		}
		n.lo -= uint32(need)
		writeEntry(n.buf[n.lo:], elem)
	}
	n.count++
}

// peek returns the element at an end. The node must not be empty.
func (n *node) peek(end End) []byte {
	if end == Head {
		elem, _ := n.next(int(n.lo))
		return elem
	}
	elem, _ := n.prev(int(n.hi))
	return elem
}

// drop removes the element at an end, whose bytes stay where they are.
func (n *node) drop(end End) {
	if end == Head {
		_, at := n.next(int(n.lo))
		n.lo = uint32(at)
	} else {
		_, at := n.prev(int(n.hi))
		n.hi = uint32(at)
	}
	n.count--
}

// makeRoom frees at least need bytes at an end. Within the buffer, a quarter
// of the free room goes to the other end, so that pushes that alternate do not
// move everything each time; a new buffer has all of it at the end in use.
func (n *node) makeRoom(end End, need int) {
	used := n.used()
	free := len(n.buf) - used
	buf, ahead := n.buf, free
	if free < need {
		buf = make([]byte, grownRoom(len(n.buf), used+need))
		ahead = len(buf) - used
	} else if free/4 <= free-need {
		ahead = free - free/4
	}
	lo := len(buf) - used - ahead
	if end == Head {
		lo = ahead
	}
	structures.Copy(buf[lo:], n.buf[n.lo:n.hi])
	n.buf, n.lo, n.hi = buf, uint32(lo), uint32(lo+used)
}

// grownRoom is the size of a buffer that takes the place of one of size have
// and holds need bytes: doubled, but not past nodeBytes unless it must.
func grownRoom(have, need int) int {
	size := max(2*have, firstRoom)
	if size > nodeBytes {
		size = nodeBytes
	}
	return max(size, need)
}

// insert puts the entry of elem at offset at, which is lo, hi or between two
// entries.
func (n *node) insert(at int, elem []byte) {
	need := entrySize(len(elem))
	front := at - int(n.lo)
	if front < int(n.hi)-at {
		if int(n.lo) < need {
			n.makeRoom(Head, need)
		}
		lo := int(n.lo) - need
		copy(n.buf[lo:], n.buf[n.lo:int(n.lo)+front])
		n.lo = uint32(lo)
	} else {
		if len(n.buf)-int(n.hi) < need {
			n.makeRoom(Tail, need)
		}
		at = int(n.lo) + front
		copy(n.buf[at+need:], n.buf[at:n.hi])
		n.hi += uint32(need)
	}
	writeEntry(n.buf[int(n.lo)+front:], elem)
	n.count++
}

// cut removes the entries between two offsets, count of them, and returns the
// offset of what followed them.
func (n *node) cut(from, to, count int) int {
	if from-int(n.lo) < int(n.hi)-to {
		lo := int(n.lo) + to - from
		copy(n.buf[lo:to], n.buf[n.lo:from])
		n.lo = uint32(lo)
		from = to
	} else {
		copy(n.buf[from:], n.buf[to:n.hi])
		n.hi -= uint32(to - from)
	}
	n.count -= uint32(count)
	return from
}

// seek returns the offset of the entry of element i, walking from the nearer
// end.
func (n *node) seek(i int) int {
	if i < int(n.count)/2 {
		at := int(n.lo)
		for ; i > 0; i-- {
			_, at = n.next(at)
		}
		return at
	}
	at := int(n.hi)
	for i = int(n.count) - i; i > 0; i-- {
		_, at = n.prev(at)
	}
	return at
}
