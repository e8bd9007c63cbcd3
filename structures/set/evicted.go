package set

import (
	"math"

	"github.com/vigildb/vigil/structures"
)

// Of a large set the members that are no integers can be on disk only, as those of the
// hash that has them, and the integers by their runs: see ints_evicted.go.

// shifted is a pager for pages of the hash, which have twice the number.
type shifted struct{ structures.Pager }

func (p shifted) ReadPage(id uint64, use func(page []byte) error) bool {
	return p.Pager.ReadPage(id>>1, use)
}

func (p shifted) Held(id uint64) bool { return p.Pager.Held(id >> 1) }

// SetPager sets what reads evicted pages.
func (s *Set) SetPager(p structures.Pager) {
	s.ints.pages.Pager = p
	if p == nil {
		s.rest.SetPager(nil)
		return
	}
	s.rest.SetPager(shifted{p})
}

// Evicted is the number of pages that are on disk only, and their bytes.
func (s *Set) Evicted() (pages int, bytes int64) {
	pages, bytes = s.rest.Evicted()
	more, b := s.ints.pages.Evicted(s.ints.paging())
	return pages + more, bytes + b
}

// whole reports that no page is evicted.
func (s *Set) whole() bool { return s.ints.pages.Whole() && s.rest.Whole() }

// unread reports that a page could not be read for the command under way, of words or of
// integers: it changes neither then.
func (s *Set) unread() bool {
	return s.ints.pages.Pager != nil && !s.whole() && s.ints.pages.Pager.Failed()
}

// ResidentFrom is the number from which on pages of the set are not evicted yet: those of
// integers of a head that has no index of them.
func (s *Set) ResidentFrom() uint64 {
	if s.promised >= 0 {
		return intPage
	}
	return math.MaxUint64
}

// Evict evicts pages, see structures.Paged.
func (s *Set) Evict(bytes int) (freed, changed int) {
	freed, changed = s.rest.Evict(bytes)
	if freed < bytes && !s.ints.paging().InHead() {
		f, c := s.ints.pages.Evict(s.ints.paging(), bytes-freed)
		freed, changed = freed+f, changed+c
	}
	return freed, changed
}

// Changed is about how many bytes of pages changed since Clean.
func (s *Set) Changed() int { return s.rest.Changed() + s.ints.pages.Changed()*maxRun }

// LoadAll reads every evicted page and reports whether it could.
func (s *Set) LoadAll() bool { return s.ints.pages.LoadAll(s.ints.paging()) && s.rest.LoadAll() }

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

// MarkAllDirty marks every page as changed.
func (s *Set) MarkAllDirty() {
	s.rest.MarkAllDirty()
	s.ints.pages.MarkAllDirty(s.ints.paging())
}

// Flush visits up to n of the pages that changed since Clean, marks them as stored, and
// reports whether there may be others: those of the hash, and then those of integers.
func (s *Set) Flush(n int, visit func(id uint64, page []byte)) (more bool) {
	return s.FlushDeltas(n, visit, nil)
}

// FlushDeltas is Flush with deltas of pages of the hash, see structures.Incremental.
func (s *Set) FlushDeltas(n int, visit, delta func(id uint64, page []byte)) (more bool) {
	left := n
	word := func(id uint64, page []byte) { left--; visit(id>>1, page) }
	var end func(id uint64, page []byte)
	if delta != nil {
		end = func(id uint64, page []byte) { delta(id>>1, page) }
	}
	if s.rest.FlushDeltas(n, word, end) {
		return true
	}
	return s.ints.pages.Flush(s.ints.paging(), max(left, 1), visit)
}
