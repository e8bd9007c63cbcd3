package chunklog

import (
	"bytes"
	"fmt"
	"io"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/log"
)

// Reader reads chunks in order. It is for one goroutine.
type Reader struct {
	r     *log.Reader
	from  uint64 // chunks before are passed over
	frame log.Frame
	chunk format.Chunk
	read  bool // chunk is that of the frame
}

// Read returns a reader of the chunks from one on that has a number. It is before the first one.
func (l *Log) Read(from uint64) *Reader {
	return &Reader{r: l.NewReader(log.Position{}), from: from}
}

// Next goes to the next chunk, and reports whether there is one. For the error see [log.Reader.Next].
func (r *Reader) Next() (bool, error) {
	for {
		f, err := r.r.Next()
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		r.frame, r.read = f, false
		index, err := r.index()
		if err != nil {
			return false, fmt.Errorf("frame at %v: %w", f.Position, err)
		}
		if index >= r.from {
			return true, nil
		}
	}
}

// index returns the number of the chunk at hand, which may be long, and is not read for that.
func (r *Reader) index() (uint64, error) {
	f := &r.frame
	if f.Kind != chunk {
		return 0, fmt.Errorf("frame of kind %d: %w", f.Kind, format.ErrVersion)
	}
	head := f.Payload
	if f.Body != nil {
		head = make([]byte, format.EntryHeader)
		if _, err := io.ReadFull(f.Body, head); err != nil {
			return 0, err
		}
		f.Body = io.MultiReader(bytes.NewReader(head), f.Body)
	}
	c, err := format.OpenEntry(head)
	return c.Index, err
}

// Size returns the length of the chunk at hand in bytes.
func (r *Reader) Size() int { return int(r.frame.Len) }

// Chunk returns the chunk at hand, whose bytes are valid until Next is called, unless they are its own.
func (r *Reader) Chunk() (c format.Chunk, err error) {
	if r.read {
		return r.chunk, nil
	}
	f := &r.frame
	b, err := f.Bytes()
	if err == nil {
		c, err = format.OpenEntry(b)
	}
	if err != nil {
		return c, fmt.Errorf("frame at %v: %w", f.Position, err)
	}
	c.Own, c.Segment = f.Body != nil, f.Position.Segment
	r.chunk, r.read = c, true
	return c, nil
}

// Close ends the reading.
func (r *Reader) Close() error { return r.r.Close() }
