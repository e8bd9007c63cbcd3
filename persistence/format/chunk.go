package format

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/persistence/journal"
)

// A chunk is a value in Pebble under its number, or an entry of a log, see entry.go. Chunks are numbered from 1
// without gaps, and so are records: a chunk has the number of its first.
//
//	term (8) | type (1) | first record (8) | crc32c (4) | format, 1 (1) | flags (1) | { length (uvarint) | operations }...
//
// The checksum covers everything else. The term is 0 as long as there is one
// machine, and the type 1; others are kept for what a group of machines has to
// agree on besides records.
const (
	chunkCRC     = 17                  // where the checksum lies
	ChunkHeader  = journal.HeaderBytes // 23
	chunkFormat  = 1
	ChunkRecords = 1 // type
	ChunkApart   = 1 // flag: a record has an operation that is about no key
	ChunkPieces  = 2 // flag: the records are in pieces, see pieces.go
)

// SealChunk fills in the header of a chunk whose records are complete.
func SealChunk(b []byte, first uint64, flags byte) {
	clear(b[:8])
	b[8] = ChunkRecords
	binary.LittleEndian.PutUint64(b[9:], first)
	b[chunkCRC+4], b[chunkCRC+5] = chunkFormat, flags
	binary.LittleEndian.PutUint32(b[chunkCRC:], chunkChecksum(b))
}

func chunkChecksum(b []byte) uint32 {
	return Checksum(Checksum(0, b[:chunkCRC]), b[chunkCRC+4:])
}

// OpenChunk checks a chunk and returns its records.
func OpenChunk(b []byte) (first uint64, flags byte, records []byte, err error) {
	if len(b) < ChunkHeader {
		return 0, 0, nil, fmt.Errorf("chunk of %d bytes: %w", len(b), ErrCorrupt)
	}
	if binary.LittleEndian.Uint32(b[chunkCRC:]) != chunkChecksum(b) {
		return 0, 0, nil, fmt.Errorf("checksum of chunk: %w", ErrCorrupt)
	}
	if f := b[chunkCRC+4]; f != chunkFormat {
		return 0, 0, nil, fmt.Errorf("chunk of format %d: %w", f, ErrVersion)
	}
	if b[8] != ChunkRecords && binary.LittleEndian.Uint64(b) != 0 {
		return binary.LittleEndian.Uint64(b[9:]), 0, nil, nil // an entry of a group without records
	}
	if b[8] != ChunkRecords {
		return 0, 0, nil, fmt.Errorf("chunk of type %d: %w", b[8], ErrVersion)
	}
	return binary.LittleEndian.Uint64(b[9:]), b[chunkCRC+5], b[ChunkHeader:], nil
}

// Apart reports that an operation is about no key. It is replayed when everything
// before it is done.
func Apart(op byte) bool { return op >= OpMapping && op <= OpMove }

// Apart reports that a chunk says that it has such operations. It may be damaged.
func (c *Chunk) Apart() bool {
	if c.entry {
		return c.Bytes[entryFlags]&ChunkApart != 0
	}
	return len(c.Bytes) >= ChunkHeader && c.Bytes[chunkCRC+5]&ChunkApart != 0
}

// NextRecord splits the first record off the records of a chunk.
func NextRecord(b []byte) (record, rest []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, fmt.Errorf("length of record: %w", ErrCorrupt)
	}
	end := n + int(size)
	return b[n:end], b[end:], nil
}

// Chunk is a chunk of the journal as it is read.
type Chunk struct {
	Bytes   []byte // as they were stored, or an entry
	Index   uint64 // its number
	First   uint64 // record, as it says itself, once it was opened
	Segment uint64 // of the log that it was read from, 0 if that was Pebble
	Own     bool   // bytes are the chunk's alone: it was put together of pieces

	entry bool
}

// ReadChunk returns the chunk at the iterator, whose bytes are valid until it moves,
// unless they are its own. ok is false if the iterator is at a piece of an earlier chunk.
func ReadChunk(it Iterator) (c Chunk, ok bool, err error) {
	k := it.Key()
	if IsPiece(k) {
		return c, false, nil
	}
	if len(k) != JournalKeyFixed {
		return c, false, fmt.Errorf("chunk key of %d bytes: %w", len(k), ErrCorrupt)
	}
	c.Index = binary.BigEndian.Uint64(k[groupKeyFixed:])
	c.Own = inPieces(it.Value())
	if c.Bytes, err = assemble(it, c.Index); err != nil {
		return c, false, fmt.Errorf("chunk %d of the journal: %w", c.Index, err)
	}
	return c, true, nil
}

// LastRecord returns the number of the last of some records, given that of the first.
func LastRecord(first uint64, records []byte) (last uint64, err error) {
	for last = first - 1; len(records) > 0 && err == nil; last++ {
		_, records, err = NextRecord(records)
	}
	return last, err
}

// Follows returns an error if the chunk is not the one after last.
func (c *Chunk) Follows(last journal.Position) error {
	if c.Index != last.Index+1 {
		return fmt.Errorf("chunk %d of the journal is missing, the next is %d: %w", last.Index+1, c.Index, ErrCorrupt)
	}
	if c.First != last.LSN+1 {
		return fmt.Errorf("chunk %d of the journal begins with record %d, want %d: %w",
			c.Index, c.First, last.LSN+1, ErrCorrupt)
	}
	return nil
}

// Open checks a chunk and returns its records.
func (c *Chunk) Open() (records []byte, err error) {
	if c.entry {
		return c.Bytes[EntryHeader:], nil
	}
	if c.First, _, records, err = OpenChunk(c.Bytes); err != nil {
		return nil, fmt.Errorf("chunk %d of the journal: %w", c.Index, err)
	}
	return records, nil
}
