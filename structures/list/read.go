package list

import (
	"bytes"
	"math"
	"strconv"

	"github.com/vigildb/vigil/structures"
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

// Range visits the elements from start to stop as Span reads them.
func (l *List) Range(start, stop int, visit func(elem []byte)) {
	from, count := l.Span(start, stop)
	if count == 0 {
		return
	}
	at, off := l.seek(from)
	for {
		n := l.node(at)
		for ; off < int(n.hi); count-- {
			if count == 0 {
				return
			}
			var elem []byte
			elem, off = n.next(off)
			visit(elem)
		}
		if at++; at == l.nodes {
			return
		}
		off = int(l.node(at).lo)
	}
}

// Backward visits the elements from stop down to start, as Span reads them,
// until visit returns false.
func (l *List) Backward(start, stop int, visit func(elem []byte) bool) {
	from, count := l.Span(start, stop)
	if count == 0 {
		return
	}
	at, off := l.seek(from + count - 1)
	_, off = l.node(at).next(off)
	for {
		n := l.node(at)
		for ; off > int(n.lo); count-- {
			if count == 0 {
				return
			}
			var elem []byte
			elem, off = n.prev(off)
			if !visit(elem) {
				return
			}
		}
		if at--; at < 0 {
			return
		}
		off = int(l.node(at).hi)
	}
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

// forward visits all elements until visit returns false.
func (l *List) forward(visit func(elem []byte) bool) {
	for at := range l.nodes {
		n := l.node(at)
		for off := int(n.lo); off < int(n.hi); {
			var elem []byte
			elem, off = n.next(off)
			if !visit(elem) {
				return
			}
		}
	}
}

// Encoding is the reply of OBJECT ENCODING: "listpack" if Redis 7.2 with this
// list-max-listpack-size would keep the list in one listpack, otherwise
// "quicklist". A positive limit counts elements, in at most 8 KiB; -1 to -5
// stand for 4 to 64 KiB. Redis keeps a quicklist until it shrinks to half of
// the limit; here the reply depends only on the elements.
func (l *List) Encoding(limit int) string {
	// Redis's cap on a listpack that is bounded by a count of elements.
	room := 8 << 10
	switch {
	case limit < 0:
		room = 4 << 10 << (min(-limit, 5) - 1)
	case l.len > max(limit, 1):
		return "quicklist"
	}
	// A number of 20 digits is stored in 9 bytes, so that a listpack may be a
	// third of its elements.
	if l.len*2 > room || l.memory > 8*room+4*nodeBytes {
		return "quicklist"
	}
	const header = 7
	room -= header
	l.forward(func(elem []byte) bool {
		room -= listpackSize(elem)
		return room >= 0
	})
	if room < 0 {
		return "quicklist"
	}
	return "listpack"
}

// listpackSize is the size of an entry of Redis's listpack: integers in
// canonical form are stored in binary, strings after a length, and either is
// followed by its size.
func listpackSize(elem []byte) int {
	size := len(elem)
	switch {
	case size < 64:
		size++
	case size < 4096:
		size += 2
	default:
		size += 5
	}
	if v, ok := canonicalInt(elem); ok {
		switch {
		case v >= 0 && v <= 127:
			size = 1
		case v >= -4096 && v <= 4095:
			size = 2
		case v >= math.MinInt16 && v <= math.MaxInt16:
			size = 3
		case v >= -1<<23 && v < 1<<23:
			size = 4
		case v >= math.MinInt32 && v <= math.MaxInt32:
			size = 5
		default:
			size = 9
		}
	}
	return size + structures.UvarintLen(uint64(size))
}

// canonicalInt parses a decimal integer that is written as it would be printed.
func canonicalInt(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || b[0] == '+' || (b[0] == '0' && len(b) > 1) || (b[0] == '-' && (b[1] == '0')) {
		return 0, false
	}
	return v, true
}
