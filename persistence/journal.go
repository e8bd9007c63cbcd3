package persistence

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/structures"
)

// chunkBytes is the size at which a chunk is handed on: Pebble's cost per key is
// spread over some hundred records, and a group commit is still small.
const chunkBytes = 64 << 10

// chunk is a part of the journal that is still in memory, its header not yet
// filled in.
type chunk struct {
	buf   []byte
	parts [][]byte         // what follows buf, of a big record
	loan  *structures.Loan // under which parts are read, nil if there is none
	index uint64           // number of the chunk
	first uint64           // number of the first record
	last  uint64
	flags byte
}

// position is the end of a chunk of the journal.
type position struct {
	lsn   uint64 // its last record
	index uint64 // its number
}

// journal gives records their numbers and gathers them in chunks. Numbers, of
// both, start at 1 and have no gaps. Records are appended while the shards they are about
// are locked, so that their order is the order of effects.
type journal struct {
	newest  atomic.Uint64 // last number given
	pending atomic.Int64  // bytes of full chunks that are not in Pebble yet, but for
	big     atomic.Int64  // those of big records

	mu struct {
		sync.Mutex
		open   chunk   // being filled
		index  uint64  // number of the last chunk begun
		sealed []chunk // full, in order; for the committer
		spare  [][]byte
		eager  bool // every record wakes the committer (SyncAlways)
	}

	wake chan struct{} // capacity 1: one token says that there is work
}

// spareChunks is how many buffers are kept for reuse: as many as come back at
// once when what is not synced is (maxUnsynced).
const spareChunks = maxUnsynced/chunkBytes + 16

// append adds a record, with flags for its chunk, and returns its number.
func (j *journal) append(rec []byte, flags byte) uint64 {
	size := uvarintLen(uint64(len(rec))) + len(rec)
	j.mu.Lock()
	c := &j.mu.open
	wake := j.mu.eager
	if len(c.buf) > chunkHeader && len(c.buf)+size > chunkBytes {
		j.sealLocked()
		wake = true
	}
	lsn := j.newest.Load() + 1
	if c.buf == nil {
		j.mu.index++
		c.buf, c.index, c.first, c.flags = j.bufferLocked(size), j.mu.index, lsn, 0
	}
	c.buf = binary.AppendUvarint(c.buf, uint64(len(rec)))
	c.buf = append(c.buf, rec...)
	c.last = lsn
	c.flags |= flags
	j.newest.Store(lsn)
	j.mu.Unlock()
	if wake {
		j.signal()
	}
	return lsn
}

func uvarintLen(v uint64) int { return max(1, (bits.Len64(v)+6)/7) }

func (j *journal) signal() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// bufferLocked returns an empty chunk with room for a record of n bytes.
func (j *journal) bufferLocked(n int) []byte {
	if k := len(j.mu.spare); k > 0 && n+chunkHeader <= chunkBytes {
		b := j.mu.spare[k-1]
		j.mu.spare = j.mu.spare[:k-1]
		return b[:chunkHeader]
	}
	return make([]byte, chunkHeader, max(chunkBytes, n+chunkHeader))
}

func (j *journal) sealLocked() {
	if j.mu.open.buf != nil {
		j.pending.Add(int64(len(j.mu.open.buf) - chunkHeader))
		j.mu.sealed = append(j.mu.sealed, j.mu.open)
		j.mu.open = chunk{}
	}
}

// backlog is the bytes of records that are not in Pebble yet, but for big ones.
func (j *journal) backlog() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pending.Load() + int64(max(0, len(j.mu.open.buf)-chunkHeader))
}

// take removes what is ready for the committer from the journal and appends it
// to dst: the full chunks, and with partial the open one too.
func (j *journal) take(dst []chunk, partial bool) []chunk {
	j.mu.Lock()
	defer j.mu.Unlock()
	if partial {
		j.sealLocked()
	}
	dst = append(dst, j.mu.sealed...)
	clear(j.mu.sealed)
	j.mu.sealed = j.mu.sealed[:0]
	return dst
}

// recycle takes the buffers of chunks back that are on the device.
func (j *journal) recycle(chunks []chunk) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range chunks {
		if c.loan != nil {
			c.loan.End()
		}
		if c.parts == nil && cap(c.buf) <= chunkBytes && len(j.mu.spare) < spareChunks {
			j.mu.spare = append(j.mu.spare, c.buf)
		}
	}
}

// cut ends the open chunk and returns its end: what is recorded from now on is
// in chunks behind it.
func (j *journal) cut() position {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sealLocked()
	return position{lsn: j.newest.Load(), index: j.mu.index}
}

// resume makes the journal go on behind a position. Nothing was recorded yet.
func (j *journal) resume(from position) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mu.index = from.index
	j.newest.Store(from.lsn)
}

func (j *journal) setEager(eager bool) {
	j.mu.Lock()
	j.mu.eager = eager
	j.mu.Unlock()
	j.signal()
}
