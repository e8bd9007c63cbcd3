package schedule

import (
	"math/bits"

	"github.com/vigildb/vigil/scheduler"
)

// changed are the pages that changed since they were stored: bit p%64 of word p/64.
type changed []uint64

// touch marks the page of a slot.
func (c *changed) touch(slot int) {
	id := slot / scheduler.PageSize
	for len(*c) <= id/64 {
		*c = append(*c, 0)
	}
	(*c)[id/64] |= 1 << (id % 64)
}

// stored unmarks a page that is marked.
func (c changed) stored(id int) { c[id/64] &^= 1 << (id % 64) }

// after is the first page from one on that is marked, -1 if there is none.
func (c changed) after(id int) int {
	for w, seen := id/64, id%64; w < len(c); w, seen = w+1, 0 {
		if left := c[w] >> seen; left != 0 {
			return w*64 + seen + bits.TrailingZeros64(left)
		}
	}
	return -1
}
