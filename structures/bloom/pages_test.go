package bloom

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// shelfPager reads pages from a shelf. Memory has room for what a walk reads, or not.
type shelfPager struct {
	shelf        structurestest.Shelf
	room, broken bool
	failed       bool
}

func (p *shelfPager) ReadPage(id uint64, use func(page []byte) error) bool {
	page, ok := p.shelf[id]
	if !ok || p.broken || use([]byte(page)) != nil {
		p.failed = true
		return false
	}
	return true
}
func (p *shelfPager) Failed() bool     { return p.failed }
func (p *shelfPager) Room() bool       { return p.room }
func (p *shelfPager) Held(uint64) bool { return false }
func (p *shelfPager) Tight() bool      { return false }

// stored is a filter of some items in three layers, each of several pages, which is on disk.
func stored(t *testing.T) (*Filter, *shelfPager) {
	t.Helper()
	f := reserved(t, 0.001, 20_000, 1)
	for i := range 50_000 {
		addBloom(t, nil, f, fmt.Sprint(i))
	}
	if len(f.layers) != 3 {
		t.Fatalf("%d layers", len(f.layers))
	}
	p := &shelfPager{shelf: structurestest.Shelf{}}
	p.shelf.Store(t, f)
	f.SetPager(p)
	return f, p
}

// evict makes every page leave memory.
func evict(f *Filter) {
	f.Evict(1 << 30) // those that were used stay once
	f.Evict(1 << 30)
}

func TestPagesOnDiskTakeNoMemory(t *testing.T) {
	f, _ := stored(t)
	size := f.Size()
	evict(f)
	pages, onDisk := f.Evicted()
	all := 0
	for i := range f.layers {
		all += f.layers[i].pageCount()
	}
	if pages != all || onDisk < int64(f.bytes) || f.Size() > size/20 || f.held != 0 {
		t.Errorf("%d of %d pages are evicted, %d of %d bytes; the filter takes %d of %d bytes", pages, all, onDisk, f.bytes, f.Size(), size)
	}
	if !f.LoadAll() || f.Size() != size {
		t.Errorf("all pages take %d bytes, want %d", f.Size(), size)
	}
}

// A dump of a filter larger than memory does not bring it in.
func TestWalksOverPagesOnDiskLeaveThemThere(t *testing.T) {
	f, p := stored(t)
	header, want := dumpBloom(f)
	evict(f)
	h, got := dumpBloom(f)
	if f.held != 0 || !bytes.Equal(got, want) || !bytes.Equal(h, header) {
		t.Errorf("%d bytes came in", f.held)
	}
	sum, err := Merge([]*Filter{f})
	if err != nil || f.held != 0 || sum.Card() != f.Card() {
		t.Fatalf("merge: %v, %d bytes came in", err, f.held)
	}
	p.room = true
	if dumpBloom(f); f.held == 0 {
		t.Error("there was room, and no page came in")
	}
}

func TestPagesThatCannotBeReadChangeNothing(t *testing.T) {
	f, p := stored(t)
	evict(f)
	before := f.AppendHead(nil)
	p.broken = true
	var ch structures.Change
	if f.Ready([]byte("new")) {
		t.Error("ready without pages")
	}
	if err := f.LoadChunk(&ch, 100, []byte("bits")); !errors.Is(err, ErrUnread) {
		t.Errorf("chunk: got %v", err)
	}
	if _, err := Merge([]*Filter{f}); !errors.Is(err, ErrUnread) {
		t.Errorf("merge: got %v", err)
	}
	if next, chunk := f.DumpChunk(nil, 1); next != 0 || len(chunk) > 0 {
		t.Errorf("dump: %d bytes, next %d", len(chunk), next)
	}
	if _, ok := f.Fork(); ok || f.LoadAll() || f.Exists([]byte("1")) {
		t.Error("a page was there")
	}
	if ch.Len() > 0 || !bytes.Equal(f.AppendHead(nil), before) || f.held != 0 {
		t.Error("the filter changed")
	}
}

func TestDecodeTakesThePagesOfItsIndexAlone(t *testing.T) {
	f, p := stored(t)
	head := f.AppendHead(nil)
	again, err := Decode(head)
	if err != nil {
		t.Fatal(err)
	}
	if again.Complete() == nil {
		t.Error("complete without pages")
	}
	for id, page := range p.shelf {
		if again.SetPage(id, []byte(page[1:])) == nil {
			t.Fatalf("page %#x of a byte less was taken", id)
		}
		if err := again.SetPage(id, []byte(page)); err != nil {
			t.Fatal(err)
		}
		if again.SetPage(id, []byte(page)) == nil {
			t.Fatalf("page %#x was taken twice", id)
		}
	}
	if err := again.Complete(); err != nil {
		t.Error(err)
	}
	sameBloom(t, "stored", again, f)
	if _, err := Decode(head[:len(head)-1]); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("an index of a byte less: got %v", err)
	}

	sparse := reserved(t, 0.01, 1_000_000, 2)
	addBloom(t, nil, sparse, "a")
	if again, err = Decode(sparse.AppendHead(nil)); err != nil {
		t.Fatal(err)
	}
	for id := range uint64(sparse.layers[0].pageCount()) {
		want := sparse.layers[0].pages[id].exists()
		if got := again.SetPage(id, make([]byte, sparse.layers[0].pageBytes(int(id)))) == nil; got != want {
			t.Errorf("page %d: taken %v, in the index %v", id, got, want)
		}
	}
}

// Stores of before have heads that say nothing of pages: all are handed in, and then the head says which there are.
func TestHeadsWithoutIndexAreReadWhole(t *testing.T) {
	f, p := stored(t)
	header, _ := dumpBloom(f)
	again, err := Decode(header)
	if err != nil {
		t.Fatal(err)
	}
	p.shelf.Load(t, again)
	if n, _ := again.Evicted(); n > 0 || again.Complete() != nil {
		t.Errorf("%d pages are evicted", n)
	}
	sameBloom(t, "old", again, f)
	again.SetPager(p)
	again.Clean()
	if evict(again); again.held != 0 || !again.Exists([]byte("7")) {
		t.Error("pages of an old head cannot leave memory")
	}
}

func TestForksOfAFilterChangeApart(t *testing.T) {
	r := structurestest.Seeded(t)
	f, _ := stored(t)
	filters := []*Filter{f}
	want := [][]byte{}
	for range 3 {
		g, ok := filters[len(filters)-1].Fork()
		if !ok {
			t.Fatal("not forked")
		}
		filters = append(filters, g.(*Filter))
	}
	for _, g := range filters {
		_, bits := dumpBloom(g)
		want = append(want, bits)
	}
	for range 30 {
		k := r.IntN(len(filters))
		item := fmt.Sprint("new", r.Uint64())
		filters[k].Add(nil, []byte(item), noLimit)
		_, want[k] = dumpBloom(filters[k])
		for i, g := range filters {
			if _, bits := dumpBloom(g); !bytes.Equal(bits, want[i]) {
				t.Fatalf("filter %d changed with %d", i, k)
			}
		}
	}
}

// A filter that gets a pager before its shape keeps it.
func TestShapesLeaveThePager(t *testing.T) {
	for _, shape := range []func(f *Filter) error{
		func(f *Filter) error {
			return f.Reserve(nil, Shape{Error: .01, Capacity: 20_000, Expansion: 2}, noLimit)
		},
		func(f *Filter) error {
			_, header := reserved(t, .01, 20_000, 2).DumpChunk(nil, 0)
			return f.LoadHeader(nil, header, noLimit)
		},
	} {
		p := &shelfPager{shelf: structurestest.Shelf{}}
		f := New()
		f.SetPager(p)
		if err := shape(f); err != nil {
			t.Fatal(err)
		}
		addBloom(t, nil, f, "a")
		p.shelf.Store(t, f)
		if evict(f); !f.Exists([]byte("a")) || f.held == 0 {
			t.Error("the page was not read")
		}
	}
}

func TestReplayOfAnItemWhosePagesCannotBeReadChangesNothing(t *testing.T) {
	f, p := stored(t)
	var ch structures.Change
	twin, _ := f.Fork()
	addBloom(t, &ch, twin.(*Filter), "new")
	evict(f)
	before := f.AppendHead(nil)
	p.broken = true
	structurestest.Replay(t, f, ch.Encoded())
	if !p.failed || !bytes.Equal(f.AppendHead(nil), before) || f.held != 0 {
		t.Error("the filter changed")
	}
}

// A small filter of several layers that comes from a record grows as any other.
func TestRecordsGrowIntoPages(t *testing.T) {
	small := reserved(t, 0.01, 50, 2)
	for i := range 300 {
		addBloom(t, nil, small, fmt.Sprint(i))
	}
	if len(small.layers) < 3 || !small.IsCompact(4096) {
		t.Fatalf("%d layers of %d bytes", len(small.layers), small.bytes)
	}
	f := New()
	f.LoadCompact(small.AppendCompact(nil))
	disk := structurestest.Shelf{}
	disk.Store(t, f)
	for i := range 20_000 {
		addBloom(t, nil, f, fmt.Sprint(i))
		addBloom(t, nil, small, fmt.Sprint(i))
	}
	disk.Store(t, f)
	again, err := Decode(f.AppendHead(nil))
	if err != nil {
		t.Fatal(err)
	}
	disk.Load(t, again)
	sameBloom(t, "grown", again, small)
}
