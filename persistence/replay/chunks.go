package replay

import (
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
func (p *Replayer) chunksFrom(index uint64) (chunkSource, error) {
	if m := p.Group; m != nil {
		entries, err := m.Log().Read(index, m.Applied()+1)
		return groupChunks{entries}, err
	}
	return p.Files.Log.Read(index), nil
}

// groupChunks are the entries of a group's log.
type groupChunks struct{ *grouplog.Reader }

// Chunk is part of chunkSource.
func (g groupChunks) Chunk() (format.Chunk, error) {
	b, err := g.Value()
	return format.Chunk{Bytes: b, Index: g.Index(), Own: g.Own()}, err
}
