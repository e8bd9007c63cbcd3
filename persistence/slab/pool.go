package slab

import (
	"sync"
	"unsafe"
)

const (
	// LocationBits is the number of bits of a location.
	LocationBits = 34

	pageBytes     = 32 << 10
	pageGranules  = pageBytes / granule
	regionPages   = regionBytes / pageBytes
	regionGranule = regionBytes / granule
	maxRegions    = 1 << LocationBits / regionGranule
	keepFree      = 256 // free pages kept resident for reuse: 8 MiB
)

// Pool hands out pages to arenas. The zero value is ready for use.
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
	}
}

// at returns the address of a location.
func (p *Pool) at(loc uint64) unsafe.Pointer {
	return unsafe.Add(p.regions[loc/regionGranule], loc%regionGranule*granule)
}

func (p *Pool) header(page uint32) *pageHeader {
	return (*pageHeader)(p.at(uint64(page) * pageGranules))
}

// take returns an unused page. It panics when 128 GiB are in use or the system
// gives no more memory: no command can go on then.
func (p *Pool) take() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
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

// give takes a page back. Beyond a reserve its memory returns to the system.
func (p *Pool) give(page uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mu.free) >= keepFree {
		dropMemory(unsafe.Slice((*byte)(p.at(uint64(page)*pageGranules)), pageBytes))
	}
	p.mu.free = append(p.mu.free, page)
}

// Close unmaps everything; no location may be used any more.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.mu.maps {
		Unmap(b)
	}
	p.mu.maps, p.mu.free = nil, nil
	clear(p.regions[:])
}
