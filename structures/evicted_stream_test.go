package structures_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

// evictedStream is a stream of n entries with the IDs 1-0, 2-0 and so on in pages of 100, and
// a group that has none of them. No page is in memory but the last.
func evictedStream(t *testing.T, n int) (*stream.Stream, *pagedDisk) {
	t.Helper()
	s, d := stream.New(), &pagedDisk{pages: map[uint64][]byte{}}
	for i := range n {
		s.Add(nil, stream.ID{Ms: uint64(i + 1)}, [][]byte{[]byte("field"), fmt.Appendf(nil, "%016d", i)}, stream.PageLimits{Entries: 100})
	}
	s.CreateGroup(nil, []byte("g"), stream.ID{}, 0).CreateConsumer(nil, []byte("c"), 0)
	d.store(t, s, rand.New(rand.NewPCG(1, 1)))
	s.SetPager(d)
	leaveAll(s)
	d.reads = 0
	return s, d
}

func leaveAll(v structures.Paged) {
	for range 3 {
		v.Evict(1 << 30)
	}
}

// deliverSome delivers entries and lets all pages leave memory.
func deliverSome(s *stream.Stream, n int) (*stream.Group, *stream.Consumer) {
	g := s.Group([]byte("g"))
	c := g.Consumer([]byte("c"))
	g.Deliver(nil, c, n, 1, false, nil)
	leaveAll(s)
	return g, c
}

func TestStreamReadsOnlyThePagesItNeeds(t *testing.T) {
	const pages = 100
	var s *stream.Stream
	var d *pagedDisk
	id := func(ms int) stream.ID { return stream.ID{Ms: uint64(ms)} }
	count := 0
	until := func(n int) func(*stream.Entry) bool {
		return func(*stream.Entry) bool { count++; return count < n }
	}
	add := func(ms int) { s.Add(nil, id(ms), [][]byte{[]byte("f"), []byte("v")}, stream.PageLimits{Entries: 100}) }
	again := func(stream.ID, *stream.Entry) {}
	for _, x := range []struct {
		name    string
		do      func()
		reads   int
		evicted int // fewer than before
	}{
		{"length, first and last", func() { s.Len(); s.First(); s.Newest() }, 0, 0},
		{"add", func() { add(20_000) }, 0, 0},
		{"add and trim by whole pages", func() {
			add(20_000)
			s.Trim(nil, stream.Trim{Len: 5000, Pages: true})
		}, 0, 50},
		{"trim within a page", func() { s.Trim(nil, stream.Trim{Len: 5050}) }, 1, 50},
		{"trim to the beginning of a page", func() { s.Trim(nil, stream.Trim{ByID: true, Min: id(5001)}) }, 0, 50},
		{"trim by an ID", func() { s.Trim(nil, stream.Trim{ByID: true, Min: id(5002)}) }, 1, 51},
		{"trim everything", func() { s.Trim(nil, stream.Trim{}) }, 0, pages - 1},
		{"trim what nothing refers to", func() {
			s.Group([]byte("g")).SetID(nil, id(250), 0)
			s.Trim(nil, stream.Trim{Len: 9700, References: stream.OnlyAcked})
		}, 3, 3},
		{"trim what is pending", func() {
			deliverSome(s, 150)
			d.reads = 0
			s.Trim(nil, stream.Trim{Len: 5000, References: stream.DropReferences})
		}, 0, 50},
		{"get", func() { s.Has(id(5050)) }, 1, 1},
		{"get what is not there", func() { s.Has(stream.ID{Ms: 5000, Seq: 1}) }, 0, 0},
		{"range", func() { s.Each(id(5050), stream.MaxID, until(100)) }, 2, 2},
		{"range backwards", func() { s.Backward(id(1), id(5050), until(100)) }, 2, 2},
		{"range over all", func() { s.Each(id(1), stream.MaxID, until(1<<30)) }, pages - 1, 16},
		{"range over all, backwards", func() { s.Backward(id(1), stream.MaxID, until(1<<30)) }, pages - 1, 15},
		{"lent range", func() { s.Lend(id(5050), stream.MaxID, 300, false) }, 4, 4},
		{"delete one", func() { s.Delete(nil, []stream.ID{id(5050)}) }, 1, 1},
		{"delete some of a page", func() { s.Delete(nil, []stream.ID{id(5050), id(5060), id(5070)}) }, 1, 1},
		{"delete what is not there", func() { s.Delete(nil, []stream.ID{{Ms: 5000, Seq: 1}, id(20_000)}) }, 0, 0},
		{"delete the last", func() { s.Delete(nil, []stream.ID{id(10_000)}) }, 1, 1},
		{"deliver", func() { deliverNew(s, 250) }, 3, 3},
		{"deliver from the middle of a page", func() {
			s.Group([]byte("g")).SetID(nil, id(5049), 0)
			deliverNew(s, 51)
		}, 1, 1},
		{"deliver again", func() {
			g, c := deliverSome(s, 350)
			d.reads = 0
			g.Redeliver(nil, c, id(150), 60, 2, again)
		}, 2, 2},
		{"acknowledge", func() {
			g, _ := deliverSome(s, 250)
			d.reads = 0
			g.Ack(nil, []stream.ID{id(1), id(150)})
		}, 0, 0},
		{"claim", func() {
			g, c := deliverSome(s, 250)
			d.reads = 0
			g.Claim(nil, c, 3, []stream.Pending{{ID: id(150), Time: 2, Deliveries: 1}})
		}, 0, 0},
		{"lag", func() { s.Group([]byte("g")).Lag(); s.Position(id(1)) }, 0, 0},
	} {
		s, d = evictedStream(t, 10_000)
		if n, size := s.Evicted(); n != pages-1 || size < 99*100*19 || size > 99*100*22 {
			t.Fatalf("%d pages of %d bytes are evicted", n, size)
		}
		count = 0
		x.do()
		if n, _ := s.Evicted(); d.reads != x.reads || pages-1-n != x.evicted || d.failed {
			t.Errorf("%s: %d reads, %d pages fewer are evicted; want %d, %d", x.name, d.reads, pages-1-n, x.reads, x.evicted)
		}
	}
	s, d = evictedStream(t, 10_000)
	d.room = true
	s.Each(stream.ID{}, stream.MaxID, until(1<<30))
	if n, _ := s.Evicted(); n != 0 {
		t.Errorf("with room %d pages are evicted after a walk over all of them", n)
	}
}

func deliverNew(s *stream.Stream, n int) int {
	g := s.Group([]byte("g"))
	return g.Deliver(nil, g.Consumer([]byte("c")), n, 1, false, nil)
}

// The page that becomes the last one is read before the entries behind it are removed: XADD
// needs it.
func TestEntriesAtTheEndAreDeletedAndNewOnesAdded(t *testing.T) {
	s, d := evictedStream(t, 1000)
	var ids []stream.ID
	for ms := uint64(701); ms <= 1000; ms++ {
		ids = append(ids, stream.ID{Ms: ms})
	}
	slices.SortFunc(ids, func(a, b stream.ID) int { return cmp.Compare(a.Ms%7, b.Ms%7) })
	d.broken = true
	var ch structures.Change
	if n := s.Delete(&ch, ids); n != 0 || ch.Len() > 0 || s.Len() != 1000 {
		t.Fatalf("%d deleted, %d bytes recorded, length %d", n, ch.Len(), s.Len())
	}
	d.broken, d.failed = false, false
	if n := s.Delete(&ch, ids); n != 300 || s.Len() != 700 || s.Newest() != (stream.ID{Ms: 700}) {
		t.Fatalf("%d deleted, length %d, last %v", n, s.Len(), s.Newest())
	}
	leaveAll(s)
	d.reads = 0
	if !s.Add(nil, stream.ID{Ms: 1001}, [][]byte{nil, nil}, stream.PageLimits{}) || d.reads != 0 {
		t.Errorf("an entry needed %d pages", d.reads)
	}
	if s.SetID(nil, stream.ID{Ms: 2000}, 2000, stream.ID{}); s.Last().Ms != 2000 {
		t.Errorf("last ID %v", s.Last())
	}
	d.store(t, s, rand.New(rand.NewPCG(1, 1)))
}

// What a command needs stays in memory until it is done, however little there is.
func TestPagesThatAreNeededTogetherStayTogether(t *testing.T) {
	s, d := evictedStream(t, 10_000)
	d.tight = true
	if n := deliverNew(s, 5050); n != 5050 || d.reads != 51 {
		t.Errorf("%d delivered, %d pages read", n, d.reads)
	}
	g := s.Group([]byte("g"))
	d.reads = 0
	if !g.ReadyAgain(g.Consumer([]byte("c")), stream.ID{}, 5050) {
		t.Fatal("not ready")
	}
	d.broken = true
	if n := g.Redeliver(nil, g.Consumer([]byte("c")), stream.ID{}, 5050, 2, func(stream.ID, *stream.Entry) {}); n != 5050 || d.failed {
		t.Errorf("%d delivered again, failed %v", n, d.failed)
	}
	d.broken = false
	if !g.ReadyNew(4000) {
		t.Fatal("not ready")
	}
	d.broken = true
	if n := deliverNew(s, 4000); n != 4000 || d.failed {
		t.Errorf("%d delivered, failed %v", n, d.failed)
	}
}

// Pages that were needed before leave memory for those that are needed now.
func TestPagesLeaveMemoryForOthers(t *testing.T) {
	s, d := evictedStream(t, 10_000)
	d.tight = true
	for range 60 {
		deliverNew(s, 100)
	}
	if n, _ := s.Evicted(); n < 80 || d.reads != 60 {
		t.Errorf("%d pages are evicted, %d were read", n, d.reads)
	}
}

// An entry is in the stream once it is added, so that the pages which trimming it needs
// are read before.
func TestTrimThatIsReadyReadsNothing(t *testing.T) {
	for _, x := range []stream.Trim{
		{Len: 5050}, {Len: 5050, Pages: true}, {ByID: true, Min: stream.ID{Ms: 5002}}, {ByID: true, Min: stream.MaxID},
		{Len: 5050, References: stream.DropReferences}, {Len: 9980, References: stream.OnlyAcked}, {}, {Len: 1}, {Len: 10_000}, {Len: 10_001},
	} {
		s, d := evictedStream(t, 10_000)
		deliverSome(s, 150)
		s.Group([]byte("g")).Ack(nil, []stream.ID{{Ms: 1}, {Ms: 101}, {Ms: 3}, {Ms: 120}})
		trim := x
		if !s.ReadyTrim(&trim, 1) {
			t.Fatal("not ready")
		}
		d.broken = true
		s.Add(nil, stream.ID{Ms: 20_000}, [][]byte{nil, nil}, stream.PageLimits{Entries: 100})
		if s.Trim(nil, trim); d.failed {
			t.Errorf("trim %+v read a page", x)
		}
		twin, _ := evictedStream(t, 10_000)
		deliverSome(twin, 150)
		twin.Group([]byte("g")).Ack(nil, []stream.ID{{Ms: 1}, {Ms: 101}, {Ms: 3}, {Ms: 120}})
		twin.Add(nil, stream.ID{Ms: 20_000}, [][]byte{nil, nil}, stream.PageLimits{Entries: 100})
		twin.Trim(nil, x)
		if s.Len() != twin.Len() || s.First() != twin.First() {
			t.Errorf("trim %+v: %d entries from %v, want %d from %v", x, s.Len(), s.First(), twin.Len(), twin.First())
		}
	}
}

// A page is the one that the index describes, or the command fails.
func TestPageOfAStreamThatIsAnotherOneIsRefused(t *testing.T) {
	make := func(deleted, lastSeq, value int) (*stream.Stream, *pagedDisk) {
		s, d := stream.New(), &pagedDisk{pages: map[uint64][]byte{}}
		for i := range 40 {
			id := stream.ID{Ms: uint64(i + 1)}
			if i == 9 {
				id.Seq = uint64(lastSeq)
			}
			s.Add(nil, id, [][]byte{[]byte("f"), fmt.Appendf(nil, "%0*d", value, i)}, stream.PageLimits{Entries: 10})
		}
		s.Delete(nil, []stream.ID{{Ms: uint64(deleted)}})
		d.store(t, s, rand.New(rand.NewPCG(1, 1)))
		return s, d
	}
	for name, x := range map[string]struct{ deleted, lastSeq, value int }{
		"another first entry":    {1, 0, 5},
		"another last entry":     {2, 1, 5},
		"fewer deleted entries":  {100, 0, 5},
		"longer values":          {2, 0, 6},
		"a last entry and bytes": {2, 200, 5},
	} {
		s, d := make(2, 0, 5)
		s.SetPager(d)
		leaveAll(s)
		_, other := make(x.deleted, x.lastSeq, x.value)
		d.pages[1] = other.pages[1]
		if s.Has(stream.ID{Ms: 5}) || !d.failed {
			t.Errorf("%s: the page was taken", name)
		}
	}
}

// A reader has the bytes of a page that left memory and came back, and is changed then.
func TestLentPageLeavesMemory(t *testing.T) {
	s, _ := evictedStream(t, 1000)
	lent := s.Lend(stream.ID{Ms: 101}, stream.ID{Ms: 200}, 100, false)
	leaveAll(s)
	s.Delete(nil, []stream.ID{{Ms: 150}, {Ms: 151}})
	n := 0
	if lent.Each(func(*stream.Entry) bool { n++; return true }); n != 100 {
		t.Errorf("%d entries, want 100", n)
	}
}

func TestBadIndexOfAStreamIsRefused(t *testing.T) {
	state := []byte{2, 100, 0, 0, 0, 20, 20, 2, 0} // last ID 100-0, 20 entries in 2 pages
	good := []byte{1, 1, 0, 9, 0, 10, 0, 60}       // from 1-0 to 10-0, or so many behind the page before
	if _, err := stream.Decode(slices.Concat(state, good, good)); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string][]byte{
		"number of the page before":  {0, 1, 0, 9, 0, 10, 0, 60},
		"begins where the last ends": {1, 0, 0, 9, 0, 10, 0, 60},
		"ends before it begins":      {1, 1, 5, 0, 4, 10, 0, 60},
		"no entries":                 {1, 1, 0, 9, 0, 0, 10, 60},
		"more entries than bytes":    {1, 1, 0, 9, 0, 61, 0, 60},
		"more deleted than bytes":    {1, 1, 0, 9, 0, 10, 61, 60},
		"cut short":                  {1, 1, 0, 9, 0, 10, 0},
		"too long":                   {1, 1, 0, 9, 0, 10, 0, 60, 1},
	} {
		if _, err := stream.Decode(slices.Concat(state, good, row)); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
