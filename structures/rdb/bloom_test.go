package rdb

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/vigildb/vigil/structures/bloom"
)

// Filters of early encodings are found with the hashes that they were filled with.
func TestEarlyEncodingsOfBloomFiltersAreRead(t *testing.T) {
	for version := uint64(0); version < 4; version++ {
		options := uint64(0) // hashes of 32 bits
		if version >= 2 {
			options = 4 | 1
		}
		made := bloom.New()
		const layer = 53
		head := make([]byte, 20+layer)
		_, whole := reservedBloom(t).DumpChunk(nil, 0)
		copy(head, whole)
		binary.LittleEndian.PutUint32(head[12:], uint32(options))
		if err := made.LoadHeader(nil, head, 1<<20); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if _, err := made.Add(nil, fmt.Append(nil, i), 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		_, head = made.DumpChunk(nil, 0)
		l := head[20:]
		_, bits := made.DumpChunk(nil, 1)
		b := appendLength([]byte{typeModule}, bloomName<<10|version)
		b = appendUnsigned(appendUnsigned(b, 5), 1)
		if version >= 2 {
			b = appendUnsigned(b, options)
		}
		entries, perEntry := binary.LittleEndian.Uint64(l[44:]), math.Float64frombits(binary.LittleEndian.Uint64(l[32:]))
		if version == 0 { // bits = entries * bits per entry: a number that makes it the modulus
			perEntry = float64(binary.LittleEndian.Uint64(l[8:])) / float64(entries)
		}
		b = appendFloat(appendUnsigned(b, entries), math.Float64frombits(binary.LittleEndian.Uint64(l[24:])))
		hashes := uint64(math.Ceil(0.693147180559945 * perEntry))
		b = appendFloat(appendUnsigned(b, hashes), perEntry)
		if version > 0 {
			b = appendUnsigned(appendUnsigned(b, binary.LittleEndian.Uint64(l[8:])), 0)
		}
		b = append(appendLength(append(b, moduleString), uint64(len(bits))), bits...)
		b = append(appendUnsigned(b, 5), moduleEnd)
		v, err := Decode(seal(b, 0, versionPlain), roomy)
		if err != nil {
			t.Errorf("version %d: %v", version, err)
			continue
		}
		for i := range 5 {
			if f := v.Value.(*bloom.Filter); version > 0 && !f.Exists(fmt.Append(nil, i)) || f.Card() != 5 {
				t.Errorf("version %d: item %d of %d is missing", version, i, f.Card())
			}
		}
	}
}

func reservedBloom(t *testing.T) *bloom.Filter {
	t.Helper()
	f := bloom.New()
	if err := f.Reserve(nil, bloom.Shape{Error: .01, Capacity: 100, Expansion: 2}, 1<<20); err != nil {
		t.Fatal(err)
	}
	return f
}
