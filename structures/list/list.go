package list

import (
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// End is an end of a list.
type End byte

const (
	Head End = 0
	Tail End = 1
)

// Side says where LINSERT puts an element.
type Side byte

const (
	Before Side = 0
	After  Side = 1
)

// List is a list of byte strings that is cheap to change at both ends.
//
// Elements lie packed in nodes of up to 8 KiB, and the nodes in one array with
// free places at both ends. A push or pop touches the node at its end; a
// queue, which is filled at one end and drained at the other, reuses the
// buffer of the node that it drained and allocates nothing. Finding an element
// by its index walks over the nodes and then within one. Each node is a page
// on disk (see pages.go), and those of a large list can be there only (see evicted.go).
//
// The zero List is empty. Elements that methods return or pass to a visitor
// alias the list and are valid until its next change; elements passed in are
// copied and must not alias the list.
type List struct {
	array  []node // nodes are array[first : first+nodes]
	first  int
	nodes  int
	len    int
	memory int    // of array, buffers and spare
	spare  []byte // buffer of a node that was drained, for the next full or lone one
	// declared is the length that the head of a paged list declares, -1 if
	// there is none to check.
	declared int

	pages paged.Set[*node]
}

// New returns an empty list.
func New() *List { return &List{declared: -1} }

// Kind returns KindList.
func (l *List) Kind() structures.Kind { return structures.KindList }

// Empty reports that the list has no elements: its key is to be removed.
func (l *List) Empty() bool { return l.len == 0 }

// Len is the number of elements.
func (l *List) Len() int { return l.len }

// Size estimates the memory held, in bytes.
func (l *List) Size() int {
	return int(unsafe.Sizeof(*l)) + l.memory + cap(l.pages.Gone)*8
}

// Push adds elements at an end, one after the other: pushed at the head, the
// last of them comes first. It records one operation.
func (l *List) Push(ch *structures.Change, end End, elems ...[]byte) {
	if len(elems) == 0 || !l.Ready(end) {
		return
	}
	ch.Op(opListPushHead+byte(end), len(elems))
	for _, elem := range elems {
		ch.Bytes(elem)
		l.push(end, elem)
	}
}

func (l *List) push(end End, elem []byte) {
	var n *node
	need := entrySize(len(elem))
	if l.nodes > 0 {
		n = l.end(end)
	}
	if n == nil || n.used()+need > nodeBytes {
		at := 0
		if end == Tail {
			at = l.nodes
		}
		n = l.openNode(at, need, end)
	}
	before := len(n.buf)
	l.alter(n)
	n.push(end, elem)
	if len(n.buf) != before {
		l.account(n, before)
	}
	l.len++
}

// Pop removes the element at an end and returns it. On an empty list it
// returns false and records nothing. The bytes are valid until the next change
// of the list.
func (l *List) Pop(ch *structures.Change, end End) ([]byte, bool) {
	if l.len == 0 || l.pages.Unread() || !l.touch(l.last(end)) {
		return nil, false
	}
	ch.Op(opListPopHead+byte(end), 0)
	return l.pop(end), true
}

// PopMany pops up to count elements and passes each to visit; it returns how
// many there were. It records one operation, or none if it pops nothing. Each
// element is valid only during its call.
func (l *List) PopMany(ch *structures.Change, end End, count int, visit func(elem []byte)) int {
	count = min(count, l.len)
	if count <= 0 {
		return 0
	}
	if !l.pages.Whole() {
		return l.take(ch, end, count, visit)
	}
	ch.Op(opListPopHead+byte(end), 1)
	ch.Uint(uint64(count))
	for range count {
		elem := l.pop(end)
		if visit != nil {
			visit(elem)
		}
	}
	return count
}

func (l *List) pop(end End) []byte {
	n := l.end(end)
	elem := n.peek(end)
	l.alter(n)
	n.drop(end)
	l.len--
	if n.count == 0 {
		at := 0
		if end == Tail {
			at = l.nodes - 1
		}
		l.closeNode(at)
	} else if l.nodes == 1 {
		l.shrink()
	}
	return elem
}

// shrinkRoom is the least buffer that a list gives up when it is drained.
const shrinkRoom = 1024

// shrink gives the node of a list that has only one a smaller buffer if it
// uses little of it: many short lists that once were long must cost little. The
// old buffer stays as it is, because a popped element is in it.
func (l *List) shrink() {
	if l.nodes != 1 {
		return
	}
	n := l.node(0)
	if len(n.buf) < shrinkRoom || n.used() >= len(n.buf)/8 {
		return
	}
	buf := make([]byte, max(2*n.used(), firstRoom))
	lo := (len(buf) - n.used()) / 2
	copy(buf[lo:], n.buf[n.lo:n.hi])
	l.memory += len(buf) - len(n.buf) - len(l.spare)
	n.lo, n.hi = uint32(lo), uint32(lo+n.used())
	n.buf, l.spare = buf, nil
}

// Rotate pops an element at one end and pushes it at the other, as LMOVE does
// with one list for both. It returns the element where it now is, or false for
// an empty list. The same end twice changes and records nothing.
func (l *List) Rotate(ch *structures.Change, from, to End) ([]byte, bool) {
	if l.len == 0 || !l.Ready(to) || from != to && !l.pin(l.last(from)) {
		return nil, false
	}
	if from != to && l.len > 1 {
		// Copied, because a push may move the bytes that were popped.
		var room [256]byte
		elem, _ := l.Pop(ch, from)
		l.Push(ch, to, append(room[:0], elem...))
	}
	return l.end(to).peek(to), true
}

// Index returns element i. A negative index counts from the tail, -1 being the
// last element. Out of range it returns false.
func (l *List) Index(i int) ([]byte, bool) {
	i, ok := l.place(i)
	if !ok {
		return nil, false
	}
	at, place := l.seek(i)
	n := l.node(at)
	if !l.touch(at) {
		return nil, false
	}
	elem, _ := n.next(n.seek(place))
	return elem, true
}

// place turns a Redis index into one that counts from the head.
func (l *List) place(i int) (int, bool) {
	if i < 0 {
		i += l.len
	}
	return i, i >= 0 && i < l.len
}

// seek returns the node of element i and its place in there, walking from the
// nearer end.
func (l *List) seek(i int) (at, place int) {
	if i <= l.len/2 {
		for at = 0; ; at++ {
			n := l.node(at)
			if i < int(n.count) {
				return at, i
			}
			i -= int(n.count)
		}
	}
	i = l.len - i
	for at = l.nodes - 1; ; at-- {
		n := l.node(at)
		if i <= int(n.count) {
			return at, int(n.count) - i
		}
		i -= int(n.count)
	}
}
