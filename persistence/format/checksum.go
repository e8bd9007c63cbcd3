package format

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the crc32c of b behind bytes whose checksum is sum; 0 is that of none.
func Checksum(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }
