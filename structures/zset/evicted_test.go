package zset

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/structures"
)

// disk has the pages of a set.
type disk struct {
	pages  map[uint64][]byte
	left   int // pages that can be read
	failed bool
	held   bool // what was written cannot be read yet
	tight  bool // memory is exceeded
	// ch is what the method under way records. A method reads all that it needs first.
	ch   *structures.Change
	late bool
	// Every second time, what pages gained is written, and every fourth time twice.
	stores, deltas int
}

func (d *disk) ReadPage(id uint64, use func([]byte) error) bool {
	d.left--
	d.late = d.late || d.ch != nil && d.ch.Len() > 0
	if p, ok := d.pages[id]; d.left < 0 || !ok || use(slices.Clone(p)) != nil {
		d.failed = true
	}
	return !d.failed
}
func (d *disk) Failed() bool     { return d.failed }
func (d *disk) Room() bool       { return false }
func (d *disk) Held(uint64) bool { return d.held }
func (d *disk) Tight() bool      { return d.tight }

// store writes what changed.
func (d *disk) store(s *Set) {
	put := func(id uint64, page []byte) {
		if page == nil {
			delete(d.pages, id)
		} else {
			d.pages[id] = slices.Clone(page)
		}
	}
	if d.stores++; d.stores%2 == 0 {
		s.FlushDeltas(1<<40, put, func(id uint64, delta []byte) {
			d.deltas++
			for range 1 + d.stores/2%2 {
				d.pages[id] = slices.Concat(d.pages[id], delta)
			}
		})
	}
	s.Pages(false, put)
	s.Clean()
}

// load makes the set that the disk has.
func (d *disk) load(t *testing.T, s *Set) *Set {
	t.Helper()
	again, err := Decode(s.AppendHead(nil), s.keys)
	if err != nil {
		t.Fatal(err)
	}
	again.SetPager(d)
	for id, page := range d.pages {
		if s.indexed && id < s.ResidentFrom() {
			continue
		}
		if err := again.SetPage(id, page); err != nil {
			t.Fatal(err)
		}
	}
	if err := again.Complete(); err != nil {
		t.Fatal(err)
	}
	again.Pages(false, func(id uint64, _ []byte) { t.Fatalf("page %x of a set that was just loaded is to be written", id) })
	check(t, again)
	return again
}

// evictedSet returns an empty set whose pages can be evicted.
func evictedSet() (*Set, *disk) {
	s, d := New(testKeys(1)), &disk{pages: map[uint64][]byte{}, left: 1 << 60}
	s.SetPager(d)
	return s, d
}

func setSparser(times, more int) { sparser, spareNumbers = times, more }

// evictAll evicts all pages that are stored as they are.
func evictAll(s *Set) {
	for range 5 {
		s.Evict(1 << 30)
	}
}

// scored is what a sorted set should hold, in order.
type scored []Entry

func compareEntries(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(string(a.Member), string(b.Member)))
}

func (m *scored) put(e Entry) {
	i, _ := slices.BinarySearchFunc(*m, e, compareEntries)
	*m = slices.Insert(*m, i, e)
}

func (m *scored) remove(i int) (e Entry) {
	e = (*m)[i]
	*m = slices.Delete(*m, i, i+1)
	return e
}

func (m scored) check(t *testing.T, s *Set, i int) {
	t.Helper()
	rank, score, ok := s.Rank(m[i].Member)
	if !ok || rank != i || score != m[i].Score {
		t.Fatalf("%.40q: rank %d, score %v, %v, want %d, %v", m[i].Member, rank, score, ok, i, m[i].Score)
	}
}

func (m scored) checkAll(t *testing.T, s *Set) {
	t.Helper()
	i := 0
	s.Range(0, s.Len(), func(member []byte, score float64) bool {
		if i >= len(m) || string(member) != string(m[i].Member) || score != m[i].Score {
			t.Fatalf("rank %d is %.40q with %v", i, member, score)
		}
		i++
		return true
	})
	if i != len(m) || s.Len() != i {
		t.Fatalf("%d members, said to be %d, want %d", i, s.Len(), len(m))
	}
}

// drawMember returns a name: mostly short ones, but some with which a leaf is half full, or
// which have one of their own; these begin alike.
func drawMember(r *rand.Rand, n int) []byte {
	size := 0
	switch k := r.IntN(20); {
	case k == 0:
		size = 1100 + r.IntN(1100)
	case k < 3:
		size = 300 + r.IntN(600)
	}
	if size > 0 {
		return fmt.Appendf(nil, "%s%d", strings.Repeat("=", size), n)
	}
	return fmt.Appendf(nil, "%d", n)
}

// drawScore returns a score: one of few, or one near that of a neighbour, or any.
func drawScore(r *rand.Rand, m scored, i int) float64 {
	switch r.IntN(4) {
	case 0:
		return float64(r.IntN(8) * 100)
	case 1:
		if i < len(m) {
			near := m[min(max(i+r.IntN(5)-2, 0), len(m)-1)].Score
			return (m[i].Score + near) / 2
		}
	}
	return float64(r.IntN(1000))
}

// TestEveryPageIsEvictedBeforeEachChange works on a set that grows, moves members, and
// shrinks until it is empty. Before each change no page is in memory but some of those that
// it may need, and half of the changes can read a few pages only: they must be made as a
// whole or not at all.
func TestEveryPageIsEvictedBeforeEachChange(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	defer setSparser(sparser, spareNumbers)
	for _, times := range []int{2, 6} {
		setSparser(times, sparse)
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		evictedLife(t, rand.New(rand.NewPCG(seed, 1)))
	}
}

func evictedLife(t *testing.T, r *rand.Rand) {
	const full, moves = 1500, 500
	s, d := evictedSet()
	var m scored
	names, moved, failed := 0, 0, 0
	for grown := false; len(m) > 0 || !grown; {
		d.store(s)
		evictAll(s)
		warm(r, s, m)
		before := s.AppendHead(nil)
		var ch structures.Change
		d.ch, d.left, d.late = &ch, 1<<60, false
		if r.IntN(2) == 0 {
			d.left = r.IntN(8)
		}
		op := r.IntN(10)
		var update func()
		switch {
		case !grown && op < 8 && len(m) < full: // many at once, so that it does not take long
			names++
			e := Entry{drawMember(r, names), drawScore(r, m, len(m))}
			for range 30 * r.IntN(2) {
				more := Entry{drawMember(r, names), drawScore(r, m, len(m))}
				names++
				d.ch, d.left = nil, 1<<60
				if _, outcome := s.Add(nil, more.Member, more.Score, 0); outcome == Added {
					m.put(more)
				}
			}
			d.ch = &ch
			before = s.AppendHead(nil)
			s.Add(&ch, e.Member, e.Score, OnlyNew)
			update = func() { m.put(e) }
		case len(m) == 0:
			continue
		case op < 3 || moved < moves && op < 9:
			i := r.IntN(len(m))
			score := drawScore(r, m, i)
			moved++
			s.Add(&ch, m[i].Member, score, 0)
			update = func() {
				e := m.remove(i)
				e.Score = score
				m.put(e)
			}
		case op < 4:
			i := r.IntN(len(m))
			n := min(1+r.IntN(1+len(m)/20), len(m)-i)
			s.RemoveRange(&ch, i, n)
			update = func() { m = slices.Delete(m, i, i+n) }
		case op < 5:
			n := min(1+r.IntN(10), len(m))
			s.Pop(&ch, Least, n, func([]byte, float64) {})
			update = func() { m = slices.Delete(m, 0, n) }
		default:
			i := r.IntN(len(m))
			s.Remove(&ch, m[i].Member)
			update = func() { m.remove(i) }
		}
		grown = grown || moved >= moves
		if d.late {
			t.Fatalf("%d members: a page was read behind a record", len(m))
		}
		d.ch, d.left = nil, 1<<60
		check(t, s)
		switch {
		case d.failed:
			failed++
			d.failed = false
			if ch.Len() > 0 || string(s.AppendHead(nil)) != string(before) {
				t.Fatalf("%d members: a change that failed changed something, and recorded %d bytes", len(m), ch.Len())
			}
		case ch.Len() > 0:
			update()
		}
		if len(m) > 0 {
			m.check(t, s, r.IntN(len(m)))
		}
		if r.IntN(50) == 0 {
			d.store(s)
			s = d.load(t, s)
			m.checkAll(t, s)
		}
	}
	if failed < 50 || len(d.pages) > 1 && s.Len() > 0 {
		t.Errorf("%d changes failed, %d pages are left", failed, len(d.pages))
	}
}

// warm brings some pages in: those of a few members, or all but one of them.
func warm(r *rand.Rand, s *Set, m scored) {
	if s.whole() {
		return
	}
	switch r.IntN(4) {
	case 0:
		for range r.IntN(20) {
			s.Score(m[r.IntN(len(m))].Member)
		}
	case 1:
		from := r.IntN(len(m))
		s.Range(from, 100, func([]byte, float64) bool { return true })
	case 2:
		spared := s.index.bucket(r.Uint32())
		s.index.each(0, func(bk *bucket) bool { return bk == spared || s.index.pin(bk) })
		for _, l := range s.numbered {
			if l != nil && r.IntN(20) > 0 {
				s.pin(l)
			}
		}
	}
}

// A set that grows while no page of it is in memory keeps its buckets small, and its deltas say
// nothing twice.
func TestSetThatIsEvictedGrowsByBuckets(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	s, d := evictedSet()
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 6000 {
		s.Add(nil, fmt.Appendf(nil, "member %d", i), r.Float64(), 0)
		if i%40 != 0 {
			continue
		}
		d.stores = 1 // deltas, each once
		d.store(s)
		evictAll(s)
	}
	check(t, s)
	if len(s.index.buckets) < 8 || d.deltas < 1000 {
		t.Errorf("%d buckets, %d deltas", len(s.index.buckets), d.deltas)
	}
	bytes := 0
	for _, page := range d.pages {
		bytes += len(page)
	}
	if most := 3 * 6000 * (entrySize([]byte("member 1000")) + 8); bytes > most {
		t.Errorf("%d bytes on disk, want %d at most", bytes, most)
	}
}

// A set that shrinks to one leaf loses its index, and gets another one when it grows: pages of the
// two have the same numbers.
func TestIndexThatIsMadeAgainIsStored(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	for parts, removed := range []int{995, 995, 1000, 1000} { // all go while they are evicted
		s, d := evictedSet()
		grow := func() {
			for i := range 1000 {
				s.Add(nil, fmt.Append(nil, "member", i), float64(i), 0)
			}
			s.Evict(1)
		}
		grow()
		d.store(s)
		evictAll(s)
		s.RemoveRange(nil, 0, removed)
		if s.indexed || len(s.branches.Gone) == 0 {
			t.Fatal("the index was not removed")
		}
		grow()
		check(t, s)
		d.stores = parts // every second time in two parts
		d.store(s)
		evictAll(s)
		again := d.load(t, s)
		if again.LoadAll(); d.failed || again.Len() != 1000 {
			t.Errorf("%d members, or a page cannot be read", again.Len())
		}
		check(t, again)
		all := 0
		s.Pages(true, func(uint64, []byte) { all++ })
		if all != len(d.pages) {
			t.Errorf("%d pages are stored of %d", len(d.pages), all)
		}
	}
}

// A page that is read between two deltas does not say again what the first one said.
func TestDeltaHasWhatWasGainedSinceTheLast(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	s, d := evictedSet()
	for i := range 1000 {
		s.Add(nil, fmt.Append(nil, "member", i), float64(i), 0)
	}
	s.Evict(1)
	d.store(s)
	evictAll(s)
	d.held = true // an evicted page keeps what it gained
	for i, read := range []bool{false, false, true, false} {
		s.Add(nil, fmt.Append(nil, "new", i), 100.5, 0)
		if read && !s.LoadAll() {
			t.Fatal("a page cannot be read")
		}
		deltas := 0
		s.FlushDeltas(1<<40, func(id uint64, _ []byte) { t.Errorf("round %d: page %x was written whole", i, id) },
			func(id uint64, delta []byte) {
				deltas++
				d.pages[id] = slices.Concat(d.pages[id], delta)
				want := len(leafMark) + entrySize([]byte("new0"))
				if id >= firstBucket {
					want = len(bucketMark) + 5 + 1 // a hash, and the number of a leaf
				}
				if len(delta) > want {
					t.Errorf("round %d: page %x has a delta of %d bytes, want %d", i, id, len(delta), want)
				}
			})
		if deltas != 2 {
			t.Errorf("round %d: %d deltas, want 2", i, deltas)
		}
		check(t, s)
	}
}
