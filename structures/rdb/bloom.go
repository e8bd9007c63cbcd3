package rdb

import (
	"encoding/binary"
	"math"

	"github.com/vigildb/vigil/structures/bloom"
)

// A Bloom filter is written as RedisBloom writes it:
//
//	module and version | items, layers, options, growth
//	| for each layer, oldest first: entries, error, hashes, bits per entry, bits, n2, bytes of bits, items
//	| 0
//
// in which every number and string follows a length that says what it is. The
// header of the filter's own dump (BF.SCANDUMP) has the same figures in another
// order; the filter is made from, and checked as, such a header.

// Early versions of the encoding lack some of that: 0 the bits and n2, 0 and 1 the options, 0 to 3 the
// growth.

// bloomModule is the name MBbloom--, 6 bits a letter, and the version of the
// encoding, 10 bits.
const bloomModule = bloomName<<10 | bloomVersion

const (
	bloomName    = 12<<48 | 1<<42 | 27<<36 | 37<<30 | 40<<24 | 40<<18 | 38<<12 | 62<<6 | 62
	bloomVersion = 4
)

// Offsets in the header of a dump, and in what it has for each layer.
const (
	headItems, headLayers, headOptions, headGrowth, headLen = 0, 8, 12, 16, 20

	layerBytes, layerBits, layerItems, layerError, layerPerEntry = 0, 8, 16, 24, 32
	layerHashes, layerEntries, layerN2, layerLen                 = 40, 44, 52, 53
)

func appendBloom(dst []byte, f *bloom.Filter) []byte {
	at, head := f.DumpChunk(nil, 0)
	dst = appendLength(dst, bloomModule)
	dst = appendUnsigned(dst, binary.LittleEndian.Uint64(head[headItems:]))
	for _, off := range [...]int{headLayers, headOptions, headGrowth} {
		dst = appendUnsigned(dst, uint64(binary.LittleEndian.Uint32(head[off:])))
	}
	for l := head[headLen:]; len(l) > 0; l = l[layerLen:] {
		u64 := func(off int) uint64 { return binary.LittleEndian.Uint64(l[off:]) }
		dst = appendUnsigned(dst, u64(layerEntries))
		dst = append(append(dst, moduleDouble), l[layerError:layerError+8]...)
		dst = appendUnsigned(dst, uint64(binary.LittleEndian.Uint32(l[layerHashes:])))
		dst = append(append(dst, moduleDouble), l[layerPerEntry:layerPerEntry+8]...)
		dst = appendUnsigned(dst, u64(layerBits))
		dst = appendUnsigned(dst, uint64(l[layerN2]))
		dst = appendZeros(append(dst, moduleString), u64(layerBytes), func(dst []byte, off uint64) []byte {
			_, dst = f.DumpChunk(dst, at+int64(off))
			return dst
		})
		dst = appendUnsigned(dst, u64(layerItems))
		at += int64(u64(layerBytes))
	}
	return append(dst, moduleEnd)
}

// bloom reads a Bloom filter in a version of the encoding.
func (d *decoder) bloom(version uint64) *bloom.Filter {
	items, layers := d.unsigned(math.MaxUint64), d.unsigned(math.MaxUint32)
	options, growth := uint64(0), uint64(oldGrowth)
	if version >= 2 {
		options = d.unsigned(math.MaxUint32)
	}
	if version >= 4 {
		growth = d.unsigned(math.MaxUint32)
	}
	head := binary.LittleEndian.AppendUint64(nil, items)
	for _, v := range [...]uint64{layers, options, growth} {
		head = binary.LittleEndian.AppendUint32(head, uint32(v))
	}
	longest := d.max
	defer func() { d.max = longest }()
	var layerTexts []text
	total := uint64(0)
	for ; layers > 0 && d.err == nil; layers-- {
		var t text
		head, t = d.bloomLayer(head, total, version)
		layerTexts, total = append(layerTexts, t), total+t.size
	}
	f := bloom.New()
	if d.tag(moduleEnd); d.err != nil {
		return f
	}
	err := error(nil)
	if version == 0 {
		err = f.LoadOld(head, d.options.MaxBloom)
	} else {
		err = f.LoadHeader(nil, head, d.options.MaxBloom)
	}
	if err != nil {
		d.fail("%v", err)
		return f
	}
	b := bitLoader{f: f, at: 1}
	for _, t := range layerTexts {
		if err := b.layer(t); err != nil {
			d.fail("bits of a Bloom filter: %v", err)
			break
		}
	}
	return f
}

// bloomLayer reads a layer, appends what a header has of it, and returns its
// bits, which are within the bound together with the total of other layers.
func (d *decoder) bloomLayer(head []byte, total, version uint64) (_ []byte, bits text) {
	var l [layerLen]byte
	u64 := func(off int, v uint64) { binary.LittleEndian.PutUint64(l[off:], v) }
	entries := d.unsigned(math.MaxUint64)
	u64(layerEntries, entries)
	u64(layerError, d.double())
	binary.LittleEndian.PutUint32(l[layerHashes:], uint32(d.unsigned(math.MaxUint32)))
	perEntry := d.double()
	u64(layerPerEntry, perEntry)
	if version == 0 {
		u64(layerBits, oldBits(entries, math.Float64frombits(perEntry)))
	} else {
		u64(layerBits, d.unsigned(math.MaxUint64))
		l[layerN2] = byte(d.unsigned(math.MaxUint8))
	}
	d.tag(moduleString)
	var room []byte
	d.max = d.options.MaxBloom - total
	bits = d.text(&room)
	if bits.lzf && d.err == nil {
		d.err = checkLZF(bits.b, bits.size)
	}
	u64(layerBytes, bits.size)
	u64(layerItems, d.unsigned(math.MaxUint64))
	return append(head, l[:]...), bits
}

// oldGrowth is the growth of filters in encodings that do not have it.
const oldGrowth = 2

// oldBits is the number of bits of a layer in an encoding that does not have it, 0 if there is none.
func oldBits(entries uint64, perEntry float64) uint64 {
	if bits := float64(entries) * perEntry; bits >= 1 && bits < 1<<63 {
		return uint64(bits)
	}
	return 0
}

// bitLoader sets the bits of a filter part by part. Parts of zeros are left out,
// and LZF is expanded only up to what one needs: a large filter with few items takes
// as little memory as before it was dumped.
type bitLoader struct {
	f    *bloom.Filter
	at   int64 // where the next part begins, as an iterator of the filter's dump
	sent int   // bytes of the buffer that are set already
}

// bitPart is the size of a part: one page of the filter.
const bitPart = 16 << 10

// layer sets the bits of the next layer.
func (b *bitLoader) layer(t text) error {
	b.sent = 0
	rest := t.b
	if t.lzf {
		var err error
		if rest, err = inflate(nil, t.b, int(t.size), b.drain); err != nil {
			return err
		}
	}
	for b.sent < len(rest) {
		if err := b.part(rest); err != nil {
			return err
		}
	}
	return nil
}

// drain sets the bits of every whole part of buf, once there are several, and
// drops what LZF does not reach back to.
func (b *bitLoader) drain(buf []byte) ([]byte, error) {
	if len(buf) < 4*bitPart {
		return buf, nil
	}
	for len(buf)-b.sent >= bitPart {
		if err := b.part(buf); err != nil {
			return buf, err
		}
	}
	cut := max(min(b.sent, len(buf)-lzfWindow), 0)
	b.sent -= cut
	return buf[:copy(buf, buf[cut:])], nil
}

// part sets the bits of the next part of buf.
func (b *bitLoader) part(buf []byte) error {
	bits := buf[b.sent:min(b.sent+bitPart, len(buf))]
	b.sent += len(bits)
	b.at += int64(len(bits))
	if allZero(bits) {
		return nil
	}
	return b.f.LoadChunk(nil, b.at, bits)
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
