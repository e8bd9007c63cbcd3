package list

import (
	"encoding/binary"

	"github.com/vigildb/vigil/structures/paged"
)

// Reset makes l an empty list. One of its buffers becomes the buffer of the
// first node.
func (l *List) Reset() {
	array, spare := l.array, l.spare
	if len(array) != 1 {
		array = nil
	} else if spare == nil {
		spare = array[0].buf
	}
	*l = List{array: array, spare: spare, memory: len(array)*nodeSize + len(spare), declared: -1,
		pages: paged.Set[*node]{Gone: l.pages.Gone[:0]}}
}

// IsCompact reports whether the list is one small node.
func (l *List) IsCompact(limit int) bool {
	return l.nodes == 1 && !l.node(0).Evicted && l.node(0).used() <= limit
}

// AppendCompact appends a list of one node:
//
//	elements (uvarint) | entry of a node ...
func (l *List) AppendCompact(dst []byte) []byte {
	n := l.node(0)
	dst = binary.AppendUvarint(dst, uint64(n.count))
	return append(dst, n.buf[n.lo:n.hi]...)
}

// LoadCompact makes l the list that AppendCompact appended.
func (l *List) LoadCompact(b []byte) {
	count, w := binary.Uvarint(b)
	b = b[w:]
	if len(l.array) != 1 {
		l.array = make([]node, 1)
	}
	n := &l.array[0]
	if n.buf == nil {
		n.buf = l.spare
	}
	if len(n.buf) < len(b)+firstRoom {
		n.buf = make([]byte, grownRoom(len(n.buf), len(b)+firstRoom))
	}
	// Room at both ends: which of them is pushed to is not known.
	lo := (len(n.buf) - len(b)) / 2
	copy(n.buf[lo:], b)
	*n = node{buf: n.buf, lo: uint32(lo), hi: uint32(lo + len(b)), count: uint32(count), id: idMiddle}
	*l = List{array: l.array, nodes: 1, len: int(count), memory: nodeSize + len(n.buf), declared: -1, pages: paged.Set[*node]{Gone: l.pages.Gone[:0]}}
	l.alter(n)
}
