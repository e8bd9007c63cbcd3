package list

import (
	"bytes"
	"math"
)

// Span turns the indexes of a Redis range, both included and negative ones
// counting from the tail, into the first element and the number of elements.
// Indexes past the ends are moved to them; an empty range gives 0, 0.
func (l *List) Span(start, stop int) (from, count int) {
	if start < 0 {
		start = max(start+l.len, 0)
	}
	if stop < 0 {
		stop += l.len
	}
	stop = min(stop, l.len-1)
	if start > stop {
		return 0, 0
	}
	return start, stop - start + 1
}

// Range visits the elements from start to stop as Span reads them. It returns false if
// it ended early because a page cannot be read.
func (l *List) Range(start, stop int, visit func(elem []byte)) bool {
	from, count := l.Span(start, stop)
	if count == 0 {
		return true
	}
	at, place := l.seek(from)
	for passed := 0; count > 0; passed++ {
		n := l.entries(at+passed, passed)
		if n == nil {
			return false
		}
		off := int(n.lo)
		if passed == 0 {
			off = n.seek(place)
		}
		for ; off < int(n.hi) && count > 0; count-- {
			var elem []byte
			elem, off = n.next(off)
			visit(elem)
		}
	}
	return true
}

// Backward visits the elements from stop down to start, as Span reads them,
// until visit returns false. It returns false if it ended early because a page cannot be
// read.
func (l *List) Backward(start, stop int, visit func(elem []byte) bool) bool {
	from, count := l.Span(start, stop)
	if count == 0 {
		return true
	}
	at, place := l.seek(from + count - 1)
	for passed := 0; count > 0; passed++ {
		n := l.entries(at-passed, passed)
		if n == nil {
			return false
		}
		off := int(n.hi)
		if passed == 0 {
			_, off = n.next(n.seek(place))
		}
		for ; off > int(n.lo) && count > 0; count-- {
			var elem []byte
			elem, off = n.prev(off)
			if !visit(elem) {
				return true
			}
		}
	}
	return true
}

// Find visits the indexes, counted from the head, of elements equal to elem, as
// LPOS asks for them. The search begins at the head with match number rank, or
// at the tail with match number -rank if rank is negative (0 is taken as 1). It
// ends after count matches and after comparing limit elements; 0 stands for no
// bound on either.
func (l *List) Find(elem []byte, rank, count, limit int, visit func(index int)) {
	if limit <= 0 {
		limit = math.MaxInt
	}
	if count <= 0 {
		count = math.MaxInt
	}
	skip := uint(max(rank-1, 0))
	if rank < 0 {
		skip = uint(-(rank + 1))
	}
	index, step := 0, 1
	if rank < 0 {
		index, step = l.len-1, -1
	}
	match := func(e []byte) bool {
		limit--
		if bytes.Equal(e, elem) {
			if skip > 0 {
				skip--
			} else {
				visit(index)
				count--
			}
		}
		index += step
		return limit > 0 && count > 0
	}
	if rank < 0 {
		l.Backward(0, -1, match)
		return
	}
	l.forward(match)
}

// forward visits all elements until visit returns false or a page cannot be read.
func (l *List) forward(visit func(elem []byte) bool) {
	for at := range l.nodes {
		n := l.entries(at, at)
		if n == nil {
			return
		}
		for off := int(n.lo); off < int(n.hi); {
			var elem []byte
			elem, off = n.next(off)
			if !visit(elem) {
				return
			}
		}
	}
}
