package zset

import (
	"cmp"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Pages of a large set can be evicted: on disk only. A set is indexed once Evict has come by:
// from then on buckets of its index and branches on the lowest level are pages too, until
// it is one leaf again. Leaves and buckets can be evicted. An evicted leaf keeps the
// numbers of its entries and bytes and the beginning of the first entry, so that its place
// is known; a bucket keeps the number of its entries.

// SetPager sets what reads evicted pages.
func (s *Set) SetPager(p structures.Pager) {
	s.pages.Pager = p
	if s.index != nil {
		s.index.pages.Pager = p
	}
}

// Evicted is the number of pages that are on disk only, and their bytes.
func (s *Set) Evicted() (pages int, bytes int64) {
	if s.coming != nil {
		return s.promisedPages + s.index.pages.Count(), int64(s.coming.bytes)
	}
	if s.whole() {
		return 0, 0
	}
	pages, bytes = s.pages.Evicted(s.paging())
	buckets, more := s.index.pages.Evicted(s.index.paging())
	return pages + buckets, bytes + more
}

// whole reports that no page is evicted.
func (s *Set) whole() bool { return s.index == nil || s.pages.Whole() && s.index.pages.Whole() }

// unread reports that a page could not be read for the command under way.
func (s *Set) unread() bool { return s.index != nil && s.failed() }

func (s *Set) failed() bool { return s.pages.Unread() || s.index.pages.Unread() }

// Changed is about how many bytes of pages are to be written.
func (s *Set) Changed() int {
	if s.index == nil {
		return 0 // all is in the head, or in one large entry
	}
	return s.pages.Due + s.index.pages.Due + s.branches.Changed()*leafBytes
}

// makeRoom evicts pages if memory is exceeded by far, of those that were not used since Evict
// came by: what the command under way holds stays.
func (s *Set) makeRoom() {
	if s.index != nil {
		s.evictUnused(roomBytes)
	}
}

func (s *Set) evictUnused(bytes int) {
	if !s.whole() && s.pages.Pager != nil && s.pages.Pager.Tight() {
		buckets := s.index.share(bytes, s.index.memory, s.memory)
		s.index.pages.Spare(s.index.paging(), buckets)
		s.pages.Spare(s.paging(), bytes-buckets)
	}
}

// roomBytes is what makeRoom makes room for: the buckets of the members of a leaf.
const roomBytes = 64 << 10

// share is how much of n is for the index, as its part is to that of the leaves.
func (x *index) share(n, part, leaves int) int {
	return int(float64(n) * float64(part) / float64(max(part+leaves, 1)))
}

// LoadAll reads every evicted page and reports whether it could.
func (s *Set) LoadAll() bool {
	return s.whole() || s.pages.LoadAll(s.paging()) && s.index.pages.LoadAll(s.index.paging())
}

// Evict evicts pages, see structures.Paged: of leaves and of the index as these have memory.
// Coming by first, it makes pages of the index.
func (s *Set) Evict(bytes int) (freed, changed int) {
	if !s.indexed {
		if s.root == nil || s.live <= structures.IndexedPages() {
			return 0, 0
		}
		s.pageIndex()
	}
	freed, changed = s.index.pages.Evict(s.index.paging(), s.index.share(bytes, s.index.memory, s.memory))
	if bytes > freed {
		f, c := s.pages.Evict(s.paging(), bytes-freed)
		freed, changed = freed+f, changed+c
	}
	return freed, changed
}

// Pages visits changed or all pages, see structures.Value.
func (s *Set) Pages(all bool, visit func(id uint64, page []byte)) {
	s.pages.Visit(s.paging(), all, visit)
	if s.index != nil {
		s.index.pages.Visit(s.index.paging(), all, visit)
	}
	s.branches.Visit(s.branchPaging(), all, visit)
}

// Flush visits up to n of the pages that changed since Clean, as Pages does, marks them
// as stored, and reports whether there may be more than n others. Pages of branches come
// with Pages: the first leaves of a set change them again and again.
func (s *Set) Flush(n int, visit func(id uint64, page []byte)) (more bool) {
	return s.FlushDeltas(n, visit, nil)
}

// FlushDeltas is Flush, but with deltas, see structures.Incremental: leaves and buckets as writing them costs.
func (s *Set) FlushDeltas(n int, visit, delta func(id uint64, page []byte)) (more bool) {
	x, buckets := s.index, 0
	if x != nil {
		buckets = max(x.share(n, x.pages.Due, s.pages.Due), 1)
	}
	more = s.pages.FlushDeltas(s.paging(), max(n-buckets, 1), leafBytes, visit, delta)
	return x != nil && x.pages.FlushDeltas(x.paging(), buckets, leafBytes, visit, delta) || more
}

// Clean marks every page as stored.
func (s *Set) Clean() {
	s.promised = -1
	s.pages.Clean(s.paging())
	if s.index != nil {
		s.index.pages.Clean(s.index.paging())
	}
	s.branches.Clean(s.branchPaging())
}

// MarkAllDirty marks every page as changed.
func (s *Set) MarkAllDirty() {
	s.pages.MarkAllDirty(s.paging())
	if s.indexed {
		s.taintIndex()
	}
}

func (s *Set) taintIndex() {
	s.index.pages.MarkAllDirty(s.index.paging())
	eachLowest(s.root, s.alterBranch)
}

// pageIndex makes pages of the index and the branches, which are to be stored.
func (s *Set) pageIndex() {
	s.indexed, s.index.paged = true, true
	s.taintIndex()
}

// dropIndex frees the index, and the branches that are left.
func (s *Set) dropIndex() {
	x := s.index
	if x == nil {
		return
	}
	x.paging().Each(0, func(id uint64, bk *bucket) bool {
		x.pages.Remove(x.paging(), id, bk)
		return true
	})
	s.branches.Gone = append(s.branches.Gone, x.pages.Gone...)
	if s.root != nil {
		eachLowest(s.root, func(n *branch) { s.branches.Remove(n, n.id()) })
	}
	s.index, s.indexed = nil, false
}

// branchPages are the branches of a tree as their pages see them, [paged.Stored].
type branchPages tree

func (t *tree) branchPaging() *branchPages { return (*branchPages)(t) }

// Each sorts the branches, as their numbers tell nothing of their places.
func (p *branchPages) Each(from uint64, visit func(id uint64, n *branch) bool) {
	if !p.indexed {
		return
	}
	var all []*branch
	eachLowest(p.root, func(n *branch) { all = append(all, n) })
	slices.SortFunc(all, func(a, b *branch) int { return cmp.Compare(a.num, b.num) })
	for _, n := range all {
		if n.id() >= from && !visit(n.id(), n) {
			return
		}
	}
}

// InHead reports that no branch has a page.
func (p *branchPages) InHead() bool { return !p.indexed }

func (p *branchPages) Append(dst []byte, n *branch) []byte { return n.appendPage(dst) }
