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

// write stores what changed in a hash.
func (d shelf) write(h *Hash) {
	h.FlushDeltas(1<<30, func(id uint64, page []byte) { d[id] = slices.Clone(page) },
		func(id uint64, delta []byte) { d[id] = slices.Concat(d[id], delta) })
	h.Pages(false, func(id uint64, _ []byte) { delete(d, id) })
	h.Clean()
}

func (d shelf) evict(h *Hash) {
	for range 3 {
		h.Evict(1 << 30)
	}
}

// New fields of pages that are not in memory are kept beside what is on disk, and the last value of one that is
// set again counts, whether the disk has got the one before it or not.
func TestFieldSetTwiceWhileItsPageIsEvictedHasItsLastValue(t *testing.T) {
	for _, values := range [][]string{{"first", "other"}, {"first", "a longer one"}, {"first", "2"}, {"a", "b", "a"}, {"a", "bb", "a", "bb"}} {
		for written := range len(values) + 1 {
			h, d := New(structurestest.Keys(9)), shelf{}
			h.SetPager(d)
			for i := range 2000 {
				h.Set(nil, fmt.Append(nil, i), bytes.Repeat([]byte{'v'}, 50))
			}
			d.write(h)
			d.evict(h)
			const fresh = 40
			for j, value := range values {
				if j == written {
					d.write(h)
				}
				for i := range fresh {
					h.Set(nil, fmt.Append(nil, "fresh", i), []byte(value))
				}
			}
			if h.pages.Whole() {
				t.Fatal("no page is evicted")
			}
			check := func(when string) {
				t.Helper()
				n := 0
				h.Each(0, func(field, value []byte, _ int64) {
					if bytes.HasPrefix(field, []byte("fresh")) {
						if n++; string(value) != values[len(values)-1] {
							t.Errorf("%v, %s, written before %d: %s is %q", values, when, written, field, value)
						}
					}
				})
				if n != fresh || h.Len() != 2000+fresh {
					t.Errorf("%v, %s: %d fields are new, %d in all", values, when, n, h.Len())
				}
			}
			check("evicted")
			d.write(h)
			check("written")
			d.evict(h)
			check("evicted")
			if !h.LoadAll() {
				t.Fatal("not gathered")
			}
			check("in memory")
		}
	}
}

// A hash that grows while none of its pages is in memory has pages of the usual size.
func TestHashThatIsEvictedGrowsByPages(t *testing.T) {
	h, d := New(structurestest.Keys(9)), shelf{}
	h.SetPager(d)
	for i := range 4000 {
		h.Set(nil, fmt.Append(nil, i), bytes.Repeat([]byte{'v'}, 50))
		if i < 500 || i%20 > 0 {
			continue
		}
		d.write(h)
		d.evict(h)
	}
	h.table.each(0, func(s *segment) bool {
		if s.live() > segmentBytes || s.len() > segmentFields {
			t.Errorf("page %x has %d fields in %d bytes", s.id(), s.len(), s.live())
		}
		return true
	})
	if h.pages.Count() < 20 || !h.LoadAll() || h.Len() != 4000 {
		t.Errorf("%d pages are evicted, %d fields", h.pages.Count(), h.Len())
	}
	checkTable(t, h)
}
