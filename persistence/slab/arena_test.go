package slab

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestArenaNeverHandsOutMemoryTwice writes each record full of its own number
// and looks for damage, while records and pages come and go.
func TestArenaNeverHandsOutMemoryTwice(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	var p Pool
	defer p.Close()
	var mem int64
	a := NewArena(&p, &mem)
	type record struct {
		loc  uint64
		want []byte
	}
	content := func(rec record) []byte { return unsafe.Slice((*byte)(a.At(rec.loc)), len(rec.want)) }
	var live []record
	for i := range 200_000 {
		if grow := r.IntN(3) < 2-i/50_000%3; grow || len(live) == 0 {
			most := MaxRecord
			if i%2 == 0 {
				most = MaxRecord / 16 // half of them are in quarters of pages
			}
			want := make([]byte, 8+r.IntN(most-7))
			for j := range want {
				want[j] = byte(i)
			}
			binary.LittleEndian.PutUint64(want, uint64(i))
			rec := record{a.Alloc(len(want)), want}
			copy(content(rec), want)
			live = append(live, rec)
			continue
		}
		n := r.IntN(len(live))
		rec := live[n]
		if !bytes.Equal(content(rec), rec.want) {
			t.Fatalf("seed %d, step %d: record at %d was overwritten", seed, i, rec.loc)
		}
		a.Release(rec.loc, len(rec.want))
		live[n] = live[len(live)-1]
		live = live[:len(live)-1]
	}
	for _, rec := range live {
		a.Release(rec.loc, len(rec.want))
	}
	if mem != 0 {
		t.Errorf("seed %d: %d bytes left after everything was freed", seed, mem)
	}
}

// Dropping a table frees its records without naming them, and its pages serve others.
func TestReleaseAllGivesPagesBack(t *testing.T) {
	var p Pool
	defer p.Close()
	var mem int64
	fill := func(size int) {
		a := NewArena(&p, &mem)
		a.Release(a.Alloc(size), size)
		for range 1000000 / size {
			clear(unsafe.Slice((*byte)(a.At(a.Alloc(size))), size))
		}
		if mem < 1000*900 {
			t.Errorf("the account has %d bytes for 1000000 in records of %d", mem, size)
		}
		a.ReleaseAll()
	}
	var others int64
	b := NewArena(&p, &others)
	var kept []uint64
	for i := range 1000 {
		loc := b.Alloc(100)
		*(*int)(b.At(loc)) = i
		kept = append(kept, loc)
	}
	fill(2000)
	next := p.mu.next
	fill(2000)
	fill(100)
	fill(2000)
	if free := len(p.mu.free); free >= int(p.mu.next) {
		t.Errorf("%d pages are free of %d", free, p.mu.next)
	}
	for i, loc := range kept {
		if got := *(*int)(b.At(loc)); got != i {
			t.Fatalf("record %d of another arena is %d", i, got)
		}
	}
	if mem != 0 || p.mu.next != next {
		t.Errorf("%d bytes left; %d pages were taken, then %d", mem, next, p.mu.next)
	}
}
