package format

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A chunk of a big record is written in pieces, since Pebble makes several copies of
// each value. Its key holds a chunk with flag ChunkPieces, whose bytes behind the header
// are the length (8) of what would stand there. The pieces lie under the keys that
// follow:
//
//	'j' | group (2) | number of the chunk (8) | number of the piece, from 0 (4)    crc32c of the bytes (4) | bytes
//
// They are written before the chunk, so that one that is there is whole. Pieces of a
// chunk that is not there, or is no longer a big one, are left of a crash and are
// passed over.
const (
	PieceBytes    = 1 << 20
	PieceKeyFixed = JournalKeyFixed + 4
	PieceCRC      = 4 // bytes of the checksum
	// maxAssembled bounds what a damaged length can make us allocate.
	maxAssembled = 1 << 33
)

// AppendPieceKey appends the key of a piece of a chunk.
func AppendPieceKey(dst []byte, index uint64, id uint32) []byte {
	return binary.BigEndian.AppendUint32(AppendJournalKey(dst, index), id)
}

// SealPiece fills in the checksum before the bytes of a piece.
func SealPiece(b []byte) { binary.LittleEndian.PutUint32(b, Checksum(0, b[PieceCRC:])) }

// AppendPieced appends the value of the key of a chunk whose records, size bytes, are in
// pieces.
func AppendPieced(dst []byte, first uint64, flags byte, size int) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, ChunkHeader)...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(size))
	SealChunk(dst[at:], first, flags|ChunkPieces)
	return dst
}

// Iterator is what reading chunks needs of one of Pebble's.
type Iterator interface {
	Key() []byte
	Value() []byte
	Next() bool
	SeekGE(key []byte) bool
	Error() error
}

// IsPiece reports whether a key of the journal belongs to a piece.
func IsPiece(key []byte) bool { return len(key) == PieceKeyFixed }

// inPieces reports whether the value of a chunk's key stands for pieces.
func inPieces(chunk []byte) bool {
	return len(chunk) >= ChunkHeader && chunk[chunkCRC+5]&ChunkPieces != 0
}

// SizeInPieces is the length of what the pieces of a chunk hold, 0 for one that is not in
// pieces, or is damaged.
func SizeInPieces(chunk []byte) int {
	if !inPieces(chunk) || len(chunk) != ChunkHeader+8 {
		return 0
	}
	return int(min(binary.LittleEndian.Uint64(chunk[ChunkHeader:]), maxAssembled))
}

// assemble makes the chunk that it stands on whole if it is in pieces. it stands
// where it did afterwards.
func assemble(it Iterator, index uint64) (chunk []byte, err error) {
	chunk = it.Value()
	if !inPieces(chunk) {
		return chunk, nil
	}
	first, flags, body, err := OpenChunk(chunk)
	if err != nil {
		return nil, err
	}
	if len(body) != 8 || binary.LittleEndian.Uint64(body) > maxAssembled {
		return nil, fmt.Errorf("length of a chunk in pieces: %w", ErrCorrupt)
	}
	size := int(binary.LittleEndian.Uint64(body))
	whole := make([]byte, ChunkHeader, ChunkHeader+min(size, 64*PieceBytes))
	for id := uint32(0); len(whole) < ChunkHeader+size; id++ {
		if !it.Next() || !IsPiece(it.Key()) ||
			string(it.Key()) != string(AppendPieceKey(nil, index, id)) {
			return nil, errors.Join(fmt.Errorf("piece %d of a chunk is missing: %w", id, ErrCorrupt), it.Error())
		}
		b := it.Value()
		if len(b) <= PieceCRC || binary.LittleEndian.Uint32(b) != Checksum(0, b[PieceCRC:]) {
			return nil, fmt.Errorf("checksum of piece %d of a chunk: %w", id, ErrCorrupt)
		}
		if need := len(whole) + len(b) - PieceCRC; need > cap(whole) {
			grown := make([]byte, len(whole), max(need, min(2*cap(whole), ChunkHeader+size)))
			copy(grown, whole)
			whole = grown
		}
		whole = append(whole, b[PieceCRC:]...)
	}
	if len(whole) > ChunkHeader+size {
		return nil, fmt.Errorf("pieces of a chunk are too long: %w", ErrCorrupt)
	}
	SealChunk(whole, first, flags&^ChunkPieces)
	it.SeekGE(AppendJournalKey(nil, index))
	return whole, it.Error()
}
