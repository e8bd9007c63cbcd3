package hash

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/structurestest"
)

// shelf is a disk with the pages of a hash.
type shelf map[uint64][]byte

func (d shelf) ReadPage(id uint64, use func(page []byte) error) bool {
	return use(slices.Clone(d[id])) == nil
}
func (d shelf) Failed() bool     { return false }
func (d shelf) Room() bool       { return false }
func (d shelf) Held(uint64) bool { return false }
func (d shelf) Tight() bool      { return false }

// A hash that grows while none of its pages is in memory has pages of the usual size.
func TestHashThatIsAwayGrowsByPages(t *testing.T) {
	h, d := New(structurestest.Keys(9)), shelf{}
	h.SetPager(d)
	for i := range 4000 {
		h.Set(nil, fmt.Append(nil, i), bytes.Repeat([]byte{'v'}, 50))
		if i < 500 || i%20 > 0 {
			continue
		}
		h.Portion(1<<30, func(id uint64, page []byte) { d[id] = slices.Clone(page) },
			func(id uint64, tail []byte) { d[id] = slices.Concat(d[id], tail) })
		h.Pages(false, func(id uint64, _ []byte) { delete(d, id) })
		h.Clean()
		for range 3 {
			h.Shed(1 << 30)
		}
	}
	h.table.each(0, func(s *segment) bool {
		if s.live() > segmentBytes || s.len() > segmentFields {
			t.Errorf("page %x has %d fields in %d bytes", s.id(), s.len(), s.live())
		}
		return true
	})
	if h.table.away < 20 || !h.Gather() || h.Len() != 4000 {
		t.Errorf("%d pages are away, %d fields", h.table.away, h.Len())
	}
	checkTable(t, h)
}
