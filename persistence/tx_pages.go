package persistence

import (
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
)

// pageReader is a transaction as it uses large values, see writeback.Reader.
type pageReader Tx

func (r *pageReader) Fail(err error) { (*Tx)(r).fail(err) }

func (r *pageReader) Failed() bool { return r.err != nil }

// use makes the transaction the one that fails if a page of an object cannot be read. The object has a pager.
func (tx *Tx) use(o *keyspace.Object) {
	if p := writeback.PagerOf(o); p.Use((*pageReader)(tx)) {
		tx.paged = append(tx.paged, p)
	}
}

// settlePages accounts for pages that came in.
func (tx *Tx) settlePages() {
	for _, p := range tx.paged {
		p.Done()
	}
	clear(tx.paged)
	tx.paged = tx.paged[:0]
}

// gather brings all pages of an object in, and reports whether it could.
func (tx *Tx) gather(o *keyspace.Object) bool {
	if o == nil || o.Pager == nil {
		return true
	}
	tx.use(o)
	return o.Value.(structures.Paged).Gather()
}
