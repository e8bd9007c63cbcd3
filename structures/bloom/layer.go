package bloom

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/vigildb/vigil/structures"
)

// layer is one filter of a chain. Its bits are cut into pages of 16 KiB,
// each of which is a bits-and-blooms filter: its words, written little endian,
// are RedisBloom's bytes (bit x is bit x&7 of byte x>>3). A page that was never
// written does not exist, and its bits are 0: a large reservation costs nothing
// until it is used.
type layer struct {
	bytes    uint64
	bits     uint64 // bytes*8, but of filters of early payloads
	items    uint64
	rate     float64
	perEntry float64 // bits for each entry
	hashes   uint32
	entries  uint64
	// n2 is the logarithm of the modulus, or 0 if that is bits. Only filters
	// that other tools made have it.
	n2 uint8

	// pages is nil or has room for every page; a page without a bit set does
	// not exist. changed has a bit for each page that was written since Clean.
	pages   []bloom.BloomFilter
	changed []uint64
	// shared has a bit for each page that a fork may have too: it is copied before it changes.
	shared []uint64
}

const (
	pageShift = 14 // bytes; 17 for bits
	page      = 1 << pageShift
	pageBits  = page * 8
)

// newBloomLayer makes a layer for entries items at a rate of false positives.
// It fails with ErrMemory if no such layer can be made.
func newBloomLayer(entries uint64, rate float64, options uint32) (layer, error) {
	if entries < 1 || !(rate > 0 && rate < 1) || options&entriesBits != 0 {
		return layer{}, ErrMemory
	}
	l := layer{entries: entries, rate: rate, perEntry: perEntry(rate)}
	n := float64(float64(entries) * l.perEntry)
	if n >= maxBytes*8 {
		return layer{}, ErrMemory
	}
	size := max(uint64(n), 1)
	if options&noRound == 0 {
		// Rounded up to a power of two; the bits that this gains make room for
		// more items.
		l.n2 = uint8(bits.Len64(size))
		size = 1 << l.n2
		l.entries += uint64((float64(size) - n) / l.perEntry)
	}
	l.bytes = (size + 63) / 64 * 8
	l.bits = l.bytes * 8
	l.hashes = hashes(l.perEntry)
	return l, nil
}

// perEntry returns the bits that each item takes at a rate of false
// positives.
func perEntry(rate float64) float64 { return math.Abs(structures.LogRounded(rate) / ln2Squared) }

// hashes returns the number of hashes that goes with perEntry bits.
func hashes(perEntry float64) uint32 {
	k := math.Ceil(ln2 * perEntry)
	if !(k >= 0 && k <= maxHashes) {
		return 0
	}
	return uint32(k)
}

func (l *layer) modulus() uint64 {
	if l.n2 > 0 {
		return 1 << l.n2
	}
	return l.bits
}

func (l *layer) pageCount() int {
	return int((l.bytes + page - 1) >> pageShift)
}

// has reports whether all bits of h are set.
func (l *layer) has(h hash) bool {
	if l.pages == nil {
		return false
	}
	mod, x := l.modulus(), h.a
	for range l.hashes {
		at := x % mod
		words := l.pages[at/pageBits].BitSet()
		if words == nil || !words.Test(uint(at%pageBits)) {
			return false
		}
		x += h.b
	}
	return true
}

// set sets all bits of h and returns the bytes of pages that this made.
func (l *layer) set(h hash) (made int) {
	mod, x := l.modulus(), h.a
	for range l.hashes {
		at := x % mod
		id := int(at / pageBits)
		page, n := l.page(id)
		words := page.BitSet()
		made += n
		if bit := uint(at % pageBits); !words.Test(bit) {
			words.Set(bit)
			l.touch(id)
		}
		x += h.b
	}
	return made
}

// write copies data over the bytes from off on, which are within the layer.
func (l *layer) write(off uint64, data []byte) (made int) {
	for len(data) > 0 {
		id, at := int(off>>pageShift), int(off&(page-1))
		n := min(len(data), page-at)
		page, size := l.page(id)
		made += size
		putWordBytes(page.BitSet().Words(), at, data[:n])
		l.touch(id)
		data, off = data[n:], off+uint64(n)
	}
	return made
}

// appendBytes appends n bytes of the layer from off on.
func (l *layer) appendBytes(dst []byte, off, n uint64) []byte {
	dst = structures.Grow(dst, int(n))
	for n > 0 {
		id, at := int(off>>pageShift), int(off&(page-1))
		size := min(n, uint64(page-at))
		if l.exists(id) {
			dst = appendWordBytes(dst, l.pages[id].BitSet().Words(), at, int(size))
		} else {
			dst = append(dst, make([]byte, size)...)
		}
		off, n = off+size, n-size
	}
	return dst
}

func (l *layer) exists(id int) bool { return l.pages != nil && l.pages[id].BitSet() != nil }

// page returns page id to be changed, and the bytes that it takes if it is new.
func (l *layer) page(id int) (page *bloom.BloomFilter, made int) {
	if l.pages == nil {
		l.pages = make([]bloom.BloomFilter, l.pageCount())
	}
	page = &l.pages[id]
	if words := page.BitSet(); words != nil {
		if bit := uint64(1) << (id & 63); l.shared != nil && l.shared[id>>6]&bit != 0 {
			*page = *bloom.From(slices.Clone(words.Words()), uint(l.hashes))
			l.shared[id>>6] &^= bit
		}
		return page, 0
	}
	size := l.pageBytes(id)
	*page = *bloom.From(make([]uint64, (size+7)/8), uint(l.hashes))
	return page, size
}

// pageBytes is the length of page id: the last one is short.
func (l *layer) pageBytes(id int) int {
	return int(min(l.bytes-uint64(id)<<pageShift, page))
}

func (l *layer) touch(id int) {
	if l.changed == nil {
		l.changed = make([]uint64, (l.pageCount()+63)/64)
	}
	l.changed[id>>6] |= 1 << (id & 63)
}

// fork returns a copy of the layer, which has the pages in common with it.
func (l *layer) fork() layer {
	if l.pages == nil {
		return *l
	}
	l.shared = make([]uint64, (l.pageCount()+63)/64)
	for i := range l.shared {
		l.shared[i] = math.MaxUint64
	}
	m := *l
	m.pages, m.changed, m.shared = slices.Clone(l.pages), nil, slices.Clone(l.shared)
	return m
}

// touchAll marks every page that exists.
func (l *layer) touchAll() {
	for id := range l.pages {
		if l.exists(id) {
			l.touch(id)
		}
	}
}

func (l *layer) appendHeader(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, l.bytes)
	dst = binary.LittleEndian.AppendUint64(dst, l.bits)
	dst = binary.LittleEndian.AppendUint64(dst, l.items)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.rate))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.perEntry))
	dst = binary.LittleEndian.AppendUint32(dst, l.hashes)
	dst = binary.LittleEndian.AppendUint64(dst, l.entries)
	return append(dst, l.n2)
}

// parseBloomLayer reads what appendHeader writes, and refuses what RedisBloom
// refuses. Beyond that it refuses counts of hashes that no error rate gives:
// every look-up would compute them all.
func parseBloomLayer(b []byte, r rounding) (layer, error) {
	l := layer{
		bytes:    binary.LittleEndian.Uint64(b),
		bits:     binary.LittleEndian.Uint64(b[8:]),
		items:    binary.LittleEndian.Uint64(b[16:]),
		rate:     math.Float64frombits(binary.LittleEndian.Uint64(b[24:])),
		perEntry: math.Float64frombits(binary.LittleEndian.Uint64(b[32:])),
		hashes:   binary.LittleEndian.Uint32(b[40:]),
		entries:  binary.LittleEndian.Uint64(b[44:]),
		n2:       b[52],
	}
	switch {
	case !(l.rate > 0 && l.rate < 1):
		return l, fmt.Errorf("error rate %g: %w", l.rate, ErrBadData)
	case l.n2 > 63 || l.n2 > 0 && l.bits < 1<<l.n2:
		return l, fmt.Errorf("modulus 2^%d over %d bits: %w", l.n2, l.bits, ErrBadData)
	case l.bits == 0 || l.bytes > math.MaxUint64/8 || l.bits > l.bytes*8 || l.bits != l.bytes*8 && r == wholeBytes:
		return l, fmt.Errorf("%d bits in %d bytes: %w", l.bits, l.bytes, ErrBadData)
	case l.hashes == 0 || l.hashes != hashes(l.perEntry):
		return l, fmt.Errorf("%d hashes at %g bits an entry: %w", l.hashes, l.perEntry, ErrBadData)
	case l.bytes > maxBytes:
		return l, ErrMemory
	}
	return l, nil
}
