package slots

import (
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
)

// pageReader is a Placer as it uses large values, see writeback.Reader.
type pageReader Placer

func (r *pageReader) Fail(err error) { (*Placer)(r).Fail(err) }

func (r *pageReader) Failed() bool { return r.Err != nil }

// Use makes this the one that fails if a page of an object cannot be read. The object has a pager.
func (p *Placer) Use(o *keyspace.Object) {
	if pager := writeback.PagerOf(o); pager.Use((*pageReader)(p)) {
		p.paged = append(p.paged, pager)
	}
}

// settlePages accounts for pages that came in.
func (p *Placer) settlePages() {
	for _, pager := range p.paged {
		pager.Done()
	}
	clear(p.paged)
	p.paged = p.paged[:0]
}

// LoadAll brings all pages of an object in, and reports whether it could.
func (p *Placer) LoadAll(o *keyspace.Object) bool {
	if o == nil || o.Pager == nil {
		return true
	}
	p.Use(o)
	return o.Value.(structures.Paged).LoadAll()
}
