package format

import (
	"encoding/binary"
	"fmt"
)

// An entry is a chunk as the log of a store that is alone has it, in a frame which has a checksum:
//
//	number of the chunk (8) | first record (8) | flags (1) | { length (uvarint) | operations }...
const (
	entryFirst  = 8
	entryFlags  = 16
	EntryHeader = 17
)

// PutEntryHeader fills in the header of an entry.
func PutEntryHeader(b []byte, index, first uint64, flags byte) {
	binary.LittleEndian.PutUint64(b, index)
	binary.LittleEndian.PutUint64(b[entryFirst:], first)
	b[entryFlags] = flags
}

// OpenEntry returns the chunk that an entry is, whose bytes it keeps.
func OpenEntry(b []byte) (c Chunk, err error) {
	if len(b) < EntryHeader {
		return c, fmt.Errorf("entry of %d bytes: %w", len(b), ErrCorrupt)
	}
	if f := b[entryFlags]; f&^ChunkApart != 0 {
		return c, fmt.Errorf("entry with flags %d: %w", f, ErrVersion)
	}
	return Chunk{Bytes: b, Index: binary.LittleEndian.Uint64(b), First: binary.LittleEndian.Uint64(b[entryFirst:]), entry: true}, nil
}
