package persistence

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
)

// chunkSource reads the chunks of a journal in order.
type chunkSource interface {
	// Next goes to the next chunk, and reports whether there is one.
	Next() (bool, error)
	// Size returns how many bytes the chunk at hand takes, or 0 for one that is not long, without reading it.
	Size() int
	// Chunk returns the chunk at hand, whose bytes are valid until Next is called, unless they are its own.
	Chunk() (format.Chunk, error)
	Close() error
}

// chunksFrom returns the chunks from one on that has a number.
func (s *Store) chunksFrom(index uint64) (chunkSource, error) {
	if m := s.member; m != nil {
		entries, err := m.Log().Read(index, m.Applied()+1)
		return groupChunks{entries}, err
	}
	return s.chunks.Read(index), nil
}

// groupChunks are the entries of a group's log.
type groupChunks struct{ *grouplog.Reader }

// Chunk is part of chunkSource.
func (g groupChunks) Chunk() (format.Chunk, error) {
	b, err := g.Value()
	return format.Chunk{Bytes: b, Index: g.Index(), Own: g.Own()}, err
}

// pebbleChunks are chunks under their own keys: those of a store in format 2.
type pebbleChunks struct {
	it    *pebble.Iterator
	moved bool // Next was called
}

func (s *Store) pebbleChunksFrom(index uint64) (*pebbleChunks, error) {
	it, err := s.disk.DB.NewIter(&pebble.IterOptions{LowerBound: format.AppendJournalKey(nil, index), UpperBound: format.AppendGroupEnd(nil, format.PrefixJournal)})
	return &pebbleChunks{it: it}, err
}

// Next is part of chunkSource.
func (p *pebbleChunks) Next() (bool, error) {
	ok := false
	if p.moved {
		ok = p.it.Next()
	} else {
		ok, p.moved = p.it.First(), true
	}
	for ok && format.IsPiece(p.it.Key()) {
		ok = p.it.Next()
	}
	return ok, p.it.Error()
}

// Size is part of chunkSource.
func (p *pebbleChunks) Size() int { return format.SizeInPieces(p.it.Value()) }

// Chunk is part of chunkSource.
func (p *pebbleChunks) Chunk() (format.Chunk, error) {
	c, ok, err := format.ReadChunk(p.it)
	if err == nil && !ok {
		err = errors.New("a piece of a chunk is no chunk")
	}
	return c, err
}

// Close is part of chunkSource.
func (p *pebbleChunks) Close() error { return p.it.Close() }
