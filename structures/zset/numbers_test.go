package zset

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// Leaves are numbered as in a set that once had a hundred thousand: those with the largest numbers
// are evicted when most others go.
func TestSetWithDistantNumbersComesBack(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	defer setSparser(sparser, spareNumbers)
	setSparser(64, 1000)
	s, d := evictedSet()
	for i := range 2000 {
		if i == 1990 { // as if a million leaves had been between
			s.numbered = append(s.numbered, make([]*leaf, 100_000-len(s.numbered))...)
			s.free = s.vacant()
		}
		s.Add(nil, fmt.Appendf(nil, "%0400d", i), float64(i), 0)
	}
	evictAll(s)
	d.store(s)
	evictAll(s)
	s.RemoveRange(nil, 0, 1900)
	check(t, s)
	d.store(s)
	d.load(t, s)
}
