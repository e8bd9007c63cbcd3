package cuckoo

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/cells"
)

// HeaderLen is the length of the header of a dump.
const HeaderLen = 38

// Chunk is the most that DumpChunk returns at once.
const Chunk = 16 << 20

// appendHeader appends the header of a dump.
//
//	items 8 | buckets of the first sub-filter 8 | deletes 8 | sub-filters 8 | bucket size 2 | iterations 2 | expansion 2
//
// Numbers are little endian. RedisBloom reads these bytes: they never change.
func (f *Filter) appendHeader(dst []byte) []byte {
	for _, v := range [...]uint64{f.items, f.buckets, f.deletes, uint64(f.Arrays())} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	for _, v := range [...]uint64{f.bucketSize, f.iterations, f.expansion} {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(v))
	}
	return dst
}

// Header is the header of a dump, taken apart.
type Header struct {
	Items, Buckets, Deletes, Filters  uint64
	BucketSize, Iterations, Expansion uint64
}

func parseHeader(b []byte) (h Header, err error) {
	if len(b) != HeaderLen {
		return h, fmt.Errorf("header of %d bytes: %w", len(b), ErrBadHeader)
	}
	return Header{
		Items: binary.LittleEndian.Uint64(b), Buckets: binary.LittleEndian.Uint64(b[8:]),
		Deletes: binary.LittleEndian.Uint64(b[16:]), Filters: binary.LittleEndian.Uint64(b[24:]),
		BucketSize: uint64(binary.LittleEndian.Uint16(b[32:])), Iterations: uint64(binary.LittleEndian.Uint16(b[34:])),
		Expansion: uint64(binary.LittleEndian.Uint16(b[36:])),
	}, nil
}

// check reports what a filter cannot have, and slots of more than limit bytes: before memory is asked
// for, as the sizes of sub-filters grow with powers of the expansion.
func (h *Header) check(limit uint64) error {
	switch {
	case h.BucketSize < 1 || h.BucketSize > MaxBucketSize || h.Filters < 1 || h.Filters > MaxFilters ||
		h.Iterations < 1 || h.Expansion > MaxExpansion || h.Expansion == 0 && h.Filters != 1 ||
		h.Buckets >= 1<<56 || bits.OnesCount64(h.Buckets) != 1:
		return fmt.Errorf("header %+v: %w", *h, ErrBadHeader)
	}
	limit = min(limit, cells.MaxBytes)
	total, next := uint64(0), h.Buckets*h.BucketSize // below 2^64
	for k := range h.Filters {
		if next > limit || total > limit-next {
			return ErrMemory
		}
		if total += next; k+1 < h.Filters {
			next *= h.Expansion // both are below 2^36
		}
	}
	return nil
}

// Load gives a new filter the sub-filters of a header, without items in their slots. limit bounds their
// bytes. The errors are ErrBadHeader and ErrMemory; the filter is then as new.
func (f *Filter) Load(h Header, limit uint64) error {
	if err := h.check(limit); err != nil {
		return err
	}
	f.items, f.buckets, f.deletes = h.Items, h.Buckets, h.Deletes
	f.bucketSize, f.iterations, f.expansion = h.BucketSize, h.Iterations, h.Expansion
	size := h.Buckets * h.BucketSize
	for range h.Filters {
		f.Push(size)
		size *= h.Expansion
	}
	return nil
}

// LoadHeader is Load of the header of a dump.
func (f *Filter) LoadHeader(ch *structures.Change, header []byte, limit uint64) error {
	h, err := parseHeader(header)
	if err == nil {
		err = f.Load(h, limit)
	}
	if err == nil {
		ch.Op(opHeader, 1)
		ch.Bytes(header)
	}
	return err
}

// LoadChunk sets slots. iter is the iterator that DumpChunk returned with data, so that the chunk ends
// before position iter-1 of the slots of all sub-filters. The error is ErrBadChunk, also if a page cannot
// be read; the filter is then as before. The number of items is that of the header and stays.
func (f *Filter) LoadChunk(ch *structures.Change, iter int64, data []byte) error {
	if len(data) == 0 || iter <= int64(len(data)) {
		return ErrBadChunk
	}
	pos := uint64(iter) - uint64(len(data)) - 1
	if err := f.load(pos, data); err != nil {
		return err
	}
	ch.Op(opChunk, 2)
	ch.Uint(pos)
	ch.Bytes(data)
	return nil
}

func (f *Filter) load(pos uint64, data []byte) error {
	a, off := f.locate(pos)
	n := uint64(len(data))
	if a == nil || n > a.Size()-off || !a.Fetch(off, n) {
		return ErrBadChunk
	}
	a.Write(off, data)
	return nil
}

// locate returns the sub-filter that has a slot of all, and which one it is there; nil if none has.
func (f *Filter) locate(pos uint64) (a *cells.Array, off uint64) {
	for k := range f.Arrays() {
		if a := f.Array(k); pos < a.Size() {
			return a, pos
		}
		pos -= f.Array(k).Size()
	}
	return nil, 0
}

// DumpChunk appends the next part of a dump to dst, and returns the iterator to ask with for the part
// behind it, which is also the iterator that loads this one. Iterator 0 gives the header. Behind the
// last chunk, for a filter without items, and if a page cannot be read, next is 0. A chunk is a part
// of one sub-filter.
func (f *Filter) DumpChunk(dst []byte, iter int64) (next int64, out []byte) {
	if f.items == 0 || iter < 0 {
		return 0, dst
	}
	if iter == 0 {
		return 1, f.appendHeader(dst)
	}
	a, off := f.locate(uint64(iter - 1))
	if a == nil {
		return 0, dst
	}
	n := min(a.Size()-off, Chunk)
	out, ok := a.Append(dst, off, n)
	if !ok || n > uint64(math.MaxInt64-iter) {
		return 0, dst
	}
	return iter + int64(n), out
}
