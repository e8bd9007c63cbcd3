package zset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// evictedIndexed returns an indexed set of members in no order, with all pages stored.
func evictedIndexed(members, size int) (*Set, *disk) {
	s, d := evictedSet()
	for n, i := range rand.New(rand.NewPCG(3, 4)).Perm(members) {
		if s.Add(nil, fmt.Appendf(nil, "%0*d", size, i), float64(i), 0); n%(members/2) == 0 {
			s.Evict(1)
		}
	}
	d.store(s)
	return s, d
}

// unused marks all pages as not used lately.
func unused(s *Set) {
	s.paging().Each(0, func(_ uint64, l *leaf) bool { l.Recent = false; return true })
	s.index.paging().Each(0, func(_ uint64, bk *bucket) bool { bk.Recent = false; return true })
}

// Numbers of branches tell nothing of their places, and those of all pages are visited in order.
func TestPagesAreVisitedInTheOrderOfTheirNumbers(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	s, _ := evictedIndexed(3000, 400)
	var branches []uint32
	eachLowest(s.root, func(n *branch) { branches = append(branches, n.num) })
	if len(branches) < 3 || slices.IsSorted(branches) {
		t.Fatalf("branches %v: the set does not show anything", branches)
	}
	s.MarkAllDirty()
	for _, all := range []bool{true, false} {
		var ids []uint64
		s.Pages(all, func(id uint64, _ []byte) { ids = append(ids, id) })
		if !slices.IsSorted(ids) || ids[len(ids)-1] < firstBranch {
			t.Errorf("all %v: %d pages are out of order", all, len(ids))
		}
	}
}

// What ReadyAdd has read stays in memory until it is used, and what it found there, although memory
// is exceeded.
func TestPagesThatAreReadyStay(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	for _, read := range []bool{true, false} {
		s, d := evictedIndexed(3000, 100)
		evictAll(s)
		if !read {
			if s.LoadAll(); d.failed {
				t.Fatal("a page cannot be read")
			}
			unused(s)
			s.Evict(20 * leafBytes) // some pages are evicted
		}
		// Members that are there, so that their pages are needed.
		entry := func(i int) (float64, []byte) { return float64(i) + 0.5, fmt.Appendf(nil, "%0100d", i*3) }
		unused(s)
		if !s.ReadyAdd(200, entry) {
			t.Fatal("not ready")
		}
		d.tight, d.left = true, 0
		for i := range 200 {
			score, member := entry(i)
			if s.Add(nil, member, score, 0); d.failed {
				t.Fatalf("read %v: a page of entry %d left memory", read, i)
			}
		}
		d.left = 1 << 60
		pages, _ := s.Evicted()
		s.Score([]byte("any"))
		if after, _ := s.Evicted(); pages == 0 || after < pages {
			t.Errorf("read %v: %d pages are evicted, then %d", read, pages, after)
		}
		check(t, s)
	}
}

// Leaves and the index lose memory as they have it.
func TestEvictTakesOfLeavesAndOfTheIndex(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	s, _ := evictedIndexed(20_000, 10)
	unused(s)
	leaves, index := s.memory, s.index.memory
	const quarter = 4
	freed, _ := s.Evict((leaves + index) / quarter)
	for name, c := range map[string]struct{ had, has int }{"leaves": {leaves, s.memory}, "index": {index, s.index.memory}} {
		if lost := c.had - c.has; lost < c.had/(2*quarter) || lost > 2*c.had/quarter {
			t.Errorf("%s: %d of %d bytes left memory, of %d in all", name, lost, c.had, freed)
		}
	}
}

// The pass asks for parts as long as there is more than one of them.
func TestPartsEndWhenOneIsLeft(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	const part = 3
	for _, what := range []string{"leaves", "buckets"} {
		s, _ := evictedIndexed(20_000, 10)
		if what == "leaves" {
			s.pages.MarkAllDirty(s.paging())
		} else {
			s.index.pages.MarkAllDirty(s.index.paging())
		}
		parts, most := 0, 0
		for more := true; more; parts++ {
			n := 0
			more = s.Flush(part, func(uint64, []byte) { n++ })
			most = max(most, n)
		}
		left := 0
		s.Pages(false, func(uint64, []byte) { left++ })
		if parts < 5 || left > part || most > part {
			t.Errorf("%s: after %d parts of %d pages at most %d pages are left", what, parts, most, left)
		}
	}
}

// A walk ends before a page that cannot be read, whether it keeps pages or passes by.
func TestWalkEndsBeforeAPageThatCannotBeRead(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	s, d := evictedIndexed(3000, 100)
	for _, readable := range []int{0, 3, paged.Walking + 5} {
		for _, walk := range []func(rank, count int, visit func([]byte, float64) bool){s.Range, s.Reverse} {
			evictAll(s)
			d.left, d.failed = readable, false
			seen, rank := 0, s.Len()/2
			walk(rank, s.Len(), func([]byte, float64) bool { seen++; return true })
			if !d.failed || seen < readable || seen > (readable+1)*leafBytes/100 {
				t.Errorf("%d pages can be read: %d members were visited, failed %v", readable, seen, d.failed)
			}
		}
	}
}
