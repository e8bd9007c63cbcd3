package list

import (
	"math"
	"unsafe"

	"github.com/vigildb/vigil/structures/paged"
)

// The nodes of a list lie in one array with free places at both ends. What
// is in this file keeps that array, the numbers of the nodes and the memory
// account; it does not know of elements' order in commands.

const (
	nodeSize = int(unsafe.Sizeof(node{}))
	// idMiddle is the number of a list's first node.
	idMiddle = 1 << 63
	// idStep is the distance between the numbers of neighbours: 2^20 leaves
	// room for 20 splits in one place, and 2^43 nodes in each direction.
	idStep = 1 << 20
	// leastPlaces is the size of the array below which it does not shrink.
	leastPlaces = 16
)

// node returns node i, counted from the head.
func (l *List) node(i int) *node { return &l.array[l.first+i] }

// end returns the node at an end of a list that has nodes.
func (l *List) end(end End) *node {
	if end == Head {
		return &l.array[l.first]
	}
	return &l.array[l.first+l.nodes-1]
}

// openNode makes place for a new node before node i, with a buffer of at least
// need bytes and its free room at the given end. Pointers to nodes are not
// valid afterwards.
func (l *List) openNode(i, need int, end End) *node {
	id := l.newID(i)
	l.openPlace(i)
	n := l.node(i)
	*n = node{buf: l.newBuffer(need), id: id, State: paged.State{Recent: true}}
	l.alter(n)
	if end == Head {
		n.lo, n.hi = uint32(len(n.buf)), uint32(len(n.buf))
	}
	return n
}

// newBuffer returns a buffer for a new node. The first node of a list and
// nodes for big elements begin with what they need; the others are going to be
// filled, and get all of it.
func (l *List) newBuffer(need int) []byte {
	size := nodeBytes
	if l.nodes <= 1 {
		size = max(need, firstRoom)
	} else if need > nodeBytes/8 {
		size = need
	}
	if len(l.spare) >= size {
		buf := l.spare
		l.spare = nil
		return buf
	}
	if l.nodes <= 1 && l.spare != nil { // too small a buffer that Reset left
		l.memory -= len(l.spare)
		l.spare = nil
	}
	l.memory += size
	return make([]byte, size)
}

// openPlace moves nodes so that a place is free before node i.
func (l *List) openPlace(i int) {
	front := i < l.nodes/2 || i == 0
	if front && l.first == 0 || !front && l.first+l.nodes == len(l.array) {
		l.makePlaces(front)
	}
	if front {
		copy(l.array[l.first-1:], l.array[l.first:l.first+i])
		l.first--
	} else {
		copy(l.array[l.first+i+1:], l.array[l.first+i:l.first+l.nodes])
	}
	l.nodes++
}

// makePlaces frees places at an end of the array, which is enlarged if it is
// more than half full: a queue that moves through it needs no allocation.
func (l *List) makePlaces(front bool) {
	array := l.array
	if 2*l.nodes >= len(array) {
		array = make([]node, max(1, 2*l.nodes))
		l.memory += (len(array) - len(l.array)) * nodeSize
	}
	free := len(array) - l.nodes
	first := free / 4
	if front {
		first = free - free/4
	}
	copy(array[first:], l.array[l.first:l.first+l.nodes])
	if &array[0] == unsafe.SliceData(l.array) {
		clear(array[:first])
		clear(array[first+l.nodes:])
	}
	l.array, l.first = array, first
}

// closeNode removes node i. Its page, if stored, is remembered as gone.
// Pointers to nodes are not valid afterwards.
func (l *List) closeNode(i int) {
	n := l.node(i)
	l.pages.Remove(n, n.id)
	if l.spare == nil && (l.nodes == 1 || l.nodes > 2 && len(n.buf) == nodeBytes) {
		l.spare = n.buf
	} else {
		l.memory -= len(n.buf)
	}
	at := l.first + i
	if i < l.nodes/2 || i == 0 {
		copy(l.array[l.first+1:], l.array[l.first:at])
		l.array[l.first] = node{}
		l.first++
	} else {
		copy(l.array[at:], l.array[at+1:l.first+l.nodes])
		l.array[l.first+l.nodes-1] = node{}
	}
	l.nodes--
	if len(l.array) > leastPlaces && l.nodes < len(l.array)/8 {
		array := make([]node, len(l.array)/4)
		first := (len(array) - l.nodes) / 2
		copy(array[first:], l.array[l.first:l.first+l.nodes])
		l.memory -= (len(l.array) - len(array)) * nodeSize
		l.array, l.first = array, first
	}
}

// alter notes that a node is about to change.
func (l *List) alter(n *node) {
	if !n.Dirty {
		l.pages.Alter(n)
	}
}

// account runs around changes of a node that may give it another buffer.
func (l *List) account(n *node, before int) { l.memory += len(n.buf) - before }

// newID returns a number between those of nodes i-1 and i.
func (l *List) newID(i int) uint64 {
	for {
		switch {
		case l.nodes == 0:
			return idMiddle
		case i == 0:
			if id := l.node(0).id; id > idStep {
				return id - idStep
			}
		case i == l.nodes:
			if id := l.node(i - 1).id; id < math.MaxUint64-idStep {
				return id + idStep
			}
		default:
			a, b := l.node(i-1).id, l.node(i).id
			if b-a > 1 {
				return a + (b-a)/2
			}
			if l.spread(i) {
				continue
			}
		}
		l.renumber()
	}
}

// spread gives new numbers to the nodes around place i, within the numbers of
// the nearest neighbourhood that is sparse enough, or beyond those of an end that is
// near. It reports whether there was one, and whether its pages could be read: they are
// written anew.
func (l *List) spread(i int) bool {
	const sparse = 1024
	for width := 4; ; width *= 4 {
		from, to := max(i-width, 0), min(i+width, l.nodes)
		low, high := l.node(0).id, l.end(Tail).id
		beyond := uint64(width) * idStep
		low, high = low-min(low, beyond), high+min(math.MaxUint64-high, beyond)
		if from > 0 {
			low = l.node(from - 1).id
		}
		if to < l.nodes {
			high = l.node(to).id
		}
		step := (high - low) / uint64(to-from+1)
		if step < sparse && to-from == l.nodes {
			return false
		}
		if step < sparse {
			continue
		}
		for j := from; j < to; j++ {
			if !l.pin(j) {
				return false
			}
		}
		for j := from; j < to; j++ {
			l.setID(j, low+step*uint64(j-from+1))
		}
		return true
	}
}

// renumber gives new numbers to all nodes. None is evicted.
func (l *List) renumber() {
	id := uint64(idMiddle) - uint64(l.nodes/2)*idStep
	for i := range l.nodes {
		l.setID(i, id)
		id += idStep
	}
}

// setID gives node i another page. The old one is gone unless another node
// takes its number.
func (l *List) setID(i int, id uint64) {
	n := l.node(i)
	if n.id == id {
		return
	}
	l.pages.Renumber(n, n.id)
	n.id = id
}
