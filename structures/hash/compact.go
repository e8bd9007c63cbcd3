package hash

import (
	"encoding/binary"
	"math"
)

// Reset makes h an empty hash.
func (h *Hash) Reset() {
	*h = Hash{keys: h.keys, pack: h.pack[:0], last: h.last, nextExpiry: math.MaxInt64, declared: -1}
}

// compactFields bounds the fields of a compact hash: it is searched from the front when
// it is loaded, until it is changed.
const compactFields = 256

// IsCompact reports whether the hash is small.
func (h *Hash) IsCompact(limit int) bool {
	if h.table == nil {
		return h.dressed() <= limit
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
	if shape := h.findShape(); shape != nil {
		dst = binary.AppendUvarint(dst, uint64(shape.Number)<<1|1)
		dst = binary.AppendUvarint(dst, uint64(h.longest))
		dst = binary.AppendUvarint(dst, uint64(int(h.peak)-h.count))
		return h.appendBare(dst)
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
		return append(dst, h.pack...)
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
	h.count, h.longest = int(numbers[0]>>1), uint32(numbers[1])
	if numbers[0]&1 != 0 {
		h.shape, h.bare = h.keys.Shapes.Number(uint32(numbers[0]>>1)), true
		h.count = h.shape.Len
		h.peak = uint32(h.count + int(numbers[2]))
		h.pack = append(h.pack, b...)
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
	h.pack = append(h.pack, b...)
}
