package journal

import (
	"slices"

	"github.com/vigildb/vigil/persistence/tail"
	"github.com/vigildb/vigil/structures/text"
)

const (
	// HeaderBytes are free at the front of a chunk, for its header.
	HeaderBytes = 23

	// chunkBytes is the size at which a chunk is handed on: Pebble's cost per key
	// is spread over some hundred records, and a group commit is still small.
	chunkBytes = 64 << 10
)

// Chunk is a sequence of records, each after its length as a uvarint. A big record
// is a chunk of its own, with bytes that are elsewhere.
type Chunk struct {
	Index uint64 // number of the chunk
	First uint64 // number of the first record
	Last  uint64
	Flags byte

	buf   []byte     // room for the header, records
	parts [][]byte   // what follows buf, of a big record
	loan  *text.Loan // under which parts are read, nil if there is none
	room  *tail.Room // where a copy of the records is, nil if there is none
}

// Position is the end of a chunk of the journal.
type Position struct {
	LSN   uint64 // its last record
	Index uint64 // its number
}

// Reference is bytes of a record that stand elsewhere.
type Reference struct {
	At    int // before which byte of the record they belong
	Bytes []byte
}

// Size returns the length of the chunk in bytes, header included.
func (c *Chunk) Size() int {
	n := len(c.buf)
	for _, p := range c.parts {
		n += len(p)
	}
	return n
}

// Big reports that the chunk holds one big record, so that Bytes has not all of it.
func (c *Chunk) Big() bool { return c.parts != nil }

// Bytes returns a chunk that is not big, its header first. The caller may fill in
// the header.
func (c *Chunk) Bytes() []byte { return c.buf }

// Head returns the room for the header of a chunk.
func (c *Chunk) Head() []byte { return c.buf[:HeaderBytes] }

// Parts returns the bytes after the header, one part after the other.
func (c *Chunk) Parts() [][]byte { return append([][]byte{c.buf[HeaderBytes:]}, c.parts...) }

// Records returns the bytes after the header, copied if the chunk is big.
func (c *Chunk) Records() []byte {
	if c.parts == nil {
		return c.buf[HeaderBytes:]
	}
	return slices.Concat(c.Parts()...)
}

// Kept returns a chunk whose records, up to last, a tail has kept. The records of a big one are not copied.
func Kept(k tail.Chunk, last uint64, big bool) Chunk {
	c := Chunk{Index: k.Index, First: k.First, Last: last, Flags: k.Flags, buf: make([]byte, HeaderBytes)}
	if big {
		c.parts = [][]byte{k.Records}
	} else {
		c.buf = append(c.buf, k.Records...)
	}
	return c
}
