package replay

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/vigildb/vigil/persistence/format"
)

// windowBytes is how much of the journal is replayed at a time, so much that each
// shard has some hundred keys in it.
// Under a small bound on memory it is less, see Allowance.
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

// windowChunk is a chunk in a window, which its bytes alias unless they are its own.
type windowChunk struct {
	format.Chunk
	last uint64 // record, once it was read
}

// section is what a record did to one key.
type section struct {
	hash uint64
	lsn  uint64
	b    []byte // the key, and operations behind it; in the window
	size uint32 // of the key
	phys uint32
	sole bool // the operations are nearly all of a chunk that is not in a buffer of the window
}

func (s *section) key() []byte { return s.b[:s.size:s.size] }
func (s *section) ops() []byte { return s.b[s.size:] }

// readWindows fills windows from the chunks, in order, until there are no more or
// ctx ends.
func readWindows(ctx context.Context, chunks chunkSource, free <-chan *window, full chan<- *window) error {
	more, err := chunks.Next()
	for more && err == nil {
		w := <-free
		if more, err = w.fill(chunks); err != nil {
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
	return err
}

// fill reads chunks from the one at hand on, and reports whether there are more. A chunk with
// operations that are about no key is alone.
func (w *window) fill(chunks chunkSource) (more bool, err error) {
	switch {
	case cap(w.buf) > 2*w.most:
		w.buf = nil // it was for a big record
	case w.bytes-w.own > cap(w.buf):
		w.buf = make([]byte, 0, w.most) // the journal is long
	}
	clear(w.chunks) // which keep buffers
	w.chunks, w.apart, w.buf, w.bytes, w.own = w.chunks[:0], false, w.buf[:0], 0, 0
	for more = true; more && err == nil; more, err = chunks.Next() {
		size := chunks.Size()
		if len(w.chunks) > 0 && w.bytes+size > w.most {
			return true, nil // before it is put together
		}
		if size > w.most && w.most < windowBytes {
			// The collector may allow for more garbage, but not for one more value of so
			// many megabytes: the one before it has to go first.
			runtime.GC()
		}
		read, err := chunks.Chunk()
		if err != nil {
			return false, err
		}
		c := windowChunk{Chunk: read}
		apart := c.Apart()
		if len(w.chunks) > 0 && (w.apart || apart || w.bytes+len(c.Bytes) > w.most) {
			return true, nil
		}
		w.keep(&c)
		w.apart = apart
		w.chunks = append(w.chunks, c)
	}
	return false, err
}

// keep makes the bytes of a chunk the window's.
func (w *window) keep(c *windowChunk) {
	w.bytes += len(c.Bytes)
	if c.Own {
		w.own += len(c.Bytes)
		return
	}
	if len(w.buf)+len(c.Bytes) > cap(w.buf) { // chunks keep the buffer that they are in
		w.buf = make([]byte, 0, max(leastWindow, min(2*cap(w.buf), w.most-w.bytes), len(c.Bytes)))
	}
	at := len(w.buf)
	w.buf = append(w.buf, c.Bytes...)
	c.Bytes = w.buf[at:]
}

// sort adds the sections of a chunk to those of their shards.
func (w *worker) sort(c *windowChunk) error {
	records, err := c.Open()
	if err != nil {
		return err
	}
	if w.sole = math.MaxInt; c.Own {
		w.sole = len(c.Bytes) - len(c.Bytes)/8
	}
	lsn := c.First
	for ; len(records) > 0; lsn++ {
		var rec []byte
		if rec, records, err = format.NextRecord(records); err != nil {
			return fmt.Errorf("record %d: %w", lsn, err)
		}
		if rest, err := w.record(rec, lsn); err != nil {
			return err
		} else if len(rest) > 0 {
			return fmt.Errorf("record %d has an operation about no key, which chunk %d does not tell: %w", lsn, c.Index, format.ErrCorrupt)
		}
	}
	c.last = lsn - 1
	return nil
}

// record adds the sections of a record to those of their shards. rest begins with
// the first operation that is about no key.
func (w *worker) record(rec []byte, lsn uint64) (rest []byte, err error) {
	r := w.replay
	sec := section{lsn: lsn}
	for begin, some := rec, false; ; {
		var op byte
		rest = rec
		if len(rec) > 0 {
			if op, rec, err = w.args.Next(rec); err != nil {
				return nil, fmt.Errorf("record %d: %w", lsn, err)
			}
		}
		if len(rest) > 0 && op != format.OpKey && op != format.OpReplicated && !format.Apart(op) {
			continue
		}
		if some {
			sh := format.ShardOf(sec.hash)
			if lsn > r.Files.Marks[sh] {
				sec.b = begin[:len(begin)-len(rest)]
				sec.sole = len(sec.b)-int(sec.size) >= w.sole
				w.sorted[sh] = append(w.sorted[sh], sec)
			}
		}
		if len(rest) == 0 || format.Apart(op) {
			return rest, nil
		}
		if op == format.OpReplicated {
			if err := w.origin.replay(&w.args, lsn); err != nil {
				return nil, fmt.Errorf("record %d: %w", lsn, err)
			}
			some = false
			continue
		}
		phys, key := w.args.Uint(), w.args.Bytes()
		if err := w.args.Done(); err != nil {
			return nil, fmt.Errorf("record %d: %w", lsn, err)
		}
		sec.hash, sec.phys, sec.size, some = r.Hash(key), uint32(phys), uint32(len(key)), true
		begin = rest[len(rest)-len(rec)-len(key):]
	}
}
