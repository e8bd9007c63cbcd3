package list

import (
	"fmt"
	"sort"

	"github.com/vigildb/vigil/structures"
)

// paging is a list as its pages see it, [paged.Pages]: a page is a node.
type paging List

func (l *List) paging() *paging { return (*paging)(l) }

func (p *paging) list() *List { return (*List)(p) }

func (p *paging) Each(from uint64, visit func(id uint64, n *node) bool) {
	l := p.list()
	for i := l.search(from); i < p.nodes; i++ {
		if n := l.node(i); !visit(n.id, n) {
			return
		}
	}
}

// search returns the first node whose number is not below one.
func (l *List) search(id uint64) int {
	return sort.Search(l.nodes, func(i int) bool { return l.node(i).id >= id })
}

// InHead reports whether the list is stored without pages.
func (p *paging) InHead() bool {
	return p.nodes == 0 || p.nodes == 1 && !p.list().node(0).Evicted && p.list().node(0).used() <= headBytes
}

func (p *paging) Bytes(n *node) int {
	if n.Evicted {
		return n.used()
	}
	return len(n.buf)
}

func (p *paging) Append(dst []byte, n *node) []byte { return n.appendPage(dst) }

// Decode makes a node of a page, which has to be the one that the index describes.
func (p *paging) Decode(id uint64, n *node, page []byte) (*node, error) {
	c, err := loadNode(id, page)
	if err == nil && (c.count != n.count || c.used() != n.used()) {
		err = fmt.Errorf("list page %d of %d elements in %d bytes has %d in %d: %w",
			n.id, n.count, n.used(), c.count, c.used(), structures.ErrCorrupt)
	}
	return &c, err
}

func (p *paging) Evict(n *node) bool {
	p.memory -= len(n.buf)
	n.buf, n.lo, n.hi = nil, 0, uint32(n.used())
	return true
}

func (p *paging) Adopt(n, c *node) {
	n.buf = c.buf
	p.memory += len(n.buf)
}
