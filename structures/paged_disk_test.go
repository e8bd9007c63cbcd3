package structures_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// pagedDisk is a disk for one value, and its pager.
type pagedDisk struct {
	head   []byte
	pages  map[uint64][]byte
	broken bool // no page can be read
	good   int  // but so many
	failed bool // one was to be
	reads  int
	room   bool
	tight  bool

	// While a value is stored in parts, pages are in a batch that is not written yet, and
	// cannot be read, or staged. What the batch has of a page is newer.
	batch, staged map[uint64][]byte // nil: the page is to go
	deltas        int               // that were written

	journal []byte // changes since the head on disk, which a start does again
	next    []byte // head in the batch
	since   int    // where in the journal the changes since that one begin
}

func (d *pagedDisk) ReadPage(id uint64, use func([]byte) error) bool {
	d.reads++
	page, ok := d.readable(id)
	broken := d.broken && d.good == 0
	d.good = max(d.good-1, 0)
	if broken || !ok || use(slices.Clone(page)) != nil {
		d.failed = true
		return false
	}
	return true
}

// readable is what can be read of a page: what is staged of it, which may be deltas.
func (d *pagedDisk) readable(id uint64) (page []byte, ok bool) {
	staged, is := d.staged[id]
	if page, ok = d.pages[id]; !is {
		return page, ok
	}
	if end, delta := bytes.CutPrefix(staged, deltasOnly); delta {
		return slices.Concat(page, end), ok
	}
	return staged, true
}

// deltasOnly is before deltas that are staged or in a batch without their page.
var deltasOnly = []byte("deltas:")

// extend appends a delta to what is staged of a page, or in a batch.
func extend(pages map[uint64][]byte, id uint64, delta []byte) {
	if _, ok := pages[id]; !ok {
		pages[id] = deltasOnly
	}
	pages[id] = slices.Concat(pages[id], delta)
}

func (d *pagedDisk) Failed() bool { return d.failed }
func (d *pagedDisk) Room() bool   { return d.room }
func (d *pagedDisk) Held(id uint64) bool {
	_, held := d.batch[id]
	return held
}
func (d *pagedDisk) Tight() bool { return d.tight }

// store writes what changed, in parts or at once.
func (d *pagedDisk) store(t testing.TB, v structures.Paged, r *rand.Rand) {
	t.Helper()
	d.storeAmid(t, v, r, func() {})
}

// storeAmid is store with something done to the value between the parts, which the disk
// is to have as well.
func (d *pagedDisk) storeAmid(t testing.TB, v structures.Paged, r *rand.Rand, amid func()) {
	t.Helper()
	d.gather(t, v, r, amid)
	if r.IntN(8) == 0 {
		d.write() // and again
	}
	d.land()
	all := 0
	v.Pages(true, func(id uint64, page []byte) {
		if all++; d.pages[id] == nil || d.deltas == 0 && string(d.pages[id]) != string(page) {
			t.Fatalf("page %x on disk differs from the value's", id)
		}
	})
	if all != len(d.pages) && !d.failed {
		t.Fatalf("%d pages on disk, %d of the value", len(d.pages), all)
	}
}

// gather puts what changed into a batch. One that could not be written is written first.
func (d *pagedDisk) gather(t testing.TB, v structures.Paged, r *rand.Rand, amid func()) {
	d.land()
	d.batch, d.staged = map[uint64][]byte{}, map[uint64][]byte{}
	put := func(id uint64, page []byte) {
		d.batch[id] = slices.Clone(page)
	}
	if r.IntN(2) == 0 {
		g := v.(interface {
			Flush(int, func(uint64, []byte)) bool
			MarkAllDirty()
		})
		if r.IntN(8) == 0 {
			g.MarkAllDirty()
		}
		unstaged, deltas := r.IntN(8), r.IntN(2) == 0
		for parts := 0; parts < 50; parts++ {
			if !d.storePart(g.Flush, v, 1+r.IntN(3), parts >= unstaged, deltas) {
				break
			}
			amid()
		}
	}
	if incremental, ok := v.(structures.Incremental); ok && r.IntN(4) > 0 {
		incremental.FlushDeltas(1<<40, put, d.extendPage)
	}
	v.Pages(false, put)
	d.next, d.since = v.AppendHead(nil), len(d.journal)
	v.Clean()
	if _, ok := v.(structures.Incremental); ok && v.Changed() != 0 {
		t.Fatalf("%d bytes are to be written of a value that was just written", v.Changed())
	}
}

// storePart writes a part of a value, if it can have them with deltas. It is staged, or in the
// batch.
func (d *pagedDisk) storePart(whole func(int, func(uint64, []byte)) bool, v structures.Paged, n int, staged, deltas bool) (more bool) {
	visit := func(id uint64, page []byte) {
		if !staged {
			d.batch[id] = slices.Clone(page)
			return
		}
		d.staged[id] = slices.Clone(page)
		delete(d.batch, id)
	}
	incremental, ok := v.(structures.Incremental)
	if !ok || !deltas {
		return whole(n, visit)
	}
	return incremental.FlushDeltas(n, visit, func(id uint64, delta []byte) {
		if !staged {
			d.extendPage(id, delta)
			return
		}
		d.deltas++
		if _, ok := d.batch[id]; ok {
			extend(d.batch, id, delta)
			return
		}
		extend(d.staged, id, delta)
	})
}

// extendPage puts a delta into the batch.
func (d *pagedDisk) extendPage(id uint64, delta []byte) {
	d.deltas++
	extend(d.batch, id, delta)
}

// land writes the batch under way, if there is one.
func (d *pagedDisk) land() {
	if d.batch == nil {
		return
	}
	d.write()
	d.head, d.journal = d.next, d.journal[d.since:]
	d.batch, d.staged = nil, nil
}

// write puts pages in their places.
func (d *pagedDisk) write() {
	for _, written := range []map[uint64][]byte{d.staged, d.batch} {
		for id, page := range written {
			end, delta := bytes.CutPrefix(page, deltasOnly)
			switch {
			case page == nil:
				delete(d.pages, id)
			case delta:
				d.pages[id] = slices.Concat(d.pages[id], end)
			default:
				d.pages[id] = page
			}
		}
	}
}
