package format

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/vigildb/vigil/persistence/journal"
)

// shelf is keys and values in order, and an iterator at one of them.
type shelf struct {
	keys, values [][]byte
	at           int
}

func (s *shelf) put(key, value []byte) {
	s.keys, s.values = append(s.keys, key), append(s.values, value)
}

func (s *shelf) Key() []byte   { return s.keys[s.at] }
func (s *shelf) Value() []byte { return s.values[s.at] }
func (s *shelf) Error() error  { return nil }

func (s *shelf) Next() bool {
	s.at++
	return s.at < len(s.keys)
}

func (s *shelf) SeekGE(key []byte) bool {
	s.at, _ = slices.BinarySearchFunc(s.keys, key, bytes.Compare)
	return s.at < len(s.keys)
}

// pieced is a chunk of one record of size bytes, in pieces, and the chunk after it.
func pieced(size int) (s *shelf, whole []byte) {
	s = new(shelf)
	whole = make([]byte, ChunkHeader, ChunkHeader+size)
	for i := range size {
		whole = append(whole, byte(i*7))
	}
	s.put(AppendJournalKey(nil, 1), AppendPieced(nil, 1, ChunkApart, size))
	for id, part := range slices.Collect(slices.Chunk(whole[ChunkHeader:], PieceBytes)) {
		piece := append(make([]byte, PieceCRC), part...)
		SealPiece(piece)
		s.put(AppendPieceKey(nil, 1, uint32(id)), piece)
	}
	SealChunk(whole, 1, ChunkApart)
	next := make([]byte, ChunkHeader)
	SealChunk(next, 2, 0)
	s.put(AppendJournalKey(nil, 2), next)
	return s, whole
}

// A chunk in pieces is read as if it had been written at once, and the iterator stays at it.
func TestChunkIsPutTogetherOfItsPieces(t *testing.T) {
	s, whole := pieced(2*PieceBytes + 5)
	if got := SizeInPieces(s.Value()); got != 2*PieceBytes+5 {
		t.Errorf("SizeInPieces: got %d", got)
	}
	c, ok, err := ReadChunk(s)
	if err != nil || !ok || !c.Own || !bytes.Equal(c.Bytes, whole) || s.at != 0 {
		t.Fatalf("ReadChunk: %v, %v, own %v, %d bytes, at %d; want %d bytes", ok, err, c.Own, len(c.Bytes), s.at, len(whole))
	}
	last := journal.Position{}
	for chunks := 0; ; {
		c, ok, err := ReadChunk(s)
		if err == nil && ok {
			if _, err = c.Open(); err == nil {
				err = c.Follows(last)
			}
			last = journal.Position{LSN: c.First, Index: c.Index}
			chunks++
		}
		if err != nil {
			t.Fatal(err)
		}
		if !s.Next() {
			if chunks != 2 {
				t.Errorf("got %d chunks, want 2", chunks)
			}
			return
		}
	}
}

// A piece that is missing, or is not as it was written, is an error.
func TestDamagedPiecesAreErrors(t *testing.T) {
	for name, damage := range map[string]func(s *shelf){
		"missing": func(s *shelf) { s.keys, s.values = slices.Delete(s.keys, 2, 3), slices.Delete(s.values, 2, 3) },
		"changed": func(s *shelf) { s.values[2][PieceCRC] ^= 1 },
		"empty":   func(s *shelf) { s.values[2] = s.values[2][:PieceCRC] },
		"long":    func(s *shelf) { s.values[0] = AppendPieced(nil, 1, 0, 2*PieceBytes-1) },
		"endless": func(s *shelf) { s.values[0] = AppendPieced(nil, 1, 0, maxAssembled+1) },
	} {
		s, _ := pieced(2*PieceBytes + 5)
		damage(s)
		if _, _, err := ReadChunk(s); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v, want ErrCorrupt", name, err)
		}
	}
}
