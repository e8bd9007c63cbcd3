package list

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/vigildb/vigil/structures"
)

// Nodes of a large list can be away: on disk only. Such a node has no buffer. It keeps
// the number of its elements and what they take, so that elements are found and ends cut
// off without it.

// SetPager says where pages are read that are away.
func (l *List) SetPager(p structures.Pager) { l.pager = p }

// Away is the number of pages that are on disk only, and their bytes.
func (l *List) Away() (pages int, bytes int64) {
	for i := 0; i < l.nodes && l.away > 0; i++ {
		if n := l.node(i); n.away {
			bytes += int64(n.used())
		}
	}
	return l.away, bytes
}

// Changed is about how many bytes of pages changed since Clean.
func (l *List) Changed() int { return l.changed * nodeBytes }

// Ready makes sure that a push or a pop of one element at an end does not fail. It
// reports false if a page cannot be read that it needs.
func (l *List) Ready(end End) bool {
	return l.nodes == 0 || !l.unread() && l.present(l.end(end)) && (l.away == 0 || l.numbersBeyond())
}

// unread reports that a page could not be read for the command under way, which changes
// nothing then.
func (l *List) unread() bool { return l.away > 0 && l.pager != nil && l.pager.Failed() }

// present makes sure that a node is in memory, which fails if it cannot be read. Others
// may leave memory for it.
func (l *List) present(n *node) bool { return n.recent || l.touch(n) }

// touch is present for a node that was not used since the last visit of Shed.
func (l *List) touch(n *node) bool {
	if n.away && l.pager != nil && l.pager.Tight() {
		l.Shed(n.used())
	}
	n.recent = l.hold(n)
	return n.recent
}

// hold is present without others leaving memory.
func (l *List) hold(n *node) bool {
	if !n.away {
		return true
	}
	c := l.peek(n)
	if c == nil {
		return false
	}
	l.adopt(n, c)
	return true
}

// peek returns a copy of a node that is away, nil if it cannot be read.
func (l *List) peek(n *node) *node {
	if l.pager == nil {
		return nil
	}
	var c node
	if !l.pager.ReadPage(n.id, func(page []byte) (err error) {
		c, err = n.match(page)
		return err
	}) {
		return nil
	}
	return &c
}

// match makes a node of a page, which has to be the one that the index describes.
func (n *node) match(page []byte) (node, error) {
	c, err := loadNode(n.id, page)
	if err == nil && (c.count != n.count || c.used() != n.used()) {
		err = fmt.Errorf("list page %d of %d elements in %d bytes has %d in %d: %w",
			n.id, n.count, n.used(), c.count, c.used(), structures.ErrCorrupt)
	}
	return c, err
}

// adopt brings a node in whose copy was read.
func (l *List) adopt(n, c *node) {
	n.buf, n.away, n.recent = c.buf, false, true
	l.memory += len(n.buf)
	l.away--
}

// supply takes the page of a node that is away.
func (l *List) supply(n *node, page []byte) error {
	c, err := n.match(page)
	if err == nil {
		l.adopt(n, &c)
	}
	return err
}

// visitAway passes the page of a node that is away to visit.
func (l *List) visitAway(n *node, visit func(id uint64, page []byte)) bool {
	return l.pager != nil && l.pager.ReadPage(n.id, func(page []byte) error {
		visit(n.id, page)
		return nil
	})
}

// keptPages is the number of pages that a walk keeps in memory: those near an end are
// likely to be asked for again.
const keptPages = 16

// entries returns node at, for a walk that has passed some nodes before. One that is away
// is kept if it is among the first or memory has room, else it is a copy. The result is
// nil if it cannot be read.
func (l *List) entries(at, passed int) *node {
	n := l.node(at)
	if n.recent {
		return n
	}
	if n.away && passed >= keptPages && (l.pager == nil || !l.pager.Room()) {
		return l.peek(n)
	}
	if !l.touch(n) {
		return nil
	}
	return n
}

// take is PopMany of a list of which pages are away. It visits the elements before it
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
	if !read || !l.holdBounds(from, left) {
		return 0
	}
	ch.Op(opListPopHead+byte(end), 1)
	ch.Uint(uint64(count))
	l.trim(from, left)
	return count
}

// holdBounds makes sure that the pages are in memory within which a list of count
// elements from one on begins and ends. Pages before and behind are not needed.
func (l *List) holdBounds(from, count int) bool {
	if l.away == 0 || count == 0 {
		return !l.unread()
	}
	at, place := l.seek(from)
	if l.unread() || place > 0 && !l.present(l.node(at)) {
		return false
	}
	at, place = l.seek(from + count - 1)
	n := l.node(at)
	return place == int(n.count)-1 || l.hold(n)
}

// holdEqual makes sure that the pages are in memory that have the elements which Remove
// is to remove. It reads the others too, and reports whether it could.
func (l *List) holdEqual(count int, elem []byte) bool {
	left, at, step := uint(count), 0, 1
	switch {
	case count < 0:
		left, at, step = -left, l.nodes-1, -1
	case count == 0:
		left = math.MaxUint
	}
	for ; left > 0 && at >= 0 && at < l.nodes; at += step {
		n := l.node(at)
		c := n
		if n.away {
			if c = l.peek(n); c == nil {
				return false
			}
		}
		found := c.equal(elem)
		if found > 0 && n.away {
			l.adopt(n, c)
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
	if l.away == 0 {
		return true
	}
	const enough = 8 // for two new nodes between neighbours
	dense := func(i int) bool {
		return i > 0 && i < l.nodes && l.node(i).id-l.node(i-1).id < enough
	}
	return l.numbersBeyond() &&
		((!dense(i) || l.spread(i)) && (!dense(i+1) || l.spread(i+1)) || l.Gather())
}

// numbersBeyond makes sure that nodes can be opened at the ends: as many as one command
// can make and more.
func (l *List) numbersBeyond() bool {
	const numbers = 1 << 24 * idStep
	return l.node(0).id > numbers && l.end(Tail).id < math.MaxUint64-numbers || l.Gather()
}

// Gather reads every page that is away and reports whether it could.
func (l *List) Gather() bool {
	for i := 0; i < l.nodes && l.away > 0; i++ {
		if !l.hold(l.node(i)) {
			return false
		}
	}
	return true
}

// shedLooks bounds how many nodes one call of Shed looks at for each that it is to let go
// of. Those in memory can lie side by side, far from where it begins.
const shedLooks = 256

// Shed lets go of pages, see structures.Paged. It goes round from head to tail.
func (l *List) Shed(bytes int) (freed, changed int) {
	if l.nodes < 2 {
		return 0, 0
	}
	at := l.search(l.hand)
	for looks := min(shedLooks*(1+bytes/nodeBytes), 2*l.nodes); looks > 0 && freed < bytes; looks-- {
		if at == l.nodes {
			at = 0
		}
		n := l.node(at)
		at++
		switch {
		case n.away:
		case n.dirty || !n.stored:
			changed += len(n.buf)
		case n.recent:
			n.recent = false
		case l.pager != nil && l.pager.Held(n.id):
		default:
			freed += len(n.buf)
			l.memory -= len(n.buf)
			n.buf, n.lo, n.hi, n.away = nil, 0, uint32(n.used()), true
			l.away++
		}
	}
	l.hand = 0
	if at < l.nodes {
		l.hand = l.node(at).id
	}
	return freed, changed
}

// search returns the first node whose number is not below id.
func (l *List) search(id uint64) int {
	return sort.Search(l.nodes, func(i int) bool { return l.node(i).id >= id })
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

// loadIndex makes the nodes of an index, all of them away.
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
		l.array[l.nodes] = node{hi: uint32(used), count: uint32(count), id: id, stored: true, away: true}
		l.away++
		size += count
	}
	if l.nodes < len(l.array) || len(rest) > 0 || size != uint64(l.declared) {
		return fmt.Errorf("index of a list of %d elements has %d: %w", l.declared, size, structures.ErrCorrupt)
	}
	l.len = int(size)
	return nil
}
