package bloom

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// LoadHeader gives a new filter the layers that a dump header describes, with
// all bits 0. limit bounds the bytes of the bits. The errors are
// ErrBadData and ErrMemory; the filter is then as before.
func (f *Filter) LoadHeader(ch *structures.Change, header []byte, limit uint64) error {
	if err := f.load(header, limit, wholeBytes); err != nil {
		return err
	}
	ch.Op(opBloomHeader, 1)
	ch.Bytes(header)
	return nil
}

// LoadOld is LoadHeader for filters of early payloads of RedisBloom, whose bits need not fill their last
// byte. No dump has them.
func (f *Filter) LoadOld(header []byte, limit uint64) error {
	return f.load(header, limit, anyBits)
}

// rounding says which numbers of bits a layer may have.
type rounding uint8

const (
	wholeBytes rounding = iota // those of its bytes
	anyBits                    // and fewer
)

func (f *Filter) load(header []byte, limit uint64, r rounding) error {
	g, err := parseBloomHeader(header, r)
	if err != nil {
		return err
	}
	if g.bytes > min(limit, maxBytes) {
		return ErrMemory
	}
	f.become(g)
	return nil
}

// LoadChunk writes data to the bits. iter is the iterator that DumpChunk
// returned with data, so the chunk ends before position iter-1. The errors are
// ErrBadData, ErrNoLayer, ErrChunkTooBig and ErrUnread; the filter is then
// as before. The count of items is that of the header and stays.
func (f *Filter) LoadChunk(ch *structures.Change, iter int64, data []byte) error {
	if iter <= 0 || iter < int64(len(data)) {
		return ErrBadData
	}
	pos := iter - int64(len(data)) - 1
	if err := f.loadBits(pos, data); err != nil {
		return err
	}
	ch.Op(opBloomChunk, 2)
	ch.Uint(uint64(pos))
	ch.Bytes(data)
	return nil
}

func (f *Filter) loadBits(pos int64, data []byte) error {
	l, off, ok := f.locate(pos)
	if !ok {
		return ErrNoLayer
	}
	if uint64(len(data)) > l.bytes-off {
		return ErrChunkTooBig
	}
	for at := off &^ (pageLen - 1); at < off+uint64(len(data)) && l.pages != nil; at += pageLen {
		k := int(at >> pageShift)
		if !f.pages.Pin(f.paging(), f.id(l, k), &l.pages[k]) {
			return ErrUnread
		}
	}
	f.write(l, off, data)
	return nil
}

// locate returns the layer that holds byte pos of the bits of all layers, and
// the offset within it.
func (f *Filter) locate(pos int64) (l *layer, off uint64, ok bool) {
	if pos < 0 {
		return nil, 0, false
	}
	off = uint64(pos)
	for i := range f.layers {
		if off < f.layers[i].bytes {
			return &f.layers[i], off, true
		}
		off -= f.layers[i].bytes
	}
	return nil, 0, false
}

// Chunk is the most that DumpChunk returns at once.
const Chunk = 16 << 20

// DumpChunk appends the next piece of a dump to dst, and returns the iterator
// to ask with for the piece behind it, which is also the iterator that loads
// this one. Iterator 0 gives the header. Behind the last chunk, and for an
// iterator that never was given out, next is 0 and nothing is appended. A chunk
// is a part of one layer. If a page cannot be read, next is 0 too, and the pager keeps the reason.
func (f *Filter) DumpChunk(dst []byte, iter int64) (next int64, out []byte) {
	if iter == 0 {
		return 1, f.appendHeader(dst)
	}
	l, off, ok := f.locate(iter - 1)
	if !ok {
		return 0, dst
	}
	n := min(l.bytes-off, Chunk)
	out, ok = f.appendBytes(dst, l, off, n)
	if !ok {
		return 0, dst
	}
	return iter + int64(n), out
}

// appendHeader appends the header of a dump.
//
//	items 8 | layers 4 | options 4 | growth 4
//	| for each layer: bytes 8 | bits 8 | items 8 | error 8 | bits per entry 8 | hashes 4 | entries 8 | n2 1
//
// Numbers are little endian. RedisBloom reads these bytes: they never change.
func (f *Filter) appendHeader(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, f.items)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f.layers)))
	dst = binary.LittleEndian.AppendUint32(dst, f.options)
	dst = binary.LittleEndian.AppendUint32(dst, f.growth)
	for i := range f.layers {
		dst = f.layers[i].appendHeader(dst)
	}
	return dst
}

const (
	headerLen = 20
	layerLen  = 53
)

// parseBloomHeader makes a filter without bits from a header.
func parseBloomHeader(b []byte, r rounding) (*Filter, error) {
	if len(b) < headerLen || (len(b)-headerLen)%layerLen != 0 {
		return nil, fmt.Errorf("header of %d bytes: %w", len(b), ErrBadData)
	}
	f := &Filter{
		items:   binary.LittleEndian.Uint64(b),
		options: binary.LittleEndian.Uint32(b[12:]),
		growth:  binary.LittleEndian.Uint32(b[16:]),
	}
	n := (len(b) - headerLen) / layerLen
	if n == 0 || n > maxLayers || uint32(n) != binary.LittleEndian.Uint32(b[8:]) || f.options&^allOptions != 0 {
		return nil, fmt.Errorf("header of %d layers, options %#x: %w", n, f.options, ErrBadData)
	}
	f.layers = make([]layer, 0, n)
	var items uint64
	for i := range n {
		l, err := parseBloomLayer(b[headerLen+i*layerLen:], r)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, err)
		}
		if f.bytes > maxBytes-l.bytes {
			return nil, ErrMemory
		}
		l.place = i
		f.layers = append(f.layers, l)
		f.bytes += l.bytes
		items += l.items
	}
	if items != f.items {
		return nil, fmt.Errorf("%d items in layers, %d in all: %w", items, f.items, ErrBadData)
	}
	return f, nil
}
