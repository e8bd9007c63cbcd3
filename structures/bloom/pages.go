package bloom

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// page is 16 KiB of the bits of a layer, as a bits-and-blooms filter. A page without a bit set does not exist, and one
// that is evicted has no bits here.
type page struct {
	paged.State
	shared bool // a fork may have the bits too: they are copied before they change
	bits   bloom.BloomFilter
}

// here reports that the bits are in memory.
func (p *page) here() bool { return p.bits.BitSet() != nil }

func (p *page) exists() bool { return p.Evicted || p.here() }

func (p *page) words() []uint64 { return p.bits.BitSet().Words() }

// bytes is the length of a page that is in memory.
func (p *page) bytes() int { return int(p.bits.Cap() / 8) }

const (
	pageShift = 14 // bytes; 17 for bits
	pageLen   = 1 << pageShift
	pageBits  = pageLen * 8
)

// paging is a filter as its pages see it, [paged.Stored].
type paging Filter

func (f *Filter) paging() *paging { return (*paging)(f) }

func (p *paging) Each(from uint64, visit func(id uint64, q *page) bool) {
	for n := from >> layerShift; n < uint64(len(p.layers)); n++ {
		pages, at := p.layers[n].pages, uint64(0)
		if n == from>>layerShift {
			at = from & (1<<layerShift - 1)
		}
		for ; at < uint64(len(pages)); at++ {
			if q := &pages[at]; q.exists() && !visit(n<<layerShift|at, q) {
				return
			}
		}
	}
}

// id is the number of page k of a layer.
func (f *Filter) id(l *layer, k int) uint64 { return uint64(l.place)<<layerShift | uint64(k) }

// InHead reports that the bits are in the head.
func (p *paging) InHead() bool { return (*Filter)(p).inline() }

func (p *paging) Bytes(q *page) int {
	if q.Evicted {
		return pageLen
	}
	return q.bytes()
}

func (p *paging) Append(dst []byte, q *page) []byte {
	return appendWordBytes(dst, q.words(), 0, q.bytes())
}

// Decode makes a page of the bytes of one.
func (p *paging) Decode(id uint64, _ *page, b []byte) (*page, error) {
	l, at := &p.layers[id>>layerShift], int(id&(1<<layerShift-1))
	if len(b) != l.pageBytes(at) {
		return nil, fmt.Errorf("page %#x of a Bloom filter: %d bytes, want %d: %w", id, len(b), l.pageBytes(at), structures.ErrCorrupt)
	}
	q := &page{bits: l.newPage(at)}
	putWordBytes(q.words(), 0, b)
	return q, nil
}

func (p *paging) Evict(q *page) bool {
	p.held -= p.Bytes(q)
	q.bits, q.shared = bloom.BloomFilter{}, false
	return true
}

func (p *paging) Adopt(q, decoded *page) {
	q.bits = decoded.bits
	p.held += q.bytes()
}

// bring reads page k of a layer, which is not in memory. It returns false if it does not exist, or cannot be read.
func (f *Filter) bring(l *layer, k int) bool {
	return l.pages[k].Evicted && f.pages.Touch(f.paging(), f.id(l, k), &l.pages[k])
}

// pin makes sure that pages of h in a layer are in memory: all, or those that a look-up needs. It reports false if one
// cannot be read.
func (f *Filter) pin(l *layer, h hash, all bool) bool {
	if l.pages == nil {
		return true
	}
	mod, x := l.modulus(), h.a
	for range l.hashes {
		at := x % mod
		k := int(at / pageBits)
		p := &l.pages[k]
		if p.Evicted && !f.pages.Pin(f.paging(), f.id(l, k), p) {
			return false
		}
		if !all && !(p.here() && p.bits.BitSet().Test(uint(at%pageBits))) {
			return true
		}
		x += h.b
	}
	return true
}

// Ready makes sure that Add of items does not fail half way. It reports false if a page cannot be read.
func (f *Filter) Ready(items ...[]byte) bool {
	if f.pages.Whole() || len(f.layers) == 0 {
		return true
	}
	for _, item := range items {
		h := f.hash(item)
		for i := range f.layers {
			if !f.pin(&f.layers[i], h, i == len(f.layers)-1) {
				return false
			}
		}
	}
	return !f.pages.Unread()
}

// view returns page k of a layer, nil if it does not exist, for a walk over the filter: an evicted page stays so unless
// memory has room. It reports false if it cannot be read.
func (f *Filter) view(l *layer, k int) (p *page, ok bool) {
	if l.pages == nil || !l.pages[k].exists() {
		return nil, true
	}
	return f.pages.View(f.paging(), f.id(l, k), &l.pages[k], paged.Walking)
}

// open returns the bits of page k of a layer, which is not evicted, to be changed. Whoever changes one calls alter.
func (f *Filter) open(l *layer, k int) *page {
	if l.pages == nil {
		l.pages = make([]page, l.pageCount())
	}
	p := &l.pages[k]
	switch {
	case !p.here():
		p.bits = l.newPage(k)
		f.held += p.bytes()
	case p.shared:
		p.bits = *bloom.FromWithM(slices.Clone(p.words()), p.bits.Cap(), p.bits.K())
		p.shared = false
	}
	return p
}

func (f *Filter) alter(p *page) {
	if !p.Dirty {
		f.pages.Alter(p)
	}
	p.Recent = true
}

// mask is which pages there are of those from 64*group on.
func (l *layer) mask(group int) (m uint64) {
	if l.pages == nil {
		return 0
	}
	first := group * structures.PresenceGroup
	for i := range l.pages[first:min(first+structures.PresenceGroup, len(l.pages))] {
		if l.pages[first+i].exists() {
			m |= 1 << i
		}
	}
	return m
}

// groups bounds how many groups of pages there are any of.
func (l *layer) groups() int {
	return (len(l.pages) + structures.PresenceGroup - 1) / structures.PresenceGroup
}

// loadIndex reads which pages there are of each layer. All of them are evicted then.
func (f *Filter) loadIndex(b []byte) error {
	r := structures.Reader{B: b}
	for i := range f.layers {
		l := &f.layers[i]
		structures.Presence(&r, uint64(l.pageCount()), func(group int, mask uint64) {
			if l.pages == nil {
				l.pages = make([]page, l.pageCount())
			}
			for ; mask != 0; mask &= mask - 1 {
				l.pages[group*structures.PresenceGroup+bits.TrailingZeros64(mask)].State = paged.State{Stored: true, Evicted: true}
				f.pages.Found()
			}
		})
	}
	if r.Bad || len(r.B) > 0 {
		return fmt.Errorf("index of %d bytes: %w", len(b), structures.ErrCorrupt)
	}
	return nil
}

// SetPager says where pages are read.
func (f *Filter) SetPager(p structures.Pager) { f.pages.Pager = p }

// Evicted is the number of evicted pages, and their bytes.
func (f *Filter) Evicted() (pages int, bytes int64) { return f.pages.Evicted(f.paging()) }

// Evict evicts pages of about so many bytes.
func (f *Filter) Evict(bytes int) (freed, changed int) { return f.pages.Evict(f.paging(), bytes) }

// Changed is about how many bytes of pages changed since Clean.
func (f *Filter) Changed() int { return f.pages.Changed() * pageLen }

// LoadAll reads every evicted page.
func (f *Filter) LoadAll() bool { return f.pages.LoadAll(f.paging()) }

// Pages visits changed or all pages.
func (f *Filter) Pages(all bool, visit func(id uint64, page []byte)) {
	if !f.inline() {
		f.pages.Visit(f.paging(), all, visit)
	}
}

// Flush visits up to n of the pages that changed.
func (f *Filter) Flush(n int, visit func(id uint64, page []byte)) (more bool) {
	return f.pages.Flush(f.paging(), n, visit)
}

// Clean marks every page as stored.
func (f *Filter) Clean() { f.pages.Clean(f.paging()) }

// MarkAllDirty marks every page as changed.
func (f *Filter) MarkAllDirty() { f.pages.MarkAllDirty(f.paging()) }

// Complete reports an error if a page that the head says there is was not handed in.
func (f *Filter) Complete() error {
	if n := f.pages.Count(); n > 0 && f.pages.Pager == nil {
		return fmt.Errorf("%d pages of a Bloom filter are missing: %w", n, structures.ErrCorrupt)
	}
	return nil
}

// SetPage hands in a stored page of a filter that was just decoded.
func (f *Filter) SetPage(id uint64, b []byte) error {
	n, at := id>>layerShift, id&(1<<layerShift-1)
	if f.inline() || n >= uint64(len(f.layers)) || at >= uint64(f.layers[n].pageCount()) {
		return fmt.Errorf("page %#x of a Bloom filter of %d layers: %w", id, len(f.layers), structures.ErrCorrupt)
	}
	l, of := &f.layers[n], f.paging()
	if l.pages == nil {
		l.pages = make([]page, l.pageCount())
	}
	p := &l.pages[at]
	if p.Evicted {
		return f.pages.Supply(of, id, p, b)
	}
	if f.indexed {
		return fmt.Errorf("page %#x of a Bloom filter is not in its index: %w", id, structures.ErrCorrupt)
	}
	read, err := of.Decode(id, p, b)
	if err != nil {
		return err
	}
	if p.here() {
		of.Evict(p)
	}
	of.Adopt(p, read)
	p.Stored = true
	return nil
}
