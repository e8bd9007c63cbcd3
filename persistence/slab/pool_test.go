package slab

import (
	"math/rand/v2"
	"testing"
)

// Pages and quarters come and go: none is handed out twice, and what is given back
// becomes whole pages.
func TestQuartersBecomePagesAgain(t *testing.T) {
	const seed, rounds = 7, 20000
	r := rand.New(rand.NewPCG(seed, 0))
	var p Pool
	defer p.Close()
	type taken struct {
		page uint32
		size int
	}
	var live []taken
	owner := map[uint32]bool{} // by quarter
	mark := func(x taken, on bool) {
		for q := x.page; q < x.page+uint32(x.size/quarterBytes); q++ {
			if owner[q] == on {
				t.Fatalf("seed %d: quarter %d is taken: %v, twice", seed, q, on)
			}
			owner[q] = on
		}
	}
	give := func(n int) {
		x := live[n]
		mark(x, false)
		p.give(x.page, x.size)
		live[n] = live[len(live)-1]
		live = live[:len(live)-1]
	}
	for i := range rounds {
		if r.IntN(3) < 2-i/(rounds/4)%2 || len(live) == 0 {
			size := quarterBytes
			if r.IntN(4) == 0 {
				size = pageBytes
			}
			x := taken{p.take(size), size}
			if x.page < quarters || size == pageBytes && x.page%quarters != 0 {
				t.Fatalf("seed %d: page of %d bytes at quarter %d", seed, size, x.page)
			}
			mark(x, true)
			live = append(live, x)
			continue
		}
		give(r.IntN(len(live)))
	}
	most := p.mu.next
	for len(live) > 0 {
		give(r.IntN(len(live)))
	}
	if c := p.mu.cut; len(p.mu.free) != int(most)-1 || c.free != 0 || len(c.some) != 0 {
		t.Errorf("seed %d: of %d pages %d are free, and %d quarters of %d others", seed, most-1, len(p.mu.free), c.free, len(c.some))
	}
}

// Each of many tables with records of many sizes has a page for each size that is
// nearly empty: what that costs is bounded.
func TestManyTablesOfFewRecordsTakeLittle(t *testing.T) {
	const tables, sizes = 256, 12
	var p Pool
	defer p.Close()
	var mem int64
	for range tables {
		a := NewArena(&p, &mem)
		for n := range sizes {
			a.Alloc(16 + 24*n)
		}
	}
	if took := int(p.mu.next) * pageBytes; took > tables*sizes*quarterBytes+2*pageBytes {
		t.Errorf("%d tables with a record of each of %d sizes take %d KiB of pages", tables, sizes, took>>10)
	}
}
