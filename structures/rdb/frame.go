package rdb

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
)

// ErrFrame is returned for a payload that is too short or damaged: its checksum does
// not fit.
var ErrFrame = errors.New("rdb: wrong checksum")

const (
	// versionPlain is the version of Redis 7.0, written for what it can read.
	versionPlain = 10
	// versionTimed is the version of Redis 7.4, the first with expiries of
	// fields.
	versionTimed = 12
	// versionNamed is the version of Redis 8.8, the first with names of entries of streams, and with pending
	// entries that nobody has.
	versionNamed = 14
	// versionValkey is the first version of Valkey's own, which shares the types
	// up to 21 with Redis and gives those above them another meaning.
	versionValkey = 80

	footerLen = 2 + 8
)

// jones is the polynomial 0xad93d23594c935a9 with its bits in reverse.
var jones = crc64.MakeTable(0x95ac9329ac4bc9b5)

// checksum is the CRC-64 of Redis. Package crc64 inverts before and after,
// which Redis does not.
func checksum(b []byte) uint64 { return ^crc64.Update(^uint64(0), jones, b) }

// seal appends the footer of the payload that begins at offset from of dst.
func seal(dst []byte, from int, version uint16) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, version)
	return binary.LittleEndian.AppendUint64(dst, checksum(dst[from:]))
}

// open checks the footer of a payload, and returns what is before it and the version.
// Every version is good: a new one of Redis or Valkey changes types or adds some, and
// the others stay as they were. A checksum of 0 says that there is none, as in RDB
// files.
func open(payload []byte) (body []byte, version uint16, err error) {
	end := len(payload) - footerLen
	if end < 0 {
		return nil, 0, ErrFrame
	}
	if sum := binary.LittleEndian.Uint64(payload[end+2:]); sum != 0 && sum != checksum(payload[:end+2]) {
		return nil, 0, ErrFrame
	}
	return payload[:end], binary.LittleEndian.Uint16(payload[end:]), nil
}
