package persistence

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
)

// pieceBatch is how many pieces of a big record are written at once: less than Pebble
// would keep beside its memtables.
const pieceBatch = 4

// writePieces writes the pieces of a chunk and returns the value of its key. apply
// commits a batch.
func writePieces(c *journal.Chunk, db *pebble.DB, apply func(*pebble.Batch) error) (value []byte, err error) {
	size := c.Size() - format.ChunkHeader
	from := c.Parts()
	for id := 0; size > 0; {
		b := db.NewBatchWithSize(min(size, pieceBatch*format.PieceBytes) + pieceBatch*batchEntry)
		for range pieceBatch {
			n := min(size, format.PieceBytes)
			if n == 0 {
				break
			}
			d := b.SetDeferred(format.PieceKeyFixed, format.PieceCRC+n)
			format.AppendPieceKey(d.Key[:0], c.Index, uint32(id))
			from = fill(d.Value[format.PieceCRC:], from)
			format.SealPiece(d.Value)
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
	return format.AppendPieced(nil, c.First, c.Flags, c.Size()-format.ChunkHeader), nil
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
