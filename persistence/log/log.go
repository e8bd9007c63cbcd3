package log

import (
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Log is an open log. Its methods are safe for concurrent use.
//
// Locks are taken in the order writing, syncing, dir, mu. I/O is done under the first three only.
type Log struct {
	cfg  Config
	most int64 // of a payload that shares a segment
	view bool  // opened for reading

	writing sync.Mutex // held by what writes frames or begins segments
	syncing sync.Mutex // held while file is synced or closed
	dir     sync.Mutex // held by what makes, renames, links or removes files

	// file is the last segment, open for writing; nil if there is none or nothing more may be written to
	// it. It changes under both writing and syncing, so either is enough to use it.
	file vfs.File

	mu state
}

// state is what a Log knows. Its mutex guards all of it.
type state struct {
	sync.Mutex

	segments []*segment // those that have files, in order, not yet trimmed
	end      Position   // where the next frame will be appended
	seed     uint32     // of the segment of end
	turn     bool       // the next frame begins a segment
	begin    *head      // the segment that begins at end, until it has a run
	written  Position   // what is below has been given to the system
	synced   Position   // what is below is on the device
	failed   error      // why the last segment must not be written any more; nil: it may
	closed   bool

	runs []*run    // what is not synced, in order; see run.go
	next int       // the first of runs that may have something to write
	kept int64     // bytes of runs
	free sync.Pool // of *run, to be used again

	spares    []string // names of files that may be overwritten
	unsettled bool     // renames or removals may not be on the device
	trimmed   Position // of Trim
	pins      int
}

// segment is a file of the log.
type segment struct {
	number  uint64
	before  int64  // where the segment before ends
	end     int64  // where it ends; of the last one only once it must not be written any more
	own     []byte // the caller's bytes of the head
	big     bool
	ours    bool // it was begun by this Log, and may be recycled
	linked  bool // there is another name for it elsewhere
	readers int  // with open files of it
}

// entry is a frame before it has a place. Its payload is passed beside it, so that the slices that Append is
// called with need not be allocated.
type entry struct {
	kind   byte
	length int64
	sum    uint32
	sums   []byte // of the pieces, if it is to have a segment of its own
}

func (e *entry) size() int64 { return frameHead + e.length + int64(len(e.sums)) }

// Append puts a frame behind all others, in memory: Flush writes it. The payload is the concatenation of some
// byte slices. If it has Config.Reference bytes or more they must not be changed until the frame is
// synced, else they are copied. The position is where the frame will be, unless Repair moves it.
//
// The error is ErrTooLarge, ErrUnsynced if the frames that are not synced would take more than
// Config.MaxUnsynced with this one (a single frame may take more), ErrReadOnly or ErrClosed; nothing
// happened then. After a failed write or sync frames are still taken, until Repair has written them.
// It panics for kind 0, and if Config.Head returns more than MaxHead bytes.
func (l *Log) Append(kind byte, payload ...[]byte) (Position, error) {
	if kind == 0 {
		panic("log: frame of kind 0")
	}
	e := entry{kind: kind}
	for _, p := range payload {
		e.length += int64(len(p))
	}
	if e.length > MaxPayload {
		return Position{}, fmt.Errorf("append %d bytes: %w", e.length, ErrTooLarge)
	}
	if e.length > l.most {
		e.sums = pieceSums(payload)
		e.sum = crc32.Checksum(e.sums, castagnoli)
	} else {
		for _, p := range payload {
			e.sum = crc32.Update(e.sum, castagnoli, p)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.view:
		return Position{}, ErrReadOnly
	case l.mu.closed:
		return Position{}, ErrClosed
	case l.mu.kept > 0 && l.mu.kept+e.size() > l.cfg.MaxUnsynced:
		return Position{}, ErrUnsynced
	}
	return l.placeLocked(&e, payload), nil
}

// placeLocked gives a frame a place behind all others.
func (l *Log) placeLocked(e *entry, payload [][]byte) Position {
	s := &l.mu
	big := e.sums != nil
	if big || s.turn || s.end.Offset+e.size() > l.cfg.SegmentBytes {
		l.turnLocked(e, payload)
		s.turn = big // which has its segment for itself
	}
	at := s.end
	h := header{length: uint32(e.length), synced: HeadBytes, kind: e.kind, sum: e.sum}
	if s.synced.Segment == at.Segment {
		h.synced = uint32(s.synced.Offset)
	}
	copied := 0
	if e.length < int64(l.cfg.Reference) && !big {
		copied = int(e.length)
	}
	r := s.roomLocked(frameHead + copied)
	n := len(r.buf)
	r.buf = r.buf[:n+frameHead]
	h.put(r.buf[n:], s.seed)
	if copied > 0 || e.length == 0 {
		for _, p := range payload {
			r.buf = append(r.buf, p...)
		}
	} else {
		r.parts = append(r.parts, payload...)
		r.after = e.sums
	}
	r.size += e.size()
	s.end.Offset += e.size()
	s.kept += e.size()
	return at
}

// turnLocked begins a segment at the end with the frame.
func (l *Log) turnLocked(e *entry, payload [][]byte) {
	s := &l.mu
	h := &head{store: l.cfg.Store, number: s.end.Segment + 1, before: s.end.Offset, big: e.sums != nil}
	if h.number > maxNumber {
		panic("log: no segment has a higher number") // after 152 PiB
	}
	if l.cfg.Head != nil {
		if h.own = l.cfg.Head(nil, e.kind, append([][]byte(nil), payload...)); len(h.own) > MaxHead {
			panic(fmt.Sprintf("log: head of %d bytes, want %d at most", len(h.own), MaxHead))
		}
	}
	s.end, s.seed, s.begin = Position{h.number, HeadBytes}, seedOf(h.store, h.number), h
}

// End returns where the next frame will be, if it is in the same segment. It is the zero Position in a log that
// never had a frame.
func (l *Log) End() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.end
}

// Written returns the position below which all frames have been given to the system: they outlive the process.
func (l *Log) Written() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.written
}

// Synced returns the position below which all frames are on the device.
func (l *Log) Synced() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.synced
}

// Unsynced returns how many bytes of frames are not on the device.
func (l *Log) Unsynced() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.kept
}

// Err returns why the log cannot be written until Repair, nil if it can.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.failed
}

// Segment describes a file of the log.
type Segment struct {
	Number uint64
	Name   string // in the directory
	Head   []byte // what Config.Head returned for it; not to be changed
	Bytes  int64  // written, its head included
	Big    bool   // it has one frame only, which would not fit into others
}

// Segments returns the segments that are not trimmed, in order.
func (l *Log) Segments() []Segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Segment, len(l.mu.segments))
	for i, s := range l.mu.segments {
		list[i] = Segment{s.number, segmentName(s.number), s.own, l.mu.limitLocked(i), s.big}
	}
	return list
}

// limitLocked returns where a segment ends, or is written up to.
func (s *state) limitLocked(i int) int64 {
	if i == len(s.segments)-1 {
		return s.written.Offset
	}
	return s.segments[i].end
}

// lastLocked returns the last segment, nil if there is none.
func (s *state) lastLocked() *segment {
	if len(s.segments) == 0 {
		return nil
	}
	return s.segments[len(s.segments)-1]
}
