package log

import (
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// What is appended is kept in runs until it is synced: they are what Flush writes, and what Repair writes
// again. A run is frames that lie side by side in a segment. Buffers are used again, so that nothing is
// allocated for a frame as long as syncs keep up.
const (
	runBytes = 256 << 10
	// A run that is written and has less room than this is not gone on with, so that what is appended
	// until the next Flush is in one run and is written by one call.
	runRest = 64 << 10
)

// run is some frames of a segment. Its buffer never moves: what is written of it is read without a lock.
type run struct {
	begin *head    // of the segment that begins with the run and was not made yet
	at    Position // of the first frame
	buf   []byte   // frames as they are in the file
	parts [][]byte // the payload of the last frame, if that is not in buf
	after []byte   // the checksums of its pieces
	size  int64    // of all that

	written int64 // of size
}

func (r *run) end() Position { return Position{r.at.Segment, r.at.Offset + r.size} }

// sealed reports that nothing can follow in the run.
func (r *run) sealed() bool { return r.parts != nil }

// write writes the rest of a run. It is one call, and one more for each part.
func (r *run) write(file vfs.File) error {
	off := r.at.Offset + r.written
	write := func(b []byte) error {
		if len(b) == 0 {
			return nil
		}
		n, err := file.WriteAt(b, off)
		if err == nil && n < len(b) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return fmt.Errorf("write %s at offset %d: %w", segmentName(r.at.Segment), off, err)
		}
		off += int64(n)
		return nil
	}
	err := write(r.buf[r.written:])
	for i := 0; i < len(r.parts) && err == nil; i++ {
		err = write(r.parts[i])
	}
	if err == nil {
		err = write(r.after)
	}
	return err
}

// entries calls f with each frame that is in the run, from an offset of the segment on, and its offset.
func (r *run) entries(from int64, f func(at int64, e *entry, payload [][]byte)) {
	at := r.at.Offset
	for b := r.buf; len(b) > 0; {
		h := rawHeader(b)
		e := entry{kind: h.kind, length: int64(h.length), sum: h.sum}
		b = b[frameHead:]
		payload := r.parts
		if len(b) == 0 && r.sealed() {
			e.sums = r.after
		} else {
			payload = [][]byte{b[:h.length]}
			b = b[h.length:]
		}
		if at >= from {
			f(at, &e, payload)
		}
		at += e.size()
	}
}

// roomLocked returns the run that a frame goes to, with room for n bytes.
func (s *state) roomLocked(n int) *run {
	if s.begin == nil && len(s.runs) > 0 {
		r := s.runs[len(s.runs)-1]
		rest := cap(r.buf) - len(r.buf)
		if !r.sealed() && rest >= n && (rest >= runRest || r.written < r.size) {
			return r
		}
	}
	r, ok := s.free.Get().(*run)
	if !ok || cap(r.buf) < n {
		r = &run{buf: make([]byte, 0, max(n, runBytes))}
	}
	r.at, r.begin, s.begin = s.end, s.begin, nil
	s.runs = append(s.runs, r)
	return r
}

// pendingLocked returns the first run with something to write, nil if there is none.
func (s *state) pendingLocked() *run {
	for s.next < len(s.runs) {
		if r := s.runs[s.next]; r.written < r.size {
			return r
		}
		if s.next == len(s.runs)-1 {
			break // more may come in this one
		}
		s.next++
	}
	return nil
}

// releaseLocked forgets the runs that are synced.
func (s *state) releaseLocked() {
	n := 0
	for _, r := range s.runs {
		if r.written < r.size || s.synced.Before(r.end()) {
			break
		}
		n++
	}
	for _, r := range s.runs[:n] {
		s.kept -= r.size
		if cap(r.buf) == runBytes {
			*r = run{buf: r.buf[:0]}
			s.free.Put(r)
		}
	}
	s.runs = append(s.runs[:0], s.runs[n:]...)
	clear(s.runs[len(s.runs):cap(s.runs)])
	s.next = max(0, s.next-n)
}
