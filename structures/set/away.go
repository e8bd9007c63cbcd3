package set

import "github.com/vigildb/vigil/structures"

// Of a large set the members that are no integers can be on disk only, as those of the
// hash that has them. Integers, which take a few bytes each, are always in memory.

// shifted is a pager for pages of the hash, which have twice the number.
type shifted struct{ structures.Pager }

func (p shifted) ReadPage(id uint64, use func(page []byte) error) bool {
	return p.Pager.ReadPage(id>>1, use)
}

func (p shifted) Held(id uint64) bool { return p.Pager.Held(id >> 1) }

// SetPager says where pages are read that are away.
func (s *Set) SetPager(p structures.Pager) {
	if p == nil {
		s.rest.SetPager(nil)
		return
	}
	s.rest.SetPager(shifted{p})
}

// Away is the number of pages that are on disk only, and their bytes.
func (s *Set) Away() (pages int, bytes int64) { return s.rest.Away() }

// ResidentFrom is the number from which on pages are never away.
func (s *Set) ResidentFrom() uint64 { return intPage }

// Shed lets go of pages, see structures.Paged.
func (s *Set) Shed(bytes int) (freed, changed int) { return s.rest.Shed(bytes) }

// Changed is about how many bytes of pages changed since Clean.
func (s *Set) Changed() int { return s.rest.Changed() }

// Gather reads every page that is away and reports whether it could.
func (s *Set) Gather() bool { return s.rest.Gather() }

// Ready makes sure that what is done to members does not fail half way. It reports
// false if a page cannot be read that one of them needs.
func (s *Set) Ready(members ...[]byte) bool {
	if s.rest.Whole() {
		return true
	}
	for _, m := range members {
		if _, ok := parse(m); !ok && !s.rest.Ready(1, m) {
			return false
		}
	}
	return true
}

// Taint marks every page as changed.
func (s *Set) Taint() {
	s.rest.Taint()
	for _, r := range s.ints.runs {
		r.dirty = true
	}
}

// Part visits up to n of the pages that changed since Clean, marks them as stored, and
// reports whether there may be others. Those of integers come with Pages.
func (s *Set) Part(n int, visit func(id uint64, page []byte)) (more bool) {
	return s.rest.Part(n, func(id uint64, page []byte) { visit(id>>1, page) })
}
