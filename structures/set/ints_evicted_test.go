package set

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// drawer is a pager with some pages of a set.
type drawer struct {
	pages  map[uint64][]byte
	held   map[uint64]bool
	reads  int
	failed bool
	room   bool
	tight  bool
}

func (d *drawer) ReadPage(id uint64, use func([]byte) error) bool {
	d.reads++
	page, ok := d.pages[id]
	if !ok || use(slices.Clone(page)) != nil {
		d.failed = true
		return false
	}
	return true
}

func (d *drawer) Failed() bool        { return d.failed }
func (d *drawer) Room() bool          { return d.room }
func (d *drawer) Held(id uint64) bool { return d.held[id] }
func (d *drawer) Tight() bool         { return d.tight }

// evicted returns the integers i<<33 up to n, all of them evicted, and their pager.
func evicted(t *testing.T, n int) (*Set, *drawer) {
	t.Helper()
	defer structures.SetIndexedPages(structures.SetIndexedPages(1))
	s, d := New(testKeys(1)), &drawer{pages: map[uint64][]byte{}}
	for i := range n {
		s.Add(nil, fmt.Append(nil, int64(i)<<33))
	}
	s.Pages(true, func(id uint64, page []byte) { d.pages[id] = slices.Clone(page) })
	again, err := Decode(s.AppendHead(nil), testKeys(1))
	if err != nil {
		t.Fatal(err)
	}
	again.SetPager(d)
	if err := again.Complete(); err != nil {
		t.Fatal(err)
	}
	if pages, bytes := again.Evicted(); pages != len(d.pages) || bytes != int64(8*n) {
		t.Fatalf("%d pages of %d bytes are evicted, want %d of %d", pages, bytes, len(d.pages), 8*n)
	}
	again.Clean()
	return again, d
}

// One member needs one run: what a command reads must not grow with the set.
func TestIntegerReadsOneRun(t *testing.T) {
	for name, do := range map[string]func(s *Set) bool{
		"has":     func(s *Set) bool { return s.Has([]byte("8589934592")) },
		"has not": func(s *Set) bool { return !s.Has([]byte("8589934593")) },
		"add":     func(s *Set) bool { return s.Add(nil, []byte("8589934593")) },
		"remove":  func(s *Set) bool { return s.Remove(nil, []byte("8589934592")) },
		"draw":    func(s *Set) bool { _, ok := s.Random(func(int) int { return 0 }); return ok },
		"ready":   func(s *Set) bool { return s.Ready([]byte("8589934592"), []byte("word")) },
		"scan":    func(s *Set) bool { n := 0; s.Scan(0, 10, func([]byte) { n++ }); return n == 10 },
		"split": func(s *Set) bool {
			for i := range 600 {
				if !s.Add(nil, fmt.Append(nil, 1+i)) {
					return false
				}
			}
			return true
		},
	} {
		s, d := evicted(t, 5000)
		if !do(s) || d.reads != 1 || d.failed {
			t.Errorf("%s: %d runs read, failed %v", name, d.reads, d.failed)
		}
		checkMemory(t, s)
	}
}

// checkMemory checks the account of what runs take and of those that are evicted.
func checkMemory(t *testing.T, s *Set) {
	t.Helper()
	memory, evicted, count := 0, 0, 0
	for _, r := range s.ints.runs {
		memory += r.memory()
		count += r.len()
		if r.Evicted {
			evicted++
		}
	}
	if memory != s.ints.memory || evicted != s.ints.pages.Count() || count != s.ints.count {
		t.Errorf("%d integers in %d bytes, %d runs evicted; counted %d, %d, %d", s.ints.count, s.ints.memory, s.ints.pages.Count(), count, memory, evicted)
	}
}

// A run that loses its last member needs another one: where that cannot be read, nothing
// changes.
func TestLastMemberOfARunNeedsItsNeighbour(t *testing.T) {
	for name, c := range map[string]struct {
		n, lost int // members, run that cannot be read
		first   bool
	}{"the first run": {5000, 1, true}, "the first of two": {600, 1, true}, "the second of two": {600, 0, false}} {
		s, d := evicted(t, c.n)
		k := 0
		if !c.first {
			k = 1
		}
		s.ints.pin(k)
		var members []int64
		for i := range s.ints.runs[k].len() {
			members = append(members, s.ints.runs[k].at(i))
		}
		lost := pageOf(s.ints.bounds[c.lost])
		page := d.pages[lost]
		delete(d.pages, lost)
		for i, v := range members {
			var ch structures.Change
			removed := s.Remove(&ch, fmt.Append(nil, v))
			if last := i == len(members)-1; removed == last || d.failed != last || (ch.Len() > 0) == last {
				t.Fatalf("%s: member %d of %d removed: %v, failed %v, %d bytes recorded", name, i, len(members), removed, d.failed, ch.Len())
			}
		}
		if s.Len() != c.n-len(members)+1 {
			t.Errorf("%s: %d members", name, s.Len())
		}
		d.failed, d.pages[lost] = false, page
		if !s.Remove(nil, fmt.Append(nil, members[len(members)-1])) || s.ints.bounds[0] != math.MinInt64 {
			t.Errorf("%s: the last member is not removed, or the first bound is %d", name, s.ints.bounds[0])
		}
		checkMemory(t, s)
	}
}

// Ready brings in all that a call needs whatever order its members are in: then no page
// may be asked for.
func TestReadyIsEnoughToRemoveWholeRuns(t *testing.T) {
	for _, c := range []struct{ first, behind int }{{0, 2000}, {0, 1999}, {0, 1900}, {0, 1536}, {0, 1487}, {0, 500}, {512, 2000}, {1536, 2000}} {
		for _, reversed := range []bool{false, true} {
			s, d := evicted(t, 2000)
			var members [][]byte
			for i := c.first; i < c.behind; i++ {
				members = append(members, fmt.Append(nil, int64(i)<<33))
			}
			if reversed {
				slices.Reverse(members)
			}
			if !s.Ready(members...) {
				t.Fatal("not ready")
			}
			clear(d.pages)
			for _, m := range members {
				if !s.Remove(nil, m) {
					t.Fatalf("from %d to %d: %s is not removed", c.first, c.behind, m)
				}
			}
			checkMemory(t, s)
		}
	}
}

// The first run can be emptied by a call of a few members though there are many runs: the
// next one takes its place.
func TestReadyFollowsTheFirstRun(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(1))
	s, d := New(testKeys(1)), &drawer{pages: map[uint64][]byte{}}
	for i := range 5000 {
		s.Add(nil, fmt.Append(nil, int64(i)<<33))
	}
	for s.ints.runs[0].len() > 3 {
		s.Remove(nil, fmt.Append(nil, s.ints.runs[0].at(0)))
	}
	var few [][]byte
	for i := range 3 {
		few = append(few, fmt.Append(nil, s.ints.runs[0].at(i)))
	}
	s.Pages(true, func(id uint64, page []byte) { d.pages[id] = slices.Clone(page) })
	s, err := Decode(s.AppendHead(nil), testKeys(1))
	if err != nil {
		t.Fatal(err)
	}
	s.SetPager(d)
	if !s.Ready(few...) || d.reads != 2 {
		t.Fatalf("not ready, or %d pages were read", d.reads)
	}
	clear(d.pages)
	for _, m := range few {
		if !s.Remove(nil, m) {
			t.Fatalf("%s is not removed", m)
		}
	}
	checkMemory(t, s)
}

// What changes behind the part that was encoded last waits for the others: else a writer
// could keep them from the disk.
func TestPartsGoRound(t *testing.T) {
	s := New(testKeys(1))
	for i := range 2000 {
		s.Add(nil, fmt.Append(nil, int64(i)<<33))
	}
	var order, want []uint64
	for _, k := range []int{0, 1, 2, 3, 0, 1, 2} {
		want = append(want, pageOf(s.ints.bounds[k]))
	}
	more := true
	for part := 0; more && part < 20; part++ {
		more = s.Flush(1, func(id uint64, _ []byte) { order = append(order, id) })
		if part < 3 {
			s.Remove(nil, fmt.Append(nil, int64(512*part)<<33)) // of the run that was encoded
		}
	}
	if more || !slices.Equal(order, want) {
		t.Errorf("more %v, pages %x, want %x", more, order, want)
	}
	s.Pages(false, func(id uint64, _ []byte) { t.Errorf("page %x is left", id) })
}

func TestWhatIsHeldOrChangedStaysInMemory(t *testing.T) {
	s, d := evicted(t, 5000)
	if !s.LoadAll() {
		t.Fatal("not gathered")
	}
	first, second := pageOf(s.ints.bounds[0]), pageOf(s.ints.bounds[1])
	s.Remove(nil, []byte("0"))
	d.held = map[uint64]bool{second: true}
	for range 3 {
		if _, changed := s.Evict(1 << 30); changed == 0 {
			t.Error("no changed bytes")
		}
	}
	for k, r := range s.ints.runs {
		if want := k > 1; r.Evicted != want {
			t.Errorf("run %d (pages %x, %x): evicted %v", k, first, second, r.Evicted)
		}
	}
	if got := s.Changed(); got != maxRun {
		t.Errorf("%d bytes changed, want those of one run", got)
	}
	checkMemory(t, s)
}

// A walk keeps what it reads if there is room, and only then.
func TestWalkKeepsRunsWhileThereIsRoom(t *testing.T) {
	for _, room := range []bool{false, true} {
		s, d := evicted(t, 5000)
		d.room = room
		members(t, s)
		if pages, _ := s.Evicted(); (pages == 0) != room {
			t.Errorf("room %v: %d pages are evicted after a walk", room, pages)
		}
		if d.reads != len(d.pages) {
			t.Errorf("room %v: %d of %d pages read", room, d.reads, len(d.pages))
		}
	}
}

// Beyond its memory a set evicts a run for each that it reads.
func TestTightSetLetsGoOfARunForEachThatItReads(t *testing.T) {
	s, d := evicted(t, 50_000)
	d.tight = true
	for i := 0; i < 50_000; i += 100 {
		if !s.Has(fmt.Append(nil, int64(i)<<33)) {
			t.Fatalf("%d is missing", i)
		}
	}
	pages, _ := s.Evicted()
	if in := len(d.pages) - pages; in > 4 {
		t.Errorf("%d of %d runs are in memory", in, len(d.pages))
	}
}

// A small run joins a neighbour that is in memory only.
func TestRunDoesNotJoinOneThatIsEvicted(t *testing.T) {
	for _, c := range []struct{ small, evicted int }{{3, 2}, {2, 3}} {
		s, d := evicted(t, 5000)
		s.LoadAll()
		want := members(t, s)
		shrink := func(k, n int) {
			for s.ints.runs[k].len() > n {
				m := fmt.Append(nil, s.ints.runs[k].at(0))
				s.Remove(nil, m)
				delete(want, string(m))
			}
		}
		shrink(c.evicted, 100)
		shrink(c.small, 129)
		d.pages = map[uint64][]byte{}
		s.Pages(true, func(id uint64, page []byte) { d.pages[id] = slices.Clone(page) })
		s.Clean()
		for range 2 {
			s.Evict(1 << 30)
		}
		runs := len(s.ints.runs)
		in := s.ints.pin(c.small)
		shrink(c.small, 20)
		if !in || len(s.ints.runs) != runs || !s.ints.runs[c.evicted].Evicted {
			t.Errorf("run %d, %d evicted: %d runs of %d are left", c.small, c.evicted, len(s.ints.runs), runs)
		}
		if got := members(t, s); !maps.Equal(got, want) {
			t.Errorf("run %d, %d evicted: %d members, want %d", c.small, c.evicted, len(got), len(want))
		}
		s.LoadAll()
		if s.Remove(nil, fmt.Append(nil, s.ints.runs[c.small].at(0))); len(s.ints.runs) != runs-1 {
			t.Errorf("run %d, all in memory: %d runs of %d are left", c.small, len(s.ints.runs), runs)
		}
		checkMemory(t, s)
	}
}

// A page of integers that could not be read keeps a command from changing words, and one
// of words from changing integers.
func TestUnreadPageOfOneSortKeepsTheOtherAsItIs(t *testing.T) {
	for _, lost := range []bool{false, true} { // whether integers are
		s := New(testKeys(1))
		for i := range 2000 {
			s.Add(nil, fmt.Append(nil, int64(i)<<33))
			s.Add(nil, fmt.Appendf(nil, "word-%0100d", i))
		}
		d := &drawer{pages: map[uint64][]byte{}, room: true}
		s.SetPager(d)
		s.Pages(true, func(id uint64, page []byte) { d.pages[id] = slices.Clone(page) })
		s.Clean()
		for range 2 {
			s.Evict(1 << 30)
		}
		for id := range d.pages {
			if (id >= intPage) == lost {
				delete(d.pages, id)
			}
		}
		for i := range 2000 { // the others are all in memory
			if lost {
				s.Has(fmt.Appendf(nil, "word-%0100d", i))
			} else {
				s.Has(fmt.Append(nil, int64(i)<<33))
			}
		}
		s.Each(func([]byte) bool { return true })
		if !d.failed {
			t.Fatal("all pages were read")
		}
		var ch structures.Change
		s.Add(&ch, []byte("17"))
		s.Add(&ch, []byte("word"))
		s.Remove(&ch, []byte("0"))
		s.Remove(&ch, fmt.Appendf(nil, "word-%0100d", 7))
		if ch.Len() > 0 || s.Len() != 4000 || s.Ready([]byte("0"), []byte("word")) {
			t.Errorf("integers lost %v: %d bytes recorded, %d members", lost, ch.Len(), s.Len())
		}
	}
}
