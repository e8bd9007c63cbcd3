package hash

import (
	"encoding/binary"
	"math"
)

// Reset makes h an empty hash.
func (h *Hash) Reset() {
	*h = Hash{keys: h.keys, pack: h.pack[:0], nextExpiry: math.MaxInt64, declared: -1}
}

// compactFields bounds the fields of a compact hash: it is searched from the front when
// it is loaded, until it is changed.
const compactFields = 256

// IsCompact reports whether the hash is small.
func (h *Hash) IsCompact(limit int) bool {
	if h.table == nil {
		return len(h.pack) <= limit
	}
	return h.table.live <= limit && h.count <= compactFields && h.pages.Whole()
}

// AppendCompact appends a small hash:
//
//	fields | longest | peak << 1 | tagged (uvarints) | entry ...
//
// and, if a field had an expiry (tagged), before the entries
//
//	fields with an expiry | next expiry, if there are any (uvarints)
func (h *Hash) AppendCompact(dst []byte) []byte {
	peak := uint64(h.peak) << 1
	if h.tagged {
		peak |= 1
	}
	dst = binary.AppendUvarint(dst, uint64(h.count))
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
	h.count, h.longest = int(numbers[0]), uint32(numbers[1])
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
