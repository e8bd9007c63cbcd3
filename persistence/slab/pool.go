package slab

import (
	"math/bits"
	"sync"
	"unsafe"
)

const (
	// LocationBits is the number of bits of a location.
	LocationBits = 34

	pageBytes     = 32 << 10
	regionPages   = regionBytes / pageBytes
	regionGranule = regionBytes / granule
	maxRegions    = 1 << LocationBits / regionGranule
	// Of every keptPart pages that were ever handed out one is kept resident for reuse when
	// it is free, and as many quarters: leastKept pages at least, and mostKept, of 8 MiB.
	keptPart, leastKept, mostKept = 32, 16, 256

	quarters        = 4 // of a page
	quarterBytes    = pageBytes / quarters
	quarterGranules = quarterBytes / granule
)

// Pool hands out pages and quarters of pages to arenas. Both are named by the number of
// their first quarter, counted over all regions. The zero value is ready for use.
type Pool struct {
	// regions is written under mu before a location inside is handed out. A
	// goroutine that uses a location has it from the arena's owner, whose lock
	// orders the write before the use.
	regions [maxRegions]unsafe.Pointer

	mu struct {
		sync.Mutex
		maps    [][]byte // the regions, unmapped by Close
		next    uint32   // first page never handed out
		touched int      // bytes of the regions touched ahead of their use
		wanted  func()   // see NotifyTouch; nil if nothing touches pages
		free    []uint32 // pages that were freed
		cut     cutPages
	}
}

// cutPages are the pages that are cut into quarters.
type cutPages struct {
	pages []cutPage // by the number of the page
	some  []uint32  // pages with some quarters free, not all
	free  int       // quarters
}

// cutPage is a page that is cut, or not.
type cutPage struct {
	free uint8  // a bit for each free quarter
	at   uint32 // place in some, if there are any
}

// at returns the address of a location.
func (p *Pool) at(loc uint64) unsafe.Pointer {
	return unsafe.Add(p.regions[loc/regionGranule], loc%regionGranule*granule)
}

func (p *Pool) header(page uint32) *pageHeader {
	return (*pageHeader)(p.at(uint64(page) * quarterGranules))
}

// take returns an unused page, or a quarter of one. It panics when 128 GiB are in use or the system
// gives no more memory: no command can go on then.
func (p *Pool) take(size int) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if size == pageBytes {
		return p.takeLocked() * quarters
	}
	c := &p.mu.cut
	if len(c.some) == 0 {
		c.add(p.takeLocked())
	}
	return c.take()
}

// takeLocked returns the number of an unused page.
func (p *Pool) takeLocked() uint32 {
	if n := len(p.mu.free); n > 0 {
		page := p.mu.free[n-1]
		p.mu.free = p.mu.free[:n-1]
		return page
	}
	if p.mu.next == 0 {
		p.mu.next = 1 // page 0 is never handed out
	}
	page := p.mu.next
	if region := int(page / regionPages); region >= maxRegions || p.regions[region] == nil {
		p.growLocked(region)
	}
	p.mu.next++
	if page >= regionPages-1 && int(page)*pageBytes+aheadBytes > p.mu.touched && p.mu.wanted != nil {
		p.mu.wanted()
	}
	return page
}

func (p *Pool) growLocked(region int) {
	if region >= maxRegions {
		panic("slab: more than 128 GiB of records")
	}
	b := Map(regionBytes)
	if region > 0 {
		// Not in the first region: the half-empty pages of a small store with
		// strings of many sizes would become resident as a whole (20 MB of
		// strings took 224 MB instead of 89).
		adviseHuge(b)
	}
	p.mu.maps = append(p.mu.maps, b)
	p.regions[region] = unsafe.Pointer(unsafe.SliceData(b))
}

// give takes a page or a quarter back. Beyond a reserve its memory returns to the system.
func (p *Pool) give(page uint32, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if size == quarterBytes && !p.mu.cut.give(page) {
		if p.mu.cut.free > p.reserve() {
			p.drop(page, size)
		}
		return
	}
	if len(p.mu.free) >= p.reserve() {
		p.drop(page&^(quarters-1), pageBytes)
	}
	p.mu.free = append(p.mu.free, page/quarters)
}

// reserve is the number of free pages, and of free quarters, that are kept resident.
func (p *Pool) reserve() int { return min(max(int(p.mu.next)/keptPart, leastKept), mostKept) }

func (p *Pool) drop(page uint32, size int) {
	dropMemory(unsafe.Slice((*byte)(p.at(uint64(page)*quarterGranules)), size))
}

// add cuts a page.
func (c *cutPages) add(page uint32) {
	for int(page) >= len(c.pages) {
		c.pages = append(c.pages, cutPage{})
	}
	c.pages[page] = cutPage{free: 1<<quarters - 1, at: uint32(len(c.some))}
	c.some = append(c.some, page)
	c.free += quarters
}

// take returns a free quarter.
func (c *cutPages) take() uint32 {
	page := c.some[len(c.some)-1]
	q := &c.pages[page]
	n := bits.TrailingZeros8(q.free)
	q.free &= q.free - 1
	c.free--
	if q.free == 0 {
		c.some = c.some[:len(c.some)-1]
	}
	return page*quarters + uint32(n)
}

// give takes a quarter back, and reports whether its page is whole again, which is the
// caller's then.
func (c *cutPages) give(quarter uint32) (whole bool) {
	page := quarter / quarters
	q := &c.pages[page]
	if q.free == 0 {
		q.at = uint32(len(c.some))
		c.some = append(c.some, page)
	}
	q.free |= 1 << (quarter % quarters)
	c.free++
	if q.free != 1<<quarters-1 {
		return false
	}
	last := c.some[len(c.some)-1]
	c.some[q.at], c.pages[last].at = last, q.at
	c.some = c.some[:len(c.some)-1]
	q.free = 0
	c.free -= quarters
	return true
}

// Close unmaps everything; no location may be used any more.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.mu.maps {
		Unmap(b)
	}
	p.mu.maps, p.mu.free, p.mu.cut = nil, nil, cutPages{}
	clear(p.regions[:])
}
