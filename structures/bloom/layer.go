package bloom

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/vigildb/vigil/structures"
)

// layer is one filter of a chain. Its bits are cut into pages, whose words, written little endian,
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

	pages []page // nil or every page
	place int    // from the bottom
}

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
	return int((l.bytes + pageLen - 1) >> pageShift)
}

// newPage returns page k without a bit set.
func (l *layer) newPage(k int) bloom.BloomFilter {
	n := l.pageBytes(k)
	return *bloom.FromWithM(make([]uint64, (n+7)/8), uint(8*n), uint(l.hashes))
}

// pageBytes is the length of page id: the last one is short.
func (l *layer) pageBytes(id int) int {
	return int(min(l.bytes-uint64(id)<<pageShift, pageLen))
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
