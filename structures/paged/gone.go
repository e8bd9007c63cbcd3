package paged

import "slices"

// Gone are numbers of pages that the disk had at the last Clean, in any order. Some may be numbers of other pages by now.
type Gone []uint64

func (g Gone) sorted() Gone {
	g = slices.Clone(g)
	slices.Sort(g)
	return slices.Compact(g)
}

// pass visits, of numbers that are sorted, those below that of a page, and returns those above it. again reports that the
// number of the page is one of them.
func (g Gone) pass(id uint64, visit func(id uint64, page []byte)) (rest Gone, again bool) {
	for len(g) > 0 && g[0] < id {
		visit(g[0], nil)
		g = g[1:]
	}
	if again = len(g) > 0 && g[0] == id; again {
		g = g[1:]
	}
	return g, again
}

func (g Gone) visit(visit func(id uint64, page []byte)) {
	for _, id := range g {
		visit(id, nil)
	}
}
