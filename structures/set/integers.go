package set

import (
	"fmt"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// integers are the members that are numbers. Few of them are one run, which lies in
// the head of the set; more are runs side by side, each a page on disk. A run holds
// what is between its bound and that of the next one, however many members come and
// go meanwhile: so the bound, which is even, numbers the page. The first bound is the
// least integer.
type integers struct {
	bounds []int64
	runs   []*run
	count  int
	memory int // of the runs
	pages  paged.Set[*run]
}

// intPage tells pages of integers from those of other members, whose numbers are
// half of those of the hash.
const intPage = 1 << 63

// pageOf is the number of the page of a bound: order is kept, and the lowest bit,
// which is 0, makes room for intPage.
func pageOf(bound int64) uint64 { return (uint64(bound)^1<<63)>>1 | intPage }

// boundOf is the bound of a page's number.
func boundOf(id uint64) int64 { return int64(id<<1 ^ 1<<63) }

// inHead reports that the integers have no pages.
func (s *integers) inHead() bool { return len(s.runs) <= 1 }

// locate returns the index of the run that v is in, or belongs to.
func (s *integers) locate(v int64) int {
	k, found := slices.BinarySearch(s.bounds, v)
	if !found {
		k--
	}
	return k
}

func (s *integers) has(v int64) bool {
	if s.count == 0 {
		return false
	}
	k := s.locate(v)
	if !s.touch(k) {
		return false
	}
	_, found := s.runs[k].find(v)
	return found
}

// add makes v a member, and reports whether it is new and its run could be read.
func (s *integers) add(v int64) bool {
	if len(s.runs) == 0 {
		r := &run{}
		if cap(s.runs) > 0 && s.runs[:1][0] != nil { // of a set that was reset
			r = s.runs[:1][0]
			*r = run{data: r.data[:0]}
		}
		s.insertRun(0, math.MinInt64, r)
	}
	k := s.locate(v)
	if !s.touch(k) {
		return false
	}
	i, found := s.runs[k].find(v)
	if found {
		return false
	}
	for !s.runs[k].fits(v) {
		s.split(k, i, v)
		k = s.locate(v)
		i, _ = s.runs[k].find(v)
	}
	r := s.runs[k]
	s.mark(r)
	s.memory -= r.memory()
	r.insert(i, v)
	s.memory += r.memory()
	s.count++
	return true
}

// split divides run k, which has no room for v at place i: in the middle, or where v
// belongs if that is an end, so that numbers given in order fill whole runs.
func (s *integers) split(k, i int, v int64) {
	r := s.runs[k]
	n := r.len()
	at, bound := n/2, r.at(n/2)&^1
	if i == n {
		at, bound = n, v&^1
	} else if first := r.at(0) &^ 1; i == 0 && v < first {
		at, bound = 0, first
	}
	if at > 0 && r.at(at-1) >= bound {
		at-- // the odd number above an even one goes with it
	}
	left, right := r.part(0, at), r.part(at, n)
	s.mark(r)
	left.State, right.Recent = r.State, true
	s.memory += left.memory() - r.memory()
	s.runs[k] = left
	s.insertRun(k+1, bound, right)
	s.mark(right)
}

func (s *integers) insertRun(k int, bound int64, r *run) {
	s.bounds = slices.Insert(s.bounds, k, bound)
	s.runs = slices.Insert(s.runs, k, r)
	s.memory += r.memory()
}

// remove deletes v, and reports whether it was a member and what it needs could be read.
func (s *integers) remove(v int64) bool {
	if s.count == 0 {
		return false
	}
	k := s.locate(v)
	if !s.touch(k) {
		return false
	}
	r := s.runs[k]
	i, found := r.find(v)
	if !found || !s.readyRemove(k) {
		return false
	}
	s.mark(r)
	s.memory -= r.memory()
	r.remove(i)
	s.memory += r.memory()
	s.count--
	s.settle(k)
	return true
}

// settle looks after run k, which lost a member: an empty one is removed, and a
// small one joins a neighbour that is in memory.
func (s *integers) settle(k int) {
	switch r := s.runs[k]; {
	case len(r.data) == 0 && k == 0 && len(s.runs) > 1:
		s.join(0) // the next run takes the place of the first
	case len(r.data) == 0:
		s.removeRun(k)
	case len(r.data) > maxRun/4:
		return
	case k > 0 && !s.runs[k-1].Evicted && s.runs[k-1].joinable(r):
		s.join(k - 1)
	case k+1 < len(s.runs) && !s.runs[k+1].Evicted && r.joinable(s.runs[k+1]):
		s.join(k)
	}
}

// join makes one run of run k and the next.
func (s *integers) join(k int) {
	r, upper := s.runs[k], s.runs[k+1]
	s.mark(r)
	s.memory -= r.memory()
	r.extend(upper, 0, upper.len())
	s.memory += r.memory()
	s.removeRun(k + 1)
}

// removeRun takes run k away, and notes that its page is gone.
func (s *integers) removeRun(k int) {
	r := s.runs[k]
	s.pages.Remove(r, pageOf(s.bounds[k]))
	s.memory -= r.memory()
	s.bounds = slices.Delete(s.bounds, k, k+1)
	s.runs = slices.Delete(s.runs, k, k+1)
	if cap(s.runs) > 16 && len(s.runs) < cap(s.runs)/4 {
		s.bounds, s.runs = slices.Clone(s.bounds), slices.Clone(s.runs)
	}
}

// setPage takes a stored page, in any order.
func (s *integers) setPage(id uint64, page []byte) error {
	bound, r := boundOf(id), &run{}
	if !s.pages.Whole() {
		if k := s.locate(bound); s.bounds[k] == bound && s.runs[k].Evicted {
			return s.pages.Supply(s.paging(), id, s.runs[k], page)
		}
		return fmt.Errorf("run from %d is not in the index or was given twice: %w", bound, structures.ErrCorrupt)
	}
	if err := r.load(page); err != nil {
		return err
	}
	r.Stored = true
	k, twice := slices.BinarySearch(s.bounds, bound)
	if twice || r.at(0) < bound ||
		k > 0 && s.runs[k-1].last() >= bound || k < len(s.bounds) && r.last() >= s.bounds[k] {
		return structures.ErrCorrupt
	}
	s.insertRun(k, bound, r)
	s.count += r.len()
	return nil
}

// last is the greatest member of a run that is not empty.
func (r *run) last() int64 { return r.at(r.len() - 1) }

// complete reports whether the pages are those of count integers in so many runs.
func (s *integers) complete(count, pages int) bool {
	return s.count == count && len(s.runs) == pages && (pages == 0 || s.bounds[0] == math.MinInt64)
}
