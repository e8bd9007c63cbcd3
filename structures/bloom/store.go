package bloom

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// On disk a filter is
//
//	head: the header of a dump (20 + 53 bytes a layer)
//	      | the bits of all layers, oldest first, if these are at most 4096 bytes, or else
//	      which pages there are of each layer, as structures.AppendPresence has it
//	page layer<<32 | i: bytes [16384*i, 16384*(i+1)) of that layer, if there are
//	      more; the last page of a layer is short, and a page that was never
//	      written is not stored
//
// Heads that say nothing of their pages have form 0, of before filters had pages that are on disk only. Bits are only ever
// set, and layers only added, so no page is ever gone. These numbers are on disk and never change.

// inline is the most bytes of bits that the head holds.
const inline = 4096

const layerShift = 32

// Decode makes a filter from its head. If the head does not hold the bits,
// SetPage must be called for every stored page before the filter is asked, or SetPager if the head says which there are.
func Decode(head []byte) (*Filter, error) {
	if len(head) < headerLen {
		return nil, fmt.Errorf("head of Bloom filter of %d bytes: %w", len(head), structures.ErrCorrupt)
	}
	n := uint64(binary.LittleEndian.Uint32(head[8:]))
	if n == 0 {
		if len(head) != headerLen || !structures.Zeros(head) {
			return nil, fmt.Errorf("head of Bloom filter without layers: %w", structures.ErrCorrupt)
		}
		return New(), nil
	}
	end := headerLen + n*layerLen
	if end > uint64(len(head)) {
		return nil, fmt.Errorf("head of Bloom filter of %d layers: %w", n, structures.ErrCorrupt)
	}
	f, err := parseBloomHeader(head[:end], anyBits)
	if err != nil {
		return nil, fmt.Errorf("head of Bloom filter: %w: %w", err, structures.ErrCorrupt)
	}
	rest := head[end:]
	if !f.inline() {
		if f.indexed = len(rest) > 0; f.indexed {
			err = f.loadIndex(rest)
		}
		return f, err
	}
	if uint64(len(rest)) != f.bytes {
		return nil, fmt.Errorf("%d bytes of bits in head of Bloom filter, want %d: %w", len(rest), f.bytes, structures.ErrCorrupt)
	}
	for i := range f.layers {
		l := &f.layers[i]
		f.write(l, 0, rest[:l.bytes])
		rest = rest[l.bytes:]
	}
	f.Clean()
	return f, nil
}

// Kind is KindBloom.
func (f *Filter) Kind() structures.Kind { return structures.KindBloom }

// Fork returns a copy.
func (f *Filter) Fork() (structures.Value, bool) {
	if !f.pages.Whole() {
		return nil, false
	}
	g := &Filter{layers: slices.Clone(f.layers), items: f.items, options: f.options, growth: f.growth, bytes: f.bytes, held: f.held}
	for i := range f.layers {
		l := &f.layers[i]
		for k := range l.pages {
			l.pages[k].shared = l.pages[k].exists()
		}
		g.layers[i].pages = slices.Clone(l.pages)
		for k := range g.layers[i].pages {
			g.layers[i].pages[k].State = paged.State{}
		}
	}
	return g, true
}

// Empty returns false: a filter without items is still a filter.
func (f *Filter) Empty() bool { return false }

// Size estimates the memory held.
func (f *Filter) Size() int {
	const own, layerSize, bitsSize, slotSize = 192, 160, 64, 32
	size := own + f.held + len(f.layers)*layerSize + f.held>>pageShift*bitsSize
	if f.held > 0 || !f.pages.Whole() {
		size += int(f.bytes>>pageShift) * slotSize
	}
	return size
}

func (f *Filter) inline() bool { return f.bytes <= inline }

// Form is 1 for a filter of an early payload of RedisBloom, whose bits do not fill their last byte, else 0.
func (f *Filter) Form() byte {
	for i := range f.layers {
		if l := &f.layers[i]; l.bits != l.bytes*8 {
			return 1
		}
	}
	return 0
}

// AppendHead appends the head, with the bits of a small filter.
func (f *Filter) AppendHead(dst []byte) []byte { return f.AppendHeadAs(dst, 1) }

// AppendHeadAs is AppendHead in a form: one of form 0 does not say which pages there are.
func (f *Filter) AppendHeadAs(dst []byte, form byte) []byte {
	dst = f.appendHeader(dst)
	for i := range f.layers {
		l := &f.layers[i]
		if f.inline() {
			dst, _ = f.appendBytes(dst, l, 0, l.bytes) // no page is evicted
		} else if form > 0 {
			dst = structures.AppendPresence(dst, uint64(l.pageCount()), l.groups(), l.mask)
		}
	}
	return dst
}

// write copies data over the bytes from off on, which are within the layer. Their pages are in memory.
func (f *Filter) write(l *layer, off uint64, data []byte) {
	for len(data) > 0 {
		k, at := int(off>>pageShift), int(off&(pageLen-1))
		n := min(len(data), pageLen-at)
		p := f.open(l, k)
		putWordBytes(p.words(), at, data[:n])
		f.alter(p)
		data, off = data[n:], off+uint64(n)
	}
}

// appendBytes appends n bytes of a layer from off on, and reports whether they could be read.
func (f *Filter) appendBytes(dst []byte, l *layer, off, n uint64) ([]byte, bool) {
	dst = structures.Grow(dst, int(n))
	for n > 0 {
		k, at := int(off>>pageShift), int(off&(pageLen-1))
		size := min(n, uint64(pageLen-at))
		switch p, ok := f.view(l, k); {
		case !ok:
			return dst, false
		case p == nil:
			dst = append(dst, make([]byte, size)...)
		default:
			dst = appendWordBytes(dst, p.words(), at, int(size))
		}
		off, n = off+size, n-size
	}
	return dst, true
}

// putWordBytes copies data over the bytes from at on of words, seen little
// endian.
func putWordBytes(words []uint64, at int, data []byte) {
	for len(data) > 0 {
		if at&7 == 0 && len(data) >= 8 {
			words[at>>3] = binary.LittleEndian.Uint64(data)
			at, data = at+8, data[8:]
			continue
		}
		shift := 8 * (at & 7)
		words[at>>3] = words[at>>3]&^(0xff<<shift) | uint64(data[0])<<shift
		at, data = at+1, data[1:]
	}
}

// appendWordBytes appends n bytes from at on of words, seen little endian.
func appendWordBytes(dst []byte, words []uint64, at, n int) []byte {
	for n > 0 {
		if at&7 == 0 && n >= 8 {
			dst = binary.LittleEndian.AppendUint64(dst, words[at>>3])
			at, n = at+8, n-8
			continue
		}
		dst = append(dst, byte(words[at>>3]>>(8*(at&7))))
		at, n = at+1, n-1
	}
	return dst
}
