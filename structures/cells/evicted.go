package cells

import (
	"fmt"
	"math/bits"

	"github.com/vigildb/vigil/structures"
)

func ones(mask uint64) int { return bits.OnesCount64(mask) }

// SetPager sets what reads evicted pages.
func (s *Stack) SetPager(p structures.Pager) { s.pager = p }

// Evicted is the number of evicted pages, and about their bytes.
func (s *Stack) Evicted() (pages int, bytes int64) { return s.evicted, int64(s.evicted) * PageBytes }

// bring reads page i of an array, in the place of others if there is no room.
func (s *Stack) bring(a *Array, g *group, i uint64) bool {
	if s.pager != nil && s.pager.Tight() {
		s.Evict(PageBytes)
	}
	return s.fetch(a, g, i)
}

// fetch reads page i of an array, which is evicted.
func (s *Stack) fetch(a *Array, g *group, i uint64) bool {
	return s.pager != nil && s.pager.ReadPage(a.id(i), func(page []byte) error {
		return a.adopt(g, i, page)
	})
}

// checkPage reports an error if a page cannot be page i.
func (a *Array) checkPage(i uint64, page []byte) error {
	if len(page) == 0 || len(page) > a.pageBytes(i) {
		return fmt.Errorf("page %x of %d bytes of %d: %w", a.id(i), len(page), a.pageBytes(i), structures.ErrCorrupt)
	}
	return nil
}

// adopt takes a copy of page i as it was stored.
func (a *Array) adopt(g *group, i uint64, page []byte) error {
	if err := a.checkPage(i, page); err != nil {
		return err
	}
	if g.data == nil {
		a.makeData(g, i)
	}
	a.s.lengthen(&g.data[i&groupMask], len(page), a.pageBytes(i))
	copy(g.data[i&groupMask], page)
	bit := uint64(1) << (i & groupMask)
	g.evicted &^= bit
	g.here |= bit
	g.used |= bit
	a.s.evicted--
	return nil
}

// LoadAll reads every evicted page and reports whether it could.
func (s *Stack) LoadAll() bool {
	for _, a := range s.arrays {
		if s.evicted == 0 {
			break
		}
		if !a.Fetch(0, a.size) {
			return false
		}
	}
	return s.evicted == 0
}

// Changed is about how many bytes of pages changed since Clean.
func (s *Stack) Changed() int { return s.changed * PageBytes }

// evictLooks bounds how many groups one call of Evict looks at for each page that it is to
// evict.
const evictLooks = 16

// Evict evicts pages, see structures.Paged. It goes round over the groups.
func (s *Stack) Evict(bytes int) (freed, changed int) {
	groups := 0
	for _, a := range s.arrays {
		groups += len(a.groups)
	}
	if !s.paged || groups == 0 {
		return 0, 0
	}
	for looks := min(evictLooks*(1+bytes/PageBytes), 2*groups); looks > 0 && freed < bytes; {
		if s.hand.array >= len(s.arrays) {
			s.hand = cursor{}
		}
		a := s.arrays[s.hand.array]
		if s.hand.group >= len(a.groups) {
			s.hand = cursor{array: s.hand.array + 1}
			continue
		}
		if g := a.groups[s.hand.group]; g != nil {
			changed += ones(g.dirty) * PageBytes
			freed += s.evictGroup(a, g, bytes-freed)
		}
		s.hand.group++
		looks--
	}
	return freed, changed
}

// evictGroup evicts pages of a group.
func (s *Stack) evictGroup(a *Array, g *group, bytes int) (freed int) {
	idle := g.here & g.stored &^ g.dirty &^ g.used
	g.used = 0
	for ; idle != 0 && freed < bytes; idle &= idle - 1 {
		bit := idle & -idle
		at := bits.TrailingZeros64(idle)
		if s.pager == nil || s.pager.Held(a.id(uint64(s.hand.group)<<groupShift|uint64(at))) {
			continue
		}
		p := &g.data[at]
		freed += cap(*p)
		s.held -= cap(*p)
		s.filled -= len(*p)
		*p = nil
		g.here &^= bit
		g.shared &^= bit
		g.evicted |= bit
		s.evicted++
	}
	return freed
}
