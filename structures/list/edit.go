package list

import (
	"bytes"

	"github.com/vigildb/vigil/structures"
)

// Set replaces element i, which may be negative to count from the tail. Out of
// range, or if its page cannot be read, it returns false and records nothing.
func (l *List) Set(ch *structures.Change, i int, elem []byte) bool {
	i, ok := l.place(i)
	if !ok {
		return false
	}
	at, place := l.seek(i)
	n := l.node(at)
	if !l.touch(at) || !l.numbered(at) || l.pages.Unread() {
		return false
	}
	ch.Op(opListSet, 2)
	ch.Int(int64(i))
	ch.Bytes(elem)
	l.alter(n)
	off := n.seek(place)
	old, end := n.next(off)
	if len(old) == len(elem) {
		copy(old, elem)
		return true
	}
	if n.count == 1 {
		// Replaced whole, so that a big element leaves no big buffer.
		n.lo, n.hi, n.count = 0, 0, 0
		before := len(n.buf)
		if need := entrySize(len(elem)); need > before || need < before/2 && before > firstRoom {
			n.buf = make([]byte, max(need, firstRoom))
		}
		n.push(Tail, elem)
		l.account(n, before)
		return true
	}
	off = n.cut(off, end, 1)
	l.len--
	l.insertAt(at, off, elem)
	return true
}

// Insert puts elem before or after the first element equal to pivot, and
// returns the new length. Without such an element, or if a page cannot be read, it
// returns false and records nothing.
func (l *List) Insert(ch *structures.Change, side Side, pivot, elem []byte) (length int, found bool) {
	index := 0
	for at := range l.nodes {
		n := l.entries(at, at)
		if n == nil {
			return l.len, false
		}
		for off := int(n.lo); off < int(n.hi); index++ {
			e, end := n.next(off)
			if !bytes.Equal(e, pivot) {
				off = end
				continue
			}
			if !l.pin(at) || !l.numbered(at) || l.pages.Unread() { // off is the same there
				return l.len, false
			}
			if side == After {
				index, off = index+1, end
			}
			ch.Op(opListInsert, 2)
			ch.Int(int64(index))
			ch.Bytes(elem)
			l.insertAt(at, off, elem)
			return l.len, true
		}
	}
	return l.len, false
}

// insertIndex puts elem before element i, or at the tail if i is the length. If a page
// cannot be read, nothing changes.
func (l *List) insertIndex(i int, elem []byte) {
	if i == l.len {
		l.Push(nil, Tail, elem)
		return
	}
	at, place := l.seek(i)
	if n := l.node(at); l.touch(at) && l.numbered(at) {
		l.insertAt(at, n.seek(place), elem)
	}
}

// insertAt puts elem at an offset of node at. If the node has no room the
// element goes to the neighbour that it touches, or the node is split there.
func (l *List) insertAt(at, off int, elem []byte) {
	need := entrySize(len(elem))
	n := l.node(at)
	switch {
	case n.used()+need <= nodeBytes:
	case off == int(n.hi):
		if at+1 == l.nodes || !l.hasRoom(at+1, need) {
			l.openNode(at+1, need, Tail)
		}
		at, off = at+1, int(l.node(at+1).lo)
	case off == int(n.lo):
		if at == 0 || !l.hasRoom(at-1, need) {
			l.openNode(at, need, Tail)
			at++
		}
		at, off = at-1, int(l.node(at-1).hi)
	default:
		l.split(at, off)
		if !l.hasRoom(at, need) {
			if !l.hasRoom(at+1, need) {
				l.openNode(at+1, need, Tail)
			}
			at++
			off = int(l.node(at).lo)
		}
	}
	n = l.node(at)
	before := len(n.buf)
	l.alter(n)
	n.insert(off, elem)
	l.account(n, before)
	l.len++
}

// hasRoom reports that so many bytes can be added to node at. One that is evicted has none:
// it would have to be read.
func (l *List) hasRoom(at, need int) bool {
	n := l.node(at)
	return !n.Evicted && n.used()+need <= nodeBytes
}

// split moves the entries of node at from offset off on, which is within it,
// into a new node after it.
func (l *List) split(at, off int) {
	next := l.openNode(at+1, int(l.node(at).hi)-off, Tail)
	n := l.node(at)
	left := 0
	for p := int(n.lo); p < off; left++ {
		_, p = n.next(p)
	}
	moved := n.buf[off:n.hi]
	before := len(next.buf)
	if len(next.buf) < len(moved) {
		next.buf = make([]byte, len(moved))
	}
	l.account(next, before)
	next.lo, next.hi = 0, uint32(copy(next.buf, moved))
	next.count = n.count - uint32(left)
	n.hi, n.count = uint32(off), uint32(left)
	l.alter(n)
}

// Remove removes elements equal to elem, and returns how many: the first count
// of them, the last -count of them if count is negative, all if it is 0. If
// there is none, or a page cannot be read, it records nothing.
func (l *List) Remove(ch *structures.Change, count int, elem []byte) int {
	if !l.pages.Whole() && !l.pinEqual(count, elem) || l.pages.Unread() {
		return 0
	}
	removed := 0
	if count < 0 {
		removed = l.removeBackward(uint(-count), elem)
	} else {
		removed = l.removeForward(uint(count), elem)
	}
	if removed > 0 {
		ch.Op(opListRemove, 2)
		ch.Int(int64(count))
		ch.Bytes(elem)
		l.len -= removed
		l.shrink()
	}
	return removed
}

// removeForward removes up to limit elements equal to elem, all if it is 0.
func (l *List) removeForward(limit uint, elem []byte) int {
	removed := uint(0)
	for at := 0; at < l.nodes && (limit == 0 || removed < limit); {
		n := l.node(at)
		if n.Evicted { // it has none of them
			at++
			continue
		}
		was := n.count
		for off := int(n.lo); off < int(n.hi) && (limit == 0 || removed < limit); {
			e, end := n.next(off)
			if bytes.Equal(e, elem) {
				l.alter(n)
				off = n.cut(off, end, 1)
				removed++
			} else {
				off = end
			}
		}
		if was == n.count {
			at++
		} else if !l.tidy(at) {
			at++
		}
	}
	return int(removed)
}

func (l *List) removeBackward(limit uint, elem []byte) int {
	removed := uint(0)
	for at := l.nodes - 1; at >= 0 && removed < limit; at-- {
		n := l.node(at)
		if n.Evicted {
			continue
		}
		was := n.count
		for off := int(n.hi); off > int(n.lo) && removed < limit; {
			e, start := n.prev(off)
			if bytes.Equal(e, elem) {
				// What precedes is moved up to the offset that cut
				// returns, or what follows moved down to it.
				l.alter(n)
				off = n.cut(start, off, 1)
				removed++
			} else {
				off = start
			}
		}
		if was != n.count {
			l.tidy(at)
		}
	}
	return int(removed)
}

// tidy looks after node at, which lost elements: an empty node is removed, and
// one that fits into half a node together with the one before it joins it. It
// reports whether the node is gone.
func (l *List) tidy(at int) bool {
	n := l.node(at)
	if n.count == 0 {
		l.closeNode(at)
		return true
	}
	if at == 0 {
		return false
	}
	p := l.node(at - 1)
	if p.Evicted || p.used()+n.used() > nodeBytes/2 {
		return false
	}
	before := len(p.buf)
	if len(p.buf)-int(p.hi) < n.used() {
		p.makeRoom(Tail, n.used())
	}
	l.account(p, before)
	p.hi += uint32(copy(p.buf[p.hi:], n.buf[n.lo:n.hi]))
	p.count += n.count
	l.alter(p)
	l.closeNode(at)
	return true
}

// Trim keeps the elements from start to stop, both included, and removes the
// others. Negative indexes count from the tail; an empty range removes all. It
// records nothing if nothing is removed, as when a page cannot be read.
func (l *List) Trim(ch *structures.Change, start, stop int) {
	from, count := l.Span(start, stop)
	if count == l.len || !l.pinBounds(from, count) {
		return
	}
	ch.Op(opListTrim, 2)
	ch.Uint(uint64(from))
	ch.Uint(uint64(count))
	l.trim(from, count)
}

// trim needs in memory what pinBounds reads.
func (l *List) trim(from, count int) {
	tail := l.len - from - count
	l.len = count
	if count == 0 {
		for l.nodes > 0 {
			l.closeNode(l.nodes - 1)
		}
		return
	}
	for from >= int(l.node(0).count) {
		from -= int(l.node(0).count)
		l.closeNode(0)
	}
	for tail >= int(l.end(Tail).count) {
		tail -= int(l.end(Tail).count)
		l.closeNode(l.nodes - 1)
	}
	if from > 0 {
		n := l.node(0)
		n.lo = uint32(n.seek(from))
		n.count -= uint32(from)
		l.alter(n)
	}
	if tail > 0 {
		n := l.end(Tail)
		n.hi = uint32(n.seek(int(n.count) - tail))
		n.count -= uint32(tail)
		l.alter(n)
	}
	l.shrink()
}
