package commands

import (
	"bytes"

	"github.com/vigildb/vigil/structures/slots"
)

// Slots is the number of slots into which Redis Cluster divides keys.
const Slots = slots.Count

// NoSlot is the slot of a call without keys.
const NoSlot = -1

// KeySlot returns the slot of a key, from 0 to Slots-1: CRC-16/XMODEM of its hash tag,
// which is what stands between the first brace and the next closing one, or of the whole
// key if there is nothing.
func KeySlot(key []byte) int {
	from, to := hashTag(key)
	return int(crc16(key[from:to])) % Slots
}

// PatternSlot returns the slot of all keys that a pattern can match, NoSlot if they can be in
// several: what stands before the tag could be matched by another brace.
func PatternSlot(pattern []byte) int {
	if _, to := hashTag(pattern); bytes.ContainsAny(pattern[:to], `*?[\`) {
		return NoSlot
	}
	return KeySlot(pattern)
}

// hashTag returns the bounds of the hash tag, of all the key if there is none.
func hashTag(key []byte) (from, to int) {
	if open := bytes.IndexByte(key, '{'); open >= 0 {
		if size := bytes.IndexByte(key[open+1:], '}'); size > 0 {
			return open + 1, open + 1 + size
		}
	}
	return 0, len(key)
}

// crcTable is that of the polynomial 0x1021, highest bit first.
var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()

func crc16(b []byte) (crc uint16) {
	for _, c := range b {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^c]
	}
	return crc
}
