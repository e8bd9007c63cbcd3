package persistence

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/structures"
)

// windowBytes is how much of the journal is replayed at a time, so much that each
// shard has some hundred keys in it.
// Under a small bound on memory it is less, see room.
const windowBytes = 16 << 20

// leastWindow is what a window has room for at first. Most journals are short: a start
// that cleared a whole window for each took longer for that than for all else.
const leastWindow = 256 << 10

// window is a stretch of the journal: some chunks, or one with operations that are about
// no key.
type window struct {
	buf    []byte // has the newest chunks; older ones may be in buffers before it
	bytes  int    // of all chunks
	own    int    // of these, of chunks that are not in buf or one before it
	most   int    // bytes, unless one chunk is longer
	chunks []windowChunk
	apart  bool
}

// windowChunk is a chunk in a window.
type windowChunk struct {
	bytes []byte // aliases the window
	index uint64 // its number
	first uint64 // record, as it says itself
	last  uint64 // record, once it was read
	own   bool   // bytes are the chunk's alone: it was put together of pieces
}

// section is what a record did to one key. The slices alias the window.
type section struct {
	hash uint64
	lsn  uint64
	key  []byte
	ops  []byte
	phys uint32
	sole bool // ops is nearly all of a chunk that is not in a buffer of the window
}

// readWindows fills windows from the iterator, in order, until the iterator or
// ctx ends.
func readWindows(ctx context.Context, it *pebble.Iterator, free <-chan *window, full chan<- *window) error {
	more := it.First()
	for more {
		w := <-free
		var err error
		if more, err = w.fill(it); err != nil {
			return err
		}
		select {
		case full <- w:
		case <-ctx.Done():
			return ctx.Err()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return it.Error()
}

// fill reads chunks from it on and reports whether there are more. A chunk with
// operations that are about no key is alone.
func (w *window) fill(it *pebble.Iterator) (more bool, err error) {
	switch {
	case cap(w.buf) > 2*w.most:
		w.buf = nil // it was for a big record
	case w.bytes-w.own > cap(w.buf):
		w.buf = make([]byte, 0, w.most) // the journal is long
	}
	clear(w.chunks) // which keep buffers
	w.chunks, w.apart, w.buf, w.bytes, w.own = w.chunks[:0], false, w.buf[:0], 0, 0
	for more = true; more; more = it.Next() {
		size := sizeInPieces(it.Value())
		if len(w.chunks) > 0 && w.bytes+size > w.most {
			return true, nil // before it is put together
		}
		if size > w.most && w.most < windowBytes {
			// The collector may allow for more garbage, but not for one more value of so
			// many megabytes: the one before it has to go first.
			runtime.GC()
		}
		c, ok, err := chunkAt(it)
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		v := c.bytes
		apart := chunkIsApart(v)
		if len(w.chunks) > 0 && (w.apart || apart || w.bytes+len(v) > w.most) {
			return true, nil
		}
		w.keep(&c)
		w.apart = apart
		w.chunks = append(w.chunks, c)
	}
	return false, it.Error()
}

// keep makes the bytes of a chunk the window's.
func (w *window) keep(c *windowChunk) {
	w.bytes += len(c.bytes)
	if c.own {
		w.own += len(c.bytes)
		return
	}
	if len(w.buf)+len(c.bytes) > cap(w.buf) { // chunks keep the buffer that they are in
		w.buf = make([]byte, 0, max(leastWindow, min(2*cap(w.buf), w.most-w.bytes), len(c.bytes)))
	}
	at := len(w.buf)
	w.buf = append(w.buf, c.bytes...)
	c.bytes = w.buf[at:]
}

// chunkAt is the chunk at the iterator, whose bytes are valid until it moves, unless they
// are its own. ok
// is false if the iterator is at a piece of an earlier chunk.
func chunkAt(it *pebble.Iterator) (c windowChunk, ok bool, err error) {
	k := it.Key()
	if isPiece(k) {
		return c, false, nil
	}
	if len(k) != journalKeyFixed {
		return c, false, fmt.Errorf("chunk key of %d bytes: %w", len(k), ErrCorrupt)
	}
	c.index = binary.BigEndian.Uint64(k[groupKeyFixed:])
	c.own = inPieces(it.Value())
	if c.bytes, err = assemble(it, c.index); err != nil {
		return c, false, fmt.Errorf("chunk %d of the journal: %w", c.index, err)
	}
	return c, true, nil
}

// follows returns an error if the chunk is not the one after last.
func (c *windowChunk) follows(last journal.Position) error {
	if c.index != last.Index+1 {
		return fmt.Errorf("chunk %d of the journal is missing, the next is %d: %w", last.Index+1, c.index, ErrCorrupt)
	}
	if c.first != last.LSN+1 {
		return fmt.Errorf("chunk %d of the journal begins with record %d, want %d: %w",
			c.index, c.first, last.LSN+1, ErrCorrupt)
	}
	return nil
}

// open checks a chunk and returns its records.
func (c *windowChunk) open() (records []byte, err error) {
	if c.first, _, records, err = openChunk(c.bytes); err != nil {
		return nil, fmt.Errorf("chunk %d of the journal: %w", c.index, err)
	}
	return records, nil
}

// sort adds the sections of a chunk to those of their shards.
func (w *replayer) sort(c *windowChunk) error {
	records, err := c.open()
	if err != nil {
		return err
	}
	if w.sole = math.MaxInt; c.own {
		w.sole = len(c.bytes) - len(c.bytes)/8
	}
	lsn := c.first
	for ; len(records) > 0; lsn++ {
		var rec []byte
		if rec, records, err = nextRecord(records); err != nil {
			return fmt.Errorf("record %d: %w", lsn, err)
		}
		if rest, err := w.record(rec, lsn); err != nil {
			return err
		} else if len(rest) > 0 {
			return fmt.Errorf("record %d has an operation about no key, which chunk %d does not tell: %w", lsn, c.index, ErrCorrupt)
		}
	}
	c.last = lsn - 1
	return nil
}

// record adds the sections of a record to those of their shards. rest begins with
// the first operation that is about no key.
func (w *replayer) record(rec []byte, lsn uint64) (rest []byte, err error) {
	s := w.replay.s
	sec := section{lsn: lsn}
	for begin := rec; ; {
		var op byte
		rest = rec
		if len(rec) > 0 {
			if op, w.args, rec, err = structures.NextOp(rec); err != nil {
				return nil, fmt.Errorf("record %d: %w", lsn, err)
			}
		}
		if len(rest) > 0 && op != opKey && !apart(op) {
			continue
		}
		if sec.key != nil {
			sh := shardOf(sec.hash)
			if lsn > s.marks[sh] {
				sec.ops = begin[:len(begin)-len(rest)]
				sec.sole = len(sec.ops) >= w.sole
				w.sorted[sh] = append(w.sorted[sh], sec)
			}
		}
		if len(rest) == 0 || apart(op) {
			return rest, nil
		}
		sec.phys, sec.key = uint32(w.args.Uint()), w.args.Bytes()
		if err := w.args.Done(); err != nil {
			return nil, fmt.Errorf("record %d: %w", lsn, err)
		}
		sec.hash, begin = s.Hash(sec.key), rec
	}
}
