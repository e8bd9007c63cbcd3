package hash

import (
	"encoding/binary"
	"math"

	"github.com/vigildb/vigil/structures/shapes"
)

// Reset makes h an empty hash.
func (h *Hash) Reset() {
	*h = Hash{keys: h.keys, pack: pack{buf: h.pack.buf[:0], shape: h.pack.shape}, nextExpiry: math.MaxInt64, declared: -1}
}

// compactFields bounds the fields of a compact hash: it is searched from the front when
// it is loaded, until it is changed.
const compactFields = 256

// IsCompact reports whether the hash is small.
func (h *Hash) IsCompact(limit int) bool {
	if h.table == nil {
		return h.pack.size() <= limit
	}
	return h.table.live <= limit && h.count <= compactFields && h.pages.Whole()
}

// AppendCompact appends a small hash. If its fields are those of a shape:
//
//	number of the shape << 1 | 1 | longest | peak - fields (uvarints)
//	| length of the value (uvarint) | value ...
//
// else
//
//	fields << 1 | longest | peak << 1 | tagged (uvarints) | entry ...
//
// and, if a field had an expiry (tagged), before the entries
//
//	fields with an expiry | next expiry, if there are any (uvarints)
func (h *Hash) AppendCompact(dst []byte) []byte {
	var shape *shapes.Shape
	if h.table == nil && !h.tagged && h.keys.Shapes != nil {
		shape = h.pack.findShape(h.keys, h.count)
	}
	if shape != nil {
		dst = binary.AppendUvarint(dst, uint64(shape.Number)<<1|1)
		dst = binary.AppendUvarint(dst, uint64(h.longest))
		dst = binary.AppendUvarint(dst, uint64(int(h.peak)-h.count))
		return h.pack.appendBare(dst)
	}
	peak := uint64(h.peak) << 1
	if h.tagged {
		peak |= 1
	}
	dst = binary.AppendUvarint(dst, uint64(h.count)<<1)
	dst = binary.AppendUvarint(dst, uint64(h.longest))
	dst = binary.AppendUvarint(dst, peak)
	if h.tagged {
		dst = binary.AppendUvarint(dst, uint64(h.timed))
	}
	if h.timed > 0 {
		dst = binary.AppendUvarint(dst, uint64(h.nextExpiry))
	}
	if h.table == nil {
		return append(dst, h.pack.buf...)
	}
	h.table.each(0, func(s *segment) bool {
		dst = s.appendPage(dst)
		return true
	})
	return dst
}

// LoadCompact makes h the hash that AppendCompact appended.
func (h *Hash) LoadCompact(b []byte) {
	var numbers [3]uint64
	for i := range numbers {
		v, n := binary.Uvarint(b)
		numbers[i], b = v, b[n:]
	}
	h.Reset()
	h.count, h.longest, h.patience = int(numbers[0]>>1), uint32(numbers[1]), restedPuts
	if numbers[0]&1 != 0 {
		h.pack.shape, h.pack.form = h.keys.Shapes.Number(uint32(numbers[0]>>1)), bare
		h.count = h.pack.shape.Len
		h.peak = uint32(h.count + int(numbers[2]))
		h.pack.buf = append(h.pack.buf, b...)
		return
	}
	h.peak, h.tagged = uint32(numbers[2]>>1), numbers[2]&1 != 0
	if h.tagged {
		timed, n := binary.Uvarint(b)
		h.timed, b = int(timed), b[n:]
	}
	if h.timed > 0 {
		next, n := binary.Uvarint(b)
		h.nextExpiry, b = int64(next), b[n:]
	}
	h.pack.buf = append(h.pack.buf, b...)
}
