package structures

import "encoding/binary"

// The hashes of Austin Appleby (public domain), which Redis and RedisBloom use
// for registers and bit positions. The stored formats depend on every bit of
// them, so they are written here rather than taken from a library that may
// read words in machine order.

const (
	murmurMul64 = 0xc6a4a7935bd1e995
	murmurMul32 = 0x5bd1e995
)

// Murmur64A is MurmurHash64A, words read little endian on every machine.
func Murmur64A(b []byte, seed uint64) uint64 {
	h := seed ^ uint64(len(b))*murmurMul64
	for ; len(b) >= 8; b = b[8:] {
		k := binary.LittleEndian.Uint64(b) * murmurMul64
		k = (k ^ k>>47) * murmurMul64
		h = (h ^ k) * murmurMul64
	}
	if len(b) > 0 {
		var tail uint64
		for i, x := range b {
			tail |= uint64(x) << (8 * i)
		}
		h = (h ^ tail) * murmurMul64
	}
	h = (h ^ h>>47) * murmurMul64
	return h ^ h>>47
}

// Murmur32 is MurmurHash2 of 32 bits, words read little endian.
func Murmur32(b []byte, seed uint32) uint32 {
	h := seed ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * murmurMul32
		k = (k ^ k>>24) * murmurMul32
		h = h*murmurMul32 ^ k
	}
	if len(b) > 0 {
		var tail uint32
		for i, x := range b {
			tail |= uint32(x) << (8 * i)
		}
		h = (h ^ tail) * murmurMul32
	}
	h = (h ^ h>>13) * murmurMul32
	return h ^ h>>15
}
