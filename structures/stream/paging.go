package stream

import (
	"fmt"
	"sort"

	"github.com/vigildb/vigil/structures"
)

// paging is a stream as its pages of entries see it, [paged.Pages].
type paging Stream

func (s *Stream) paging() *paging { return (*paging)(s) }

// Each leaves out the last page, which XADD needs: it is evicted until it is loaded only.
func (p *paging) Each(from uint64, visit func(id uint64, e *page) bool) {
	n := max(len(p.pages)-1, 0)
	for i := sort.Search(n, func(i int) bool { return p.pages[i].id >= from }); i < n && visit(p.pages[i].id, p.pages[i]); i++ {
	}
}

func (p *paging) Bytes(e *page) int {
	if e.Evicted {
		return e.size()
	}
	return cap(e.buf)
}

// Decode makes a page of stored bytes, which have to be those that the index describes.
func (p *paging) Decode(id uint64, e *page, b []byte) (*page, error) {
	c, err := loadPage(id, b)
	if err == nil && (c.first() != e.first() || c.last != e.last || c.count != e.count || c.live != e.live || len(b) != e.size()) {
		err = fmt.Errorf("stream page %x from %v to %v with %d of %d entries in %d bytes is one from %v to %v with %d of %d in %d: %w",
			id, e.first(), e.last, e.live, e.count, e.size(), c.first(), c.last, c.live, c.count, len(b), structures.ErrCorrupt)
	}
	return c, err
}

func (p *paging) Evict(e *page) bool {
	p.memory -= cap(e.buf)
	e.span, e.lent = span{body: len(e.buf), base: e.first()}, false
	return true
}

func (p *paging) Adopt(e, c *page) {
	e.span, e.lent = c.span, false
	p.memory += cap(e.buf)
}

// size is the number of bytes of a page.
func (e *page) size() int {
	if e.Evicted {
		return e.body
	}
	return len(e.buf)
}
