package persistence

import (
	"math/bits"
	"sync"
	"unsafe"
)

// Short strings live in slabs: pages of 32 KiB, each cut into records of one
// size class. Pages come from big regions outside the Go heap, so the collector
// neither scans nor doubles them. A record is named by its location, the number
// of its first 8-byte granule counted over all regions: 34 bits name 128 GiB.
//
//	page = header (16 bytes) | record | record | ...
//
// A free record holds the granule of the next free one in its first two bytes.
const (
	granule       = 8
	pageBytes     = 32 << 10
	pageGranules  = pageBytes / granule
	headerBytes   = 16
	maxRecord     = 4096 // bytes of the largest record that is kept in slabs
	classCount    = 56
	locationBits  = 34
	regionPages   = regionBytes / pageBytes
	regionGranule = regionBytes / granule
	maxRegions    = 1 << locationBits / regionGranule
	keepFree      = 256 // free pages kept resident for reuse: 8 MiB
)

// pageHeader sits at the start of a page. Pages of a class that have room form
// a list of which arena.partial names the first; page 0 is never handed out, so
// that 0 can end the list.
type pageHeader struct {
	next, prev uint32 // in the list of pages with room
	index      uint32 // in arena.pages
	free       uint16 // granule of the first freed record, 0 none
	bump       uint16 // granule of the first record never used
}

// sizeClass returns the class for records of n bytes, 1 <= n <= maxRecord: every
// granule up to 16 has its own class, above there are eight to a doubling, so
// that at most an eighth of a record is lost to rounding.
func sizeClass(n int) int {
	g := uint(n-1) / granule
	if g < 16 {
		return int(g)
	}
	shift := uint(bits.Len(g)) - 4
	return int(shift*8 + g>>shift)
}

// classGranules is the size of a record of class c in granules.
func classGranules(c int) int {
	if c < 16 {
		return c + 1
	}
	shift := c/8 - 1
	return (c%8 + 9) << shift
}

// pool hands out pages to the arenas of all shards.
type pool struct {
	// regions is written under mu before a location inside is handed out; who
	// reads a location learned it under the lock of the shard that owns it.
	regions [maxRegions]unsafe.Pointer

	mu struct {
		sync.Mutex
		maps    [][]byte // the regions, to be unmapped in close
		next    uint32   // first page never handed out
		touched int      // bytes of the regions that were touched ahead of their use
		wanted  func()   // tells the task that touches; nil if there is none
		free    []uint32
	}
}

// at returns the address of a location.
func (p *pool) at(loc uint64) unsafe.Pointer {
	return unsafe.Add(p.regions[loc/regionGranule], loc%regionGranule*granule)
}

func (p *pool) header(page uint32) *pageHeader {
	return (*pageHeader)(p.at(uint64(page) * pageGranules))
}

// take returns a page nobody uses. It panics when 128 GiB are in use or the
// system gives no more memory: no command can go on then.
func (p *pool) take() uint32 {
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

func (p *pool) growLocked(region int) {
	if region >= maxRegions {
		panic("persistence: more than 128 GiB of short strings")
	}
	b := mapMemory(regionBytes)
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
func (p *pool) give(page uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mu.free) >= keepFree {
		dropMemory(unsafe.Slice((*byte)(p.at(uint64(page)*pageGranules)), pageBytes))
	}
	p.mu.free = append(p.mu.free, page)
}

// close unmaps everything; no location may be used any more.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.mu.maps {
		unmapMemory(b)
	}
	p.mu.maps, p.mu.free = nil, nil
	clear(p.regions[:])
}

// arena allocates the records of one table. Its shard's mutex guards it.
type arena struct {
	pool    *pool
	partial [classCount]uint32 // first page with room by class
	pages   []arenaPage
	bytes   int64  // in live records
	mem     *int64 // the shard's account
}

// arenaPage is what an arena knows of a page without touching it.
type arenaPage struct {
	page uint32
	used uint16 // live records
}

// alloc returns the location of a record of n bytes (1 to maxRecord).
func (a *arena) alloc(n int) uint64 {
	c := sizeClass(n)
	size := classGranules(c)
	a.bytes += int64(size) * granule
	*a.mem += int64(size) * granule
	page := a.partial[c]
	if page == 0 {
		page = a.addPage(c)
	}
	h := a.pool.header(page)
	a.pages[h.index].used++
	start := uint64(page) * pageGranules
	var at uint64
	if h.free != 0 {
		at = start + uint64(h.free)
		h.free = *(*uint16)(a.pool.at(at))
	} else {
		at = start + uint64(h.bump)
		h.bump += uint16(size)
	}
	if h.free == 0 && int(h.bump)+size > pageGranules {
		a.unlink(c, page, h)
	}
	return at
}

// release frees the record of n bytes at loc.
func (a *arena) release(loc uint64, n int) {
	c := sizeClass(n)
	size := classGranules(c)
	a.bytes -= int64(size) * granule
	*a.mem -= int64(size) * granule
	page := uint32(loc / pageGranules)
	h := a.pool.header(page)
	full := h.free == 0 && int(h.bump)+size > pageGranules
	*(*uint16)(a.pool.at(loc)) = h.free
	h.free = uint16(loc % pageGranules)
	if full {
		a.link(c, page, h)
	}
	info := &a.pages[h.index]
	info.used--
	// The last page of a class stays: a key that comes and goes would otherwise
	// take and give a page each time.
	if info.used == 0 && (h.next != 0 || h.prev != 0) {
		a.unlink(c, page, h)
		last := a.pages[len(a.pages)-1]
		a.pages[h.index] = last
		a.pool.header(last.page).index = h.index
		a.pages = a.pages[:len(a.pages)-1]
		a.pool.give(page)
	}
}

// releaseAll gives every page back, in the time it takes to name them.
func (a *arena) releaseAll() {
	for _, p := range a.pages {
		a.pool.give(p.page)
	}
	*a.mem -= a.bytes
	*a = arena{pool: a.pool, mem: a.mem}
}

func (a *arena) addPage(c int) uint32 {
	page := a.pool.take()
	h := a.pool.header(page)
	*h = pageHeader{index: uint32(len(a.pages)), bump: headerBytes / granule}
	a.pages = append(a.pages, arenaPage{page: page})
	a.link(c, page, h)
	return page
}

func (a *arena) link(c int, page uint32, h *pageHeader) {
	h.prev, h.next = 0, a.partial[c]
	if h.next != 0 {
		a.pool.header(h.next).prev = page
	}
	a.partial[c] = page
}

func (a *arena) unlink(c int, page uint32, h *pageHeader) {
	if h.prev != 0 {
		a.pool.header(h.prev).next = h.next
	} else {
		a.partial[c] = h.next
	}
	if h.next != 0 {
		a.pool.header(h.next).prev = h.prev
	}
	h.next, h.prev = 0, 0
}
