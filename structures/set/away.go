package set

import (
	"math"

	"github.com/vigildb/vigil/structures"
)

// Of a large set the members that are no integers can be on disk only, as those of the
// hash that has them, and the integers by their runs: see ints_away.go.

// shifted is a pager for pages of the hash, which have twice the number.
type shifted struct{ structures.Pager }

func (p shifted) ReadPage(id uint64, use func(page []byte) error) bool {
	return p.Pager.ReadPage(id>>1, use)
}

func (p shifted) Held(id uint64) bool { return p.Pager.Held(id >> 1) }

// SetPager says where pages are read that are away.
func (s *Set) SetPager(p structures.Pager) {
	s.ints.pages.Pager = p
	if p == nil {
		s.rest.SetPager(nil)
		return
	}
	s.rest.SetPager(shifted{p})
}

// Away is the number of pages that are on disk only, and their bytes.
func (s *Set) Away() (pages int, bytes int64) {
	pages, bytes = s.rest.Away()
	more, b := s.ints.pages.Away(s.ints.paging())
	return pages + more, bytes + b
}

// whole reports that no page is away.
func (s *Set) whole() bool { return s.ints.pages.Whole() && s.rest.Whole() }

// unread reports that a page could not be read for the command under way, of words or of
// integers: it changes neither then.
func (s *Set) unread() bool {
	return s.ints.pages.Pager != nil && !s.whole() && s.ints.pages.Pager.Failed()
}

// ResidentFrom is the number from which on pages of the set are not away yet: those of
// integers of a head that has no index of them.
func (s *Set) ResidentFrom() uint64 {
	if s.promised >= 0 {
		return intPage
	}
	return math.MaxUint64
}

// Shed evicts pages, see structures.Paged.
func (s *Set) Shed(bytes int) (freed, changed int) {
	freed, changed = s.rest.Shed(bytes)
	if freed < bytes && !s.ints.paging().InHead() {
		f, c := s.ints.pages.Shed(s.ints.paging(), bytes-freed)
		freed, changed = freed+f, changed+c
	}
	return freed, changed
}

// Changed is about how many bytes of pages changed since Clean.
func (s *Set) Changed() int { return s.rest.Changed() + s.ints.pages.Changed()*maxRun }

// Gather reads every page that is away and reports whether it could.
func (s *Set) Gather() bool { return s.ints.pages.Gather(s.ints.paging()) && s.rest.Gather() }

// Ready makes sure that what is done to members does not fail half way. It reports
// false if a page cannot be read that one of them needs.
func (s *Set) Ready(members ...[]byte) bool { return s.ready(members, s.rest.Ready) }

// ReadyAdd is Ready for members that are to be added. Pages of words that are surely new are
// not needed.
func (s *Set) ReadyAdd(members ...[]byte) bool { return s.ready(members, s.rest.ReadyPut) }

func (s *Set) ready(members [][]byte, readyWords func(step int, words ...[]byte) bool) bool {
	if s.whole() {
		return true
	}
	if s.unread() {
		return false
	}
	var ints []int64
	var words [][]byte
	for _, m := range members {
		v, isInt := parse(m)
		if isInt {
			ints = append(ints, v)
		}
		if !isInt || s.timed {
			words = append(words, m)
		}
	}
	return readyWords(1, words...) && s.ints.ready(ints)
}

// Taint marks every page as changed.
func (s *Set) Taint() {
	s.rest.Taint()
	s.ints.pages.Taint(s.ints.paging())
}

// Part visits up to n of the pages that changed since Clean, marks them as stored, and
// reports whether there may be others: those of the hash, and then those of integers.
func (s *Set) Part(n int, visit func(id uint64, page []byte)) (more bool) {
	return s.Portion(n, visit, nil)
}

// Portion is Part with tails of pages of the hash, see structures.Tailed.
func (s *Set) Portion(n int, visit, tail func(id uint64, page []byte)) (more bool) {
	left := n
	word := func(id uint64, page []byte) { left--; visit(id>>1, page) }
	var end func(id uint64, page []byte)
	if tail != nil {
		end = func(id uint64, page []byte) { tail(id>>1, page) }
	}
	if s.rest.Portion(n, word, end) {
		return true
	}
	return s.ints.pages.Part(s.ints.paging(), max(left, 1), visit)
}
