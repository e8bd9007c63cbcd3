package slab

import "unsafe"

// A page begins with its header:
//
//	header (16 bytes) | record | record | ...
//
// A free record holds the granule of the next free one in its first two bytes.
const headerBytes = 16

// pageHeader sits at the start of a page. Pages of a class that have room form
// a list, which begins at Arena.partial; page 0 is never handed out, so that 0
// can end the list.
type pageHeader struct {
	next, prev uint32 // in the list of pages with room
	index      uint32 // in Arena.pages
	free       uint16 // granule of the first freed record, 0 none
	bump       uint16 // granule of the first record never used
}

// Arena allocates the records of one table. It is not safe for concurrent use.
type Arena struct {
	pool    *Pool
	partial [classCount]uint32 // first page with room by class
	pages   []arenaPage
	bytes   int64  // in live records
	mem     *int64 // the caller's account
}

// arenaPage is the part of a page's state that is read without touching the page.
type arenaPage struct {
	page uint32
	used uint16 // live records
	size uint16 // bytes of the page
}

// NewArena returns an arena with the pages of pool. It keeps the bytes that its
// records take, with rounding, added to *account.
func NewArena(pool *Pool, account *int64) Arena { return Arena{pool: pool, mem: account} }

// At returns the address of a location. It is valid until the record is released.
func (a *Arena) At(loc uint64) unsafe.Pointer { return a.pool.at(loc) }

// Alloc returns the location of a new record of n bytes, 1 <= n <= MaxRecord. Its
// content is arbitrary.
func (a *Arena) Alloc(n int) uint64 {
	c := Class(n)
	size := classGranules(c)
	a.bytes += int64(size) * granule
	*a.mem += int64(size) * granule
	page := a.partial[c]
	if page == 0 {
		page = a.addPage(c)
	}
	h := a.pool.header(page)
	a.pages[h.index].used++
	start := uint64(page) * quarterGranules
	var at uint64
	if h.free != 0 {
		at = start + uint64(h.free)
		h.free = *(*uint16)(a.pool.at(at))
	} else {
		at = start + uint64(h.bump)
		h.bump += uint16(size)
	}
	if h.free == 0 && int(h.bump)+size > pageSize(c)/granule {
		a.unlink(c, page, h)
	}
	return at
}

// Release frees the record at loc, which was allocated with n bytes or with
// another length of the same class.
func (a *Arena) Release(loc uint64, n int) {
	c := Class(n)
	size := classGranules(c)
	a.bytes -= int64(size) * granule
	*a.mem -= int64(size) * granule
	page := pageOf(c, loc)
	h := a.pool.header(page)
	full := h.free == 0 && int(h.bump)+size > pageSize(c)/granule
	*(*uint16)(a.pool.at(loc)) = h.free
	h.free = uint16(loc - uint64(page)*quarterGranules)
	if full {
		a.link(c, page, h)
	}
	info := &a.pages[h.index]
	info.used--
	// The last page of a class stays: a record that comes and goes would otherwise
	// take and give a page each time.
	if info.used == 0 && (h.next != 0 || h.prev != 0) {
		a.unlink(c, page, h)
		last := a.pages[len(a.pages)-1]
		a.pages[h.index] = last
		a.pool.header(last.page).index = h.index
		a.pages = a.pages[:len(a.pages)-1]
		a.pool.give(page, pageSize(c))
	}
}

// ReleaseAll frees every record. It costs as much as freeing the pages, however
// many records they hold. The arena may be used again.
func (a *Arena) ReleaseAll() {
	for _, p := range a.pages {
		a.pool.give(p.page, int(p.size))
	}
	*a.mem -= a.bytes
	*a = Arena{pool: a.pool, mem: a.mem}
}

func (a *Arena) addPage(c int) uint32 {
	page := a.pool.take(pageSize(c))
	h := a.pool.header(page)
	*h = pageHeader{index: uint32(len(a.pages)), bump: headerBytes / granule}
	a.pages = append(a.pages, arenaPage{page: page, size: uint16(pageSize(c))})
	a.link(c, page, h)
	return page
}

// pageOf is the page of a location of a class.
func pageOf(c int, loc uint64) uint32 {
	if c < smallClasses {
		return uint32(loc / quarterGranules)
	}
	return uint32(loc/(pageBytes/granule)) * quarters
}

func (a *Arena) link(c int, page uint32, h *pageHeader) {
	h.prev, h.next = 0, a.partial[c]
	if h.next != 0 {
		a.pool.header(h.next).prev = page
	}
	a.partial[c] = page
}

func (a *Arena) unlink(c int, page uint32, h *pageHeader) {
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
