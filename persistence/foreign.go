package persistence

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
)

// A payload that a client brings must not take memory out of proportion to its
// length. Tables of pages are as long as the highest number of a page, and a page
// has room up to the last of its nodes: a few bytes could make both large, and in
// good faith, as what is left of ten million nodes may be some in high slots.
//
// So numbers are kept up to foreignPages, and one more for each eight bytes of the
// payload, which is less than a page takes; and if pages are many, only if they
// are foreignBytes long on average. Otherwise the elements are
// renumbered without gaps: their order, which decides ties, stays.
const (
	// foreignPages are the pages of a schedule of a million nodes, however many
	// of them are gone: 128 KiB for each table.
	foreignPages = 1 << 14
	// foreignBytes are some 16 nodes of a page of 64, which takes 3 to 8 KiB.
	foreignBytes = 512
	// fewPages is the number of pages up to which their lengths do not matter.
	fewPages = 1 << 10
)

// ordered is a value that uses the numbers of its pages only for their order.
type ordered interface {
	// PageLimit is one more than the highest number that a page may have.
	PageLimit() uint64
	// AppendPage is SetPage, but the elements get the numbers that follow.
	AppendPage(page []byte) error
	// Adopt adds what a value made by this package would have stored.
	Adopt()
}

// Decode makes a value from the encoding that Dump returned, and stores
// nothing: callers that have to validate the payload first store the result
// with Replace. The payload may come from a client. Only values that number
// their pages in order may have pages. The error means that payload is not an
// encoding of that kind.
func (tr Transfers) Decode(kind structures.Kind, payload []byte) (structures.Value, error) {
	head, pages, err := cutBytes(payload)
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	v, err := tr.tx.s.heads.Decode(kind, head)
	if err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		return v, format.Complete(v)
	}
	o, ok := v.(ordered)
	if !ok {
		return nil, fmt.Errorf("pages: %w", structures.ErrCorrupt)
	}
	last, count, err := countPages(pages, o.PageLimit())
	if err != nil {
		return nil, err
	}
	size, seat := uint64(len(payload)), v.SetPage
	if last > foreignPages+size/8 || count > fewPages && size < count*foreignBytes {
		seat = func(_ uint64, page []byte) error { return o.AppendPage(page) }
	}
	if err := eachPage(pages, seat); err != nil {
		return nil, err
	}
	o.Adopt()
	return v, format.Complete(v)
}

// countPages counts pages and returns the number of the last. Numbers must
// increase, as Pages visits them, and be below limit.
func countPages(pages []byte, limit uint64) (last, count uint64, err error) {
	least := uint64(0)
	err = eachPage(pages, func(id uint64, _ []byte) error {
		if id < least || id >= limit {
			return fmt.Errorf("page %d: %w", id, structures.ErrCorrupt)
		}
		last, least = id, id+1
		count++
		return nil
	})
	return last, count, err
}

// eachPage visits the pages after a head that Dump wrote, up to the first error.
func eachPage(b []byte, visit func(id uint64, page []byte) error) error {
	for len(b) > 0 {
		id, n := binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("page id: %w", structures.ErrCorrupt)
		}
		page, rest, err := cutBytes(b[n:])
		if err != nil {
			return fmt.Errorf("page %d: %w", id, err)
		}
		if err := visit(id, page); err != nil {
			return err
		}
		b = rest
	}
	return nil
}
