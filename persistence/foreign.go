package persistence

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// A payload that a client brings must not take memory out of proportion to its
// length. Tables of pages are as long as the highest number of a page, which a
// few bytes could make huge, and in good faith: what is left of ten million nodes
// may be one in a high slot.
//
// So numbers are kept as they are up to foreignPages, and one more for each eight
// bytes of the payload, of which a page takes more. Beyond, the payload leaves
// pages out, and its pages are numbered anew without gaps: their order, which
// decides ties, stays.

// foreignPages are the pages of a schedule of a million nodes, however many of
// them are gone: 128 KiB for each table.
const foreignPages = 1 << 14

// ordered is a value to which the numbers of its pages tell their order and
// nothing else.
type ordered interface {
	// PageLimit is one more than the highest number that a page may have.
	PageLimit() uint64
}

// Decode makes a value of what Dump encoded, and stores nothing: whoever has to
// know first that payload is good Replaces with it. The payload may come from a
// client. Only values that number their pages in order may have any, and what is
// beyond foreignPages may get other numbers. The error tells that payload is not
// an encoding of that kind.
func (tx *Tx) Decode(kind structures.Kind, payload []byte) (structures.Value, error) {
	head, pages, err := cutBytes(payload)
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	v, err := tx.s.decode(kind, head)
	if err != nil {
		return nil, err
	}
	limit := uint64(0)
	if o, ok := v.(ordered); ok {
		limit = o.PageLimit()
	}
	beyond, err := lastPage(pages, limit)
	if err != nil {
		return nil, err
	}
	anew := beyond > foreignPages+uint64(len(payload))/8
	next := uint64(0)
	err = eachPage(pages, func(id uint64, page []byte) error {
		if anew {
			id = next
		}
		next++
		return v.SetPage(id, page)
	})
	if err != nil {
		return nil, err
	}
	return v, complete(v)
}

// lastPage is the number of the last page, 0 if there is none. Numbers must
// increase, as Pages visits them, and be below limit.
func lastPage(pages []byte, limit uint64) (last uint64, err error) {
	least := uint64(0)
	err = eachPage(pages, func(id uint64, _ []byte) error {
		if id < least || id >= limit {
			return fmt.Errorf("page %d: %w", id, structures.ErrCorrupt)
		}
		last, least = id, id+1
		return nil
	})
	return last, err
}

// eachPage visits the pages behind a head that Dump wrote, up to the first error.
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
