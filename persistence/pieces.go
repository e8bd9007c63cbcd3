package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/journal"
)

// A chunk of a big record is written in pieces, since Pebble makes several copies of
// each value. Its key holds a chunk with flag chunkPieces, whose bytes behind the header
// are the length (8) of what would stand there. The pieces lie under the keys that
// follow:
//
//	'j' | group (2) | number of the chunk (8) | number of the piece, from 0 (4)    crc32c of the bytes (4) | bytes
//
// They are written before the chunk, so that one that is there is whole. Pieces of a
// chunk that is not there, or is no longer a big one, are left of a crash and are
// passed over.
const (
	pieceBytes    = 1 << 20
	pieceKeyFixed = journalKeyFixed + 4
	// pieceBatch is how many pieces are written at once: less than Pebble would
	// keep beside its memtables.
	pieceBatch = 4
	// maxAssembled bounds what a damaged length can make us allocate.
	maxAssembled = 1 << 33
)

// writePieces writes the pieces of a chunk and returns the value of its key. apply
// commits a batch.
func writePieces(c *journal.Chunk, db *pebble.DB, apply func(*pebble.Batch) error) (head []byte, err error) {
	size := c.Size() - chunkHeader
	from := c.Parts()
	for id := 0; size > 0; {
		b := db.NewBatchWithSize(min(size, pieceBatch*pieceBytes) + pieceBatch*batchEntry)
		for range pieceBatch {
			n := min(size, pieceBytes)
			if n == 0 {
				break
			}
			d := b.SetDeferred(pieceKeyFixed, 4+n)
			binary.BigEndian.AppendUint32(appendJournalKey(d.Key[:0], c.Index), uint32(id))
			from = fill(d.Value[4:], from)
			binary.LittleEndian.PutUint32(d.Value, crc32.Checksum(d.Value[4:], castagnoli))
			if err := d.Finish(); err != nil {
				return nil, errors.Join(err, b.Close())
			}
			size -= n
			id++
		}
		if err := apply(b); err != nil {
			return nil, err
		}
	}
	head = binary.LittleEndian.AppendUint64(make([]byte, chunkHeader, chunkHeader+8), uint64(c.Size()-chunkHeader))
	sealChunk(head, c.First, c.Flags|chunkPieces)
	return head, nil
}

// fill copies the first bytes of parts to dst and returns what is left of them.
func fill(dst []byte, parts [][]byte) (rest [][]byte) {
	for len(dst) > 0 {
		n := copy(dst, parts[0])
		dst = dst[n:]
		if parts[0] = parts[0][n:]; len(parts[0]) == 0 {
			parts = parts[1:]
		}
	}
	return parts
}

// isPiece reports whether a key of the journal belongs to a piece.
func isPiece(key []byte) bool { return len(key) == pieceKeyFixed }

// inPieces reports whether the value of a chunk's key stands for pieces.
func inPieces(chunk []byte) bool {
	return len(chunk) >= chunkHeader && chunk[chunkCRC+5]&chunkPieces != 0
}

// sizeInPieces is the length of what the pieces of a chunk hold, 0 for one that is not in
// pieces, or is damaged.
func sizeInPieces(chunk []byte) int {
	if !inPieces(chunk) || len(chunk) != chunkHeader+8 {
		return 0
	}
	return int(min(binary.LittleEndian.Uint64(chunk[chunkHeader:]), maxAssembled))
}

// assemble makes the chunk that it stands on whole if it is in pieces. it stands
// where it did afterwards.
func assemble(it *pebble.Iterator, index uint64) (chunk []byte, err error) {
	chunk = it.Value()
	if !inPieces(chunk) {
		return chunk, nil
	}
	first, flags, body, err := openChunk(chunk)
	if err != nil {
		return nil, err
	}
	if len(body) != 8 || binary.LittleEndian.Uint64(body) > maxAssembled {
		return nil, fmt.Errorf("length of a chunk in pieces: %w", ErrCorrupt)
	}
	size := int(binary.LittleEndian.Uint64(body))
	whole := make([]byte, chunkHeader, chunkHeader+min(size, 64*pieceBytes))
	for id := uint32(0); len(whole) < chunkHeader+size; id++ {
		if !it.Next() || !isPiece(it.Key()) ||
			string(it.Key()) != string(binary.BigEndian.AppendUint32(appendJournalKey(nil, index), id)) {
			return nil, errors.Join(fmt.Errorf("piece %d of a chunk is missing: %w", id, ErrCorrupt), it.Error())
		}
		b := it.Value()
		if len(b) < 5 || binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
			return nil, fmt.Errorf("checksum of piece %d of a chunk: %w", id, ErrCorrupt)
		}
		if need := len(whole) + len(b) - 4; need > cap(whole) {
			grown := make([]byte, len(whole), max(need, min(2*cap(whole), chunkHeader+size)))
			copy(grown, whole)
			whole = grown
		}
		whole = append(whole, b[4:]...)
	}
	if len(whole) > chunkHeader+size {
		return nil, fmt.Errorf("pieces of a chunk are too long: %w", ErrCorrupt)
	}
	sealChunk(whole, first, flags&^chunkPieces)
	it.SeekGE(appendJournalKey(nil, index))
	return whole, it.Error()
}
