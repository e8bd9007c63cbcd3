package list

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// Nodes of a large list can be evicted: on disk only. Such a node has no buffer. It keeps
// the number of its elements and what they take, so that elements are found and ends cut
// off without it.

// SetPager sets what reads evicted pages.
func (l *List) SetPager(p structures.Pager) { l.pages.Pager = p }

// Evicted is the number of pages that are on disk only, and their bytes.
func (l *List) Evicted() (pages int, bytes int64) { return l.pages.Evicted(l.paging()) }

// Changed is about how many bytes of pages changed since Clean.
func (l *List) Changed() int { return l.pages.Changed() * nodeBytes }

// Evict evicts pages, see structures.Paged.
func (l *List) Evict(bytes int) (freed, changed int) {
	if l.nodes < 2 {
		return 0, 0
	}
	return l.pages.Evict(l.paging(), bytes)
}

// LoadAll reads every evicted page and reports whether it could.
func (l *List) LoadAll() bool { return l.pages.LoadAll(l.paging()) }

// Ready makes sure that a push or a pop of one element at an end does not fail. It
// reports false if a page cannot be read that it needs.
func (l *List) Ready(end End) bool {
	return l.nodes == 0 || !l.pages.Unread() && l.touch(l.last(end)) && (l.pages.Whole() || l.numbersBeyond())
}

// last is the node at an end of a list that has nodes.
func (l *List) last(end End) int { return int(end) * (l.nodes - 1) }

// touch makes sure that node i is in memory, which fails if it cannot be read. Others
// may leave memory for it.
func (l *List) touch(i int) bool {
	n := l.node(i)
	return n.Recent || l.pages.Touch(l.paging(), n.id, n)
}

// pin is touch without others leaving memory.
func (l *List) pin(i int) bool {
	n := l.node(i)
	return l.pages.Pin(l.paging(), n.id, n)
}

// entries returns node at, for a walk that has passed some nodes before. The result is nil if it cannot be read.
func (l *List) entries(at, passed int) *node {
	n := l.node(at)
	if n.Recent {
		return n
	}
	if c, ok := l.pages.View(l.paging(), n.id, n, passed); ok {
		return c
	}
	return nil
}

// take is PopMany of a list with evicted pages. It visits the elements before it
// removes any, so that the pages need not be in memory together.
func (l *List) take(ch *structures.Change, end End, count int, visit func(elem []byte)) int {
	from, left, read := count, l.len-count, true
	if end == Tail {
		from = 0
	}
	switch {
	case visit == nil:
	case end == Head:
		read = l.Range(0, count-1, visit)
	default:
		read = l.Backward(left, -1, func(elem []byte) bool { visit(elem); return true })
	}
	if !read || !l.pinBounds(from, left) {
		return 0
	}
	ch.Op(opListPopHead+byte(end), 1)
	ch.Uint(uint64(count))
	l.trim(from, left)
	return count
}

// pinBounds makes sure that the pages are in memory within which a list of count
// elements from one on begins and ends. Pages before and behind are not needed.
func (l *List) pinBounds(from, count int) bool {
	if l.pages.Whole() || count == 0 {
		return !l.pages.Unread()
	}
	at, place := l.seek(from)
	if l.pages.Unread() || place > 0 && !l.touch(at) {
		return false
	}
	at, place = l.seek(from + count - 1)
	return place == int(l.node(at).count)-1 || l.pin(at)
}

// pinEqual makes sure that the pages are in memory that have the elements which Remove
// is to remove. It reads the others too, and reports whether it could.
func (l *List) pinEqual(count int, elem []byte) bool {
	left, at, step := uint(count), 0, 1
	switch {
	case count < 0:
		left, at, step = -left, l.nodes-1, -1
	case count == 0:
		left = math.MaxUint
	}
	for ; left > 0 && at >= 0 && at < l.nodes; at += step {
		n := l.node(at)
		c, ok := n, true
		if n.Evicted {
			if c, ok = l.pages.Peek(l.paging(), n.id, n); !ok {
				return false
			}
		}
		found := c.equal(elem)
		if found > 0 && n.Evicted {
			l.pages.Adopt(l.paging(), n, c)
		}
		left -= min(left, found)
	}
	return true
}

// equal is the number of elements of a node that are equal to elem.
func (n *node) equal(elem []byte) (count uint) {
	for off := int(n.lo); off < int(n.hi); {
		var e []byte
		if e, off = n.next(off); bytes.Equal(e, elem) {
			count++
		}
	}
	return count
}

// numbered makes sure that nodes can be opened before and behind node i, which may take
// other numbers for the nodes around it. It reports whether the pages of these could
// be read.
func (l *List) numbered(i int) bool {
	if l.pages.Whole() {
		return true
	}
	const enough = 8 // for two new nodes between neighbours
	dense := func(i int) bool {
		return i > 0 && i < l.nodes && l.node(i).id-l.node(i-1).id < enough
	}
	return l.numbersBeyond() &&
		((!dense(i) || l.spread(i)) && (!dense(i+1) || l.spread(i+1)) || l.LoadAll())
}

// numbersBeyond makes sure that nodes can be opened at the ends: as many as one command
// can make and more.
func (l *List) numbersBeyond() bool {
	const numbers = 1 << 24 * idStep
	return l.node(0).id > numbers && l.end(Tail).id < math.MaxUint64-numbers || l.LoadAll()
}

// appendIndex appends what the head of a large list has of each page.
func (l *List) appendIndex(dst []byte) []byte {
	before := uint64(0)
	dst = slices.Grow(dst, l.nodes*8)
	for i := range l.nodes {
		n := l.node(i)
		dst = binary.AppendUvarint(dst, n.id-before)
		dst = binary.AppendUvarint(dst, uint64(n.count))
		dst = binary.AppendUvarint(dst, uint64(n.used()))
		before = n.id
	}
	return dst
}

// loadIndex makes the nodes of an index, all of them evicted.
func (l *List) loadIndex(rest []byte, pages uint64) error {
	if pages > uint64(len(rest)) {
		return fmt.Errorf("index of %d list pages in %d bytes: %w", pages, len(rest), structures.ErrCorrupt)
	}
	next := func() uint64 {
		v, w := binary.Uvarint(rest)
		if w <= 0 {
			rest = nil
			return 0
		}
		rest = rest[w:]
		return v
	}
	l.array = make([]node, pages)
	l.memory = len(l.array) * nodeSize
	id, size := uint64(0), uint64(0)
	for ; l.nodes < len(l.array) && len(rest) > 0; l.nodes++ {
		distance, count, used := next(), next(), next()
		id += distance
		if id < distance || distance == 0 && l.nodes > 0 || count == 0 || used > math.MaxUint32 || count > used/2 {
			return fmt.Errorf("list page %d of %d elements, %d bytes: %w", id, count, used, structures.ErrCorrupt)
		}
		l.array[l.nodes] = node{hi: uint32(used), count: uint32(count), id: id, State: paged.State{Stored: true, Evicted: true}}
		l.pages.Found()
		size += count
	}
	if l.nodes < len(l.array) || len(rest) > 0 || size != uint64(l.declared) {
		return fmt.Errorf("index of a list of %d elements has %d: %w", l.declared, size, structures.ErrCorrupt)
	}
	l.len = int(size)
	return nil
}
