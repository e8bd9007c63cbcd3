package journal

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/tail"
	"github.com/vigildb/vigil/structures/text"
)

// Journal gives records their numbers and gathers them in chunks. Records are
// appended while what they are about is locked, so that their order is the order
// of effects. Init must be called before anything else.
type Journal struct {
	newest  atomic.Uint64 // last number given
	pending atomic.Int64  // see Pending
	big     atomic.Int64  // see PendingBig
	exposed atomic.Uint64 // see Exposed

	mu struct {
		sync.Mutex
		open   Chunk    // being filled
		index  uint64   // number of the last chunk begun
		sealed []Chunk  // full, in order, not taken yet
		spare  [][]byte // buffers for reuse
		idle   int      // how many of spare nobody wanted since Trim
		eager  bool     // see SetEager
		tail   *tail.Tail
	}

	wake   chan struct{} // see Wake
	rounds atomic.Int32  // that have begun and not ended
	late   atomic.Bool   // a token is due at the end of a round
}

const (
	// BigRecord is the length in bytes from which on a record becomes a chunk as it is.
	BigRecord = 1 << 20
	// MaxUnsynced is how many bytes of chunks the caller may keep before it gives
	// them back by Recycle.
	MaxUnsynced = 4 << 20
	// spareChunks is how many buffers are kept for reuse: as many as come back at
	// once.
	spareChunks = MaxUnsynced/chunkBytes + 16
)

// Init makes the zero value an empty journal.
func (j *Journal) Init() { j.wake = make(chan struct{}, 1) }

// Wake has a token, the only one, when there is work for the goroutine that takes
// chunks: a full chunk, under SetEager any record, or after Signal.
func (j *Journal) Wake() chan struct{} { return j.wake }

// WakeBy sets the channel, with room for one, to which tokens go. It is called before anything is recorded.
func (j *Journal) WakeBy(wake chan struct{}) { j.wake = wake }

// Newest returns the number of the last record, 0 if there is none.
func (j *Journal) Newest() uint64 { return j.newest.Load() }

// Pending returns the bytes of full chunks without Written, big ones apart.
func (j *Journal) Pending() int64 { return j.pending.Load() }

// PendingBig is Pending of big chunks.
func (j *Journal) PendingBig() int64 { return j.big.Load() }

// Append adds a copy of a record, and flags to those of its chunk, and returns the
// record's number.
func (j *Journal) Append(rec []byte, flags byte) uint64 {
	size := uvarintLen(uint64(len(rec))) + len(rec)
	j.mu.Lock()
	c := &j.mu.open
	wake := j.mu.eager
	if len(c.buf) > HeaderBytes && len(c.buf)+size > chunkBytes {
		j.sealLocked()
		wake = true
	}
	lsn := j.newest.Load() + 1
	if c.buf == nil {
		j.mu.index++
		c.buf, c.Index, c.First, c.Flags, c.room = j.bufferLocked(size), j.mu.index, lsn, 0, nil
	}
	from := len(c.buf)
	c.buf = binary.AppendUvarint(c.buf, uint64(len(rec)))
	c.buf = append(c.buf, rec...)
	c.Last = lsn
	c.Flags |= flags
	if j.mu.tail != nil {
		j.keepLocked(c, max(chunkBytes-HeaderBytes, size), c.buf[from:])
	}
	j.newest.Store(lsn)
	j.mu.Unlock()
	if wake {
		j.Signal()
	}
	return lsn
}

func uvarintLen(v uint64) int { return max(1, (bits.Len64(v)+6)/7) }

// BeginRound has tokens that are due before EndRound left to its caller, which is about to add
// records and looks after them itself, so that no other goroutine is woken for that.
func (j *Journal) BeginRound() { j.rounds.Add(1) }

// EndRound ends a round, and reports whether a token was due meanwhile.
func (j *Journal) EndRound() (due bool) {
	j.rounds.Add(-1)
	return j.late.Load() && j.late.Swap(false)
}

// Signal puts a token into Wake, or leaves it to a round.
func (j *Journal) Signal() {
	if j.rounds.Load() > 0 {
		j.late.Store(true)
		if j.rounds.Load() > 0 {
			return // its end sees that
		}
	}
	j.SignalNow()
}

// SignalNow is Signal for whoever waits for what the token brings.
func (j *Journal) SignalNow() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// bufferLocked returns an empty chunk with room for a record of n bytes.
func (j *Journal) bufferLocked(n int) []byte {
	if k := len(j.mu.spare); k > 0 && n+HeaderBytes <= chunkBytes {
		b := j.mu.spare[k-1]
		j.mu.spare[k-1], j.mu.spare = nil, j.mu.spare[:k-1]
		j.mu.idle = min(j.mu.idle, k-1)
		return b[:HeaderBytes]
	}
	return make([]byte, HeaderBytes, max(chunkBytes, n+HeaderBytes))
}

func (j *Journal) sealLocked() {
	if j.mu.open.buf != nil {
		j.pending.Add(int64(len(j.mu.open.buf) - HeaderBytes))
		j.mu.sealed = append(j.mu.sealed, j.mu.open)
		j.mu.open = Chunk{}
	}
}

// Backlog is Pending with the chunk that is not full yet.
func (j *Journal) Backlog() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pending.Load() + int64(max(0, len(j.mu.open.buf)-HeaderBytes))
}

// Take removes the full chunks from the journal, with partial the open one too, and
// appends them to dst. They belong to the caller until Recycle.
func (j *Journal) Take(dst []Chunk, partial bool) []Chunk {
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

// Recycle takes back the buffers of chunks that are on the device.
func (j *Journal) Recycle(chunks []Chunk) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range chunks {
		if c.loan != nil {
			c.loan.End()
		}
		if c.room != nil {
			c.room.Free()
		}
		if c.parts == nil && cap(c.buf) <= chunkBytes && len(j.mu.spare) < spareChunks {
			j.mu.spare = append(j.mu.spare, c.buf)
		}
	}
}

// Trim frees the buffers that nobody has wanted since the last call.
func (j *Journal) Trim() {
	j.mu.Lock()
	defer j.mu.Unlock()
	kept := len(j.mu.spare) - j.mu.idle
	clear(j.mu.spare[kept:])
	j.mu.spare, j.mu.idle = j.mu.spare[:kept], kept
}

// Cut ends the open chunk and returns its end: later records are in chunks after
// it.
func (j *Journal) Cut() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sealLocked()
	return Position{LSN: j.newest.Load(), Index: j.mu.index}
}

// Resume makes the journal continue after a position. Nothing was recorded yet.
func (j *Journal) Resume(from Position) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mu.index = from.Index
	j.newest.Store(from.LSN)
}

// SetEager says whether every record puts a token into Wake, and puts one there.
func (j *Journal) SetEager(eager bool) {
	j.mu.Lock()
	j.mu.eager = eager
	j.mu.Unlock()
	j.Signal()
}

// AppendBig adds a record as a chunk of its own and returns its number. rec and the
// bytes of refs belong to the chunk until Recycle, which ends the loan.
func (j *Journal) AppendBig(rec []byte, refs []Reference, loan *text.Loan, flags byte) uint64 {
	size := len(rec)
	for _, r := range refs {
		size += len(r.Bytes)
	}
	c := Chunk{buf: binary.AppendUvarint(make([]byte, HeaderBytes, HeaderBytes+10), uint64(size)), loan: loan, Flags: flags}
	done := 0
	for _, r := range refs {
		c.parts = append(c.parts, rec[done:r.At], r.Bytes)
		done = r.At
	}
	c.parts = append(c.parts, rec[done:])

	j.mu.Lock()
	defer j.mu.Unlock()
	j.sealLocked()
	j.mu.index++
	lsn := j.newest.Load() + 1
	c.Index, c.First, c.Last = j.mu.index, lsn, lsn
	if j.mu.tail != nil {
		j.keepLocked(&c, c.Size()-HeaderBytes, c.Parts()...)
	}
	j.mu.sealed = append(j.mu.sealed, c)
	j.newest.Store(lsn)
	j.big.Add(int64(c.Size()))
	j.Signal()
	return lsn
}

// Written takes a chunk, which is size bytes long, off what is pending.
func (j *Journal) Written(c *Chunk, size int) {
	if c.parts != nil {
		j.big.Add(-int64(size))
		return
	}
	j.pending.Add(-int64(size - HeaderBytes))
}
