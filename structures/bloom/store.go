package bloom

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/vigildb/vigil/structures"
)

// On disk a filter is
//
//	head: the header of a dump (20 + 53 bytes a layer)
//	      | the bits of all layers, oldest first, if these are at most 4096 bytes
//	page layer<<32 | i: bytes [16384*i, 16384*(i+1)) of that layer, if there are
//	      more; the last page of a layer is short, and a page that was never
//	      written is not stored
//
// Bits are only ever set, and layers only added, so no page is ever gone. These
// numbers are on disk and never change.

// inline is the most bytes of bits that the head holds.
const inline = 4096

const layerShift = 32

// Decode makes a filter from its head. If the head does not hold the bits,
// SetPage must be called for every stored page before the filter is asked.
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
	want := uint64(0)
	if f.inline() {
		want = f.bytes
	}
	if uint64(len(rest)) != want {
		return nil, fmt.Errorf("%d bytes of bits in head of Bloom filter, want %d: %w", len(rest), want, structures.ErrCorrupt)
	}
	if want == 0 {
		return f, nil
	}
	for i := range f.layers {
		l := &f.layers[i]
		f.held += l.write(0, rest[:l.bytes])
		rest = rest[l.bytes:]
	}
	f.Clean()
	return f, nil
}

// Kind is KindBloom.
func (f *Filter) Kind() structures.Kind { return structures.KindBloom }

// Fork returns a copy. A filter is in memory whole.
func (f *Filter) Fork() (structures.Value, bool) {
	g := *f
	g.layers = make([]layer, len(f.layers))
	for i := range f.layers {
		g.layers[i] = f.layers[i].fork()
	}
	return &g, true
}

// Empty returns false: a filter without items is still a filter.
func (f *Filter) Empty() bool { return false }

// Size estimates the memory held.
func (f *Filter) Size() int {
	const layerSize, pageSize, slotSize = 160, 64, 24
	size := 96 + f.held + len(f.layers)*layerSize + f.held>>pageShift*pageSize
	if f.held > 0 {
		size += int(f.bytes>>pageShift) * slotSize
	}
	return size
}

func (f *Filter) inline() bool { return f.bytes <= inline }

// AppendHead appends the head, with the bits of a small filter.
func (f *Filter) AppendHead(dst []byte) []byte {
	dst = f.appendHeader(dst)
	if !f.inline() {
		return dst
	}
	for i := range f.layers {
		dst = f.layers[i].appendBytes(dst, 0, f.layers[i].bytes)
	}
	return dst
}

// Pages visits changed or all pages.
func (f *Filter) Pages(all bool, visit func(id uint64, page []byte)) {
	if f.inline() {
		return
	}
	var buf []byte
	for i := range f.layers {
		l := &f.layers[i]
		send := func(id int) {
			buf = l.appendBytes(buf[:0], uint64(id)<<pageShift, uint64(l.pageBytes(id)))
			visit(uint64(i)<<layerShift|uint64(id), buf)
		}
		if all {
			for id := range l.pages {
				if l.exists(id) {
					send(id)
				}
			}
			continue
		}
		for w, word := range l.changed {
			for ; word != 0; word &= word - 1 {
				send(w<<6 + bits.TrailingZeros64(word))
			}
		}
	}
}

// Clean marks every page as stored.
func (f *Filter) Clean() {
	for i := range f.layers {
		f.layers[i].changed = nil
	}
}

// SetPage hands in a stored page of a filter that was just decoded.
func (f *Filter) SetPage(id uint64, page []byte) error {
	layer, at := id>>layerShift, id&(1<<layerShift-1)
	if f.inline() || layer >= uint64(len(f.layers)) {
		return fmt.Errorf("page %#x of a Bloom filter of %d layers: %w", id, len(f.layers), structures.ErrCorrupt)
	}
	l := &f.layers[layer]
	if at >= uint64(l.pageCount()) || len(page) != l.pageBytes(int(at)) {
		return fmt.Errorf("page %#x of a Bloom filter: %d bytes: %w", id, len(page), structures.ErrCorrupt)
	}
	held, made := l.page(int(at))
	f.held += made
	putWordBytes(held.BitSet().Words(), 0, page)
	return nil
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
