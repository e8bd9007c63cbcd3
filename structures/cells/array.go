package cells

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/vigildb/vigil/structures"
)

const (
	pageShift = 12
	// PageBytes is the length of a page.
	PageBytes = 1 << pageShift
	pageMask  = PageBytes - 1

	groupShift = 6
	groupPages = 1 << groupShift
	groupMask  = groupPages - 1
)

// Array is a run of bytes, all zeros at first.
type Array struct {
	s      *Stack
	place  int // in the stack, from the bottom
	size   uint64
	groups []*group // up to the last page that was set; nil: no page of the group was
}

// group is what there is of 64 pages side by side. A bit of its masks is a page.
type group struct {
	data    [][]byte // nil before the first page is in memory; a page may end early, with zeros behind
	here    uint64   // in memory
	evicted uint64   // on disk only
	dirty   uint64   // changed since Clean
	stored  uint64   // the disk has it, in some state
	used    uint64   // since the last visit of Evict
	shared  uint64   // a fork may have the bytes too: they are copied before they change
}

// Size is the number of bytes.
func (a *Array) Size() uint64 { return a.size }

func (a *Array) pageCount() uint64 { return (a.size + pageMask) >> pageShift }

// pageBytes is the length of page i: the last one is short.
func (a *Array) pageBytes(i uint64) int { return int(min(a.size-i<<pageShift, PageBytes)) }

// id is the number of page i among those of the value.
func (a *Array) id(i uint64) uint64 { return uint64(a.place)<<placeShift | i }

// placeShift leaves 44 bits to the bytes of an array.
const placeShift = 32

// load returns what there is of page i.
func (a *Array) load(i uint64) []byte {
	if i>>groupShift >= uint64(len(a.groups)) {
		return nil
	}
	g := a.groups[i>>groupShift]
	if g == nil {
		return nil
	}
	bit := uint64(1) << (i & groupMask)
	if g.evicted&bit != 0 && !a.s.bring(a, g, i) {
		return nil
	}
	if g.here&bit == 0 {
		return nil
	}
	g.used |= bit
	return g.data[i&groupMask]
}

// open returns page i, with at least n bytes, to be written to; nil if it cannot be read.
func (a *Array) open(i uint64, n int) []byte {
	g := a.group(i >> groupShift)
	bit := uint64(1) << (i & groupMask)
	if g.evicted&bit != 0 && !a.s.bring(a, g, i) {
		return nil
	}
	if g.data == nil {
		a.makeData(g, i)
	}
	p := &g.data[i&groupMask]
	if g.shared&bit != 0 {
		*p = append(make([]byte, 0, cap(*p)), *p...)
		g.shared &^= bit
	}
	if g.here&bit == 0 || len(*p) < n {
		a.s.lengthen(p, n, a.pageBytes(i))
		g.here |= bit
	}
	g.used |= bit
	if g.dirty&bit == 0 {
		g.dirty |= bit
		a.s.changed++
	}
	return *p
}

// group returns group n, which is made if it is missing.
func (a *Array) group(n uint64) *group {
	if n >= uint64(len(a.groups)) {
		grown := make([]*group, min(max(n+1, 2*uint64(len(a.groups))), (a.pageCount()+groupMask)>>groupShift))
		copy(grown, a.groups)
		a.s.tables += 8 * (len(grown) - len(a.groups))
		a.groups = grown
	}
	if a.groups[n] == nil {
		a.groups[n] = &group{}
		a.s.tables += groupBytes
	}
	return a.groups[n]
}

// groupBytes is the memory of a group without its pages.
const groupBytes = 64

// makeData makes the table of the pages of the group of page i.
func (a *Array) makeData(g *group, i uint64) {
	first := i &^ groupMask
	g.data = make([][]byte, min(a.pageCount()-first, groupPages))
	a.s.tables += 24 * len(g.data)
}

// lengthen gives a page n bytes; it will have up to most.
func (s *Stack) lengthen(p *[]byte, n, most int) {
	was := len(*p)
	if n <= cap(*p) {
		*p = (*p)[:n]
		clear((*p)[was:])
	} else {
		const least = 64
		grown := make([]byte, n, max(n, min(max(2*was, least), most)))
		copy(grown, *p)
		s.held += cap(grown) - cap(*p)
		*p = grown
	}
	if s.filled += n - was; s.filled > inlineBytes && !s.paged {
		s.leaveHead()
	}
}

// Get returns byte off.
func (a *Array) Get(off uint64) byte {
	p := a.load(off >> pageShift)
	if at := off & pageMask; at < uint64(len(p)) {
		return p[at]
	}
	return 0
}

// Set sets byte off.
func (a *Array) Set(off uint64, v byte) {
	p, at := a.load(off>>pageShift), off&pageMask
	if at >= uint64(len(p)) && v == 0 {
		return
	}
	var old byte
	if at < uint64(len(p)) {
		old = p[at]
	}
	if p = a.open(off>>pageShift, int(at)+1); p == nil {
		return
	}
	if a.s.undoing {
		a.s.undo = append(a.s.undo, undo{a, off, old})
	}
	p[at] = v
}

// Uint32 returns the integer of 4 bytes, little endian, at off, which is a multiple of 4.
func (a *Array) Uint32(off uint64) uint32 {
	p, at := a.load(off>>pageShift), off&pageMask
	if at+4 <= uint64(len(p)) {
		return binary.LittleEndian.Uint32(p[at:])
	}
	return uint32(short(p, at))
}

// AddUint32 adds n to the integer of 4 bytes at off, which is a multiple of 4, up to the greatest that there is, and returns
// it. Its page must be in memory.
func (a *Array) AddUint32(off uint64, n uint32) uint32 {
	p := a.open(off>>pageShift, int(off&pageMask)+4)[off&pageMask:]
	v := binary.LittleEndian.Uint32(p)
	v += min(n, math.MaxUint32-v)
	binary.LittleEndian.PutUint32(p, v)
	return v
}

// Uint64 returns the integer of 8 bytes, little endian, at off, which is a multiple of 8.
func (a *Array) Uint64(off uint64) uint64 {
	p, at := a.load(off>>pageShift), off&pageMask
	if at+8 <= uint64(len(p)) {
		return binary.LittleEndian.Uint64(p[at:])
	}
	return short(p, at)
}

// PutUint64 sets the integer of 8 bytes at off, which is a multiple of 8.
func (a *Array) PutUint64(off, v uint64) {
	if p := a.open(off>>pageShift, int(off&pageMask)+8); p != nil {
		binary.LittleEndian.PutUint64(p[off&pageMask:], v)
	}
}

// short reads an integer that a page may end within.
func short(p []byte, at uint64) (v uint64) {
	for i := at; i < uint64(len(p)) && i < at+8; i++ {
		v |= uint64(p[i]) << (8 * (i - at))
	}
	return v
}

// Fetch makes sure that bytes from off on are in memory, and reports whether they could be read.
func (a *Array) Fetch(off, n uint64) bool {
	if a.s.evicted == 0 || n == 0 {
		return true
	}
	for i := off >> pageShift; i <= (off+n-1)>>pageShift && i>>groupShift < uint64(len(a.groups)); i++ {
		g := a.groups[i>>groupShift]
		if g != nil && g.evicted>>(i&groupMask)&1 != 0 && !a.s.fetch(a, g, i) {
			return false
		}
	}
	return !a.s.Unread()
}

// Write copies data over the bytes from off on, which must be within the array. Zeros make no
// page.
func (a *Array) Write(off uint64, data []byte) {
	for len(data) > 0 {
		i, at := off>>pageShift, off&pageMask
		n := min(len(data), PageBytes-int(at))
		if !structures.Zeros(data[:n]) || a.load(i) != nil {
			if p := a.open(i, int(at)+n); p != nil {
				copy(p[at:], data[:n])
			}
		}
		data, off = data[n:], off+uint64(n)
	}
}

// Append appends n bytes from off on to dst, and reports whether they could be read. Pages that
// are evicted stay so unless memory has room.
func (a *Array) Append(dst []byte, off, n uint64) ([]byte, bool) {
	for n > 0 {
		i, at := off>>pageShift, off&pageMask
		size := min(n, PageBytes-at)
		from := len(dst)
		dst = structures.Grow(dst, int(n))[:from+int(size)]
		clear(dst[from:])
		ok := a.view(i, func(p []byte) {
			if at < uint64(len(p)) {
				copy(dst[from:], p[at:])
			}
		})
		if !ok {
			return dst[:from], false
		}
		off, n = off+size, n-size
	}
	return dst, true
}

// view calls use with what there is of page i, if anything, and reports whether it could be read.
func (a *Array) view(i uint64, use func(page []byte)) bool {
	if i>>groupShift >= uint64(len(a.groups)) || a.groups[i>>groupShift] == nil {
		return true
	}
	g := a.groups[i>>groupShift]
	if g.evicted>>(i&groupMask)&1 != 0 && a.s.pager != nil && !a.s.pager.Room() {
		return a.s.pager.ReadPage(a.id(i), func(p []byte) error {
			err := a.checkPage(i, p)
			if err == nil {
				use(p)
			}
			return err
		})
	}
	if p := a.load(i); p != nil {
		use(p)
	}
	return !a.s.Unread()
}

// Index returns where among n bytes from off on the first is that equals b, -1 if none does.
func (a *Array) Index(off uint64, n int, b byte) int {
	p, at := a.load(off>>pageShift), off&pageMask
	if at+uint64(n) <= uint64(len(p)) {
		return bytes.IndexByte(p[at:at+uint64(n)], b)
	}
	for i := range n {
		if a.Get(off+uint64(i)) == b {
			return i
		}
	}
	return -1
}

// Truncate makes all bytes from off on zeros. Their pages must be in memory.
func (a *Array) Truncate(off uint64) {
	first := (off + pageMask) >> pageShift
	if p, at := a.load(off>>pageShift), int(off&pageMask); at > 0 && len(p) > at {
		a.open(off>>pageShift, len(p))
		p := &a.groups[off>>pageShift>>groupShift].data[off>>pageShift&groupMask]
		a.s.filled -= len(*p) - at
		*p = (*p)[:at]
	}
	for i := first; i>>groupShift < uint64(len(a.groups)); i++ {
		g := a.groups[i>>groupShift]
		bit := uint64(1) << (i & groupMask)
		if g == nil || g.here&bit == 0 {
			continue
		}
		p := &g.data[i&groupMask]
		a.s.held -= cap(*p)
		a.s.filled -= len(*p)
		*p = nil
		g.here &^= bit
		g.shared &^= bit
		switch {
		case g.stored&bit == 0 && g.dirty&bit != 0: // the disk never had it
			g.dirty &^= bit
			a.s.changed--
		case g.stored&bit != 0 && g.dirty&bit == 0:
			g.dirty |= bit
			a.s.changed++
		}
	}
}
