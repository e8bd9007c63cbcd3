package log

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Read calls f with the frames from a position on, in order, up to the last one that is written, or until f
// returns an error, which Read returns. For from and other errors see NewReader and Next.
func (l *Log) Read(from Position, f func(Frame) error) error {
	r := l.NewReader(from)
	for {
		frame, err := r.Next()
		if err == nil {
			err = f(frame)
		}
		if err == io.EOF {
			return r.Close()
		}
		if err != nil {
			return errors.Join(err, r.Close())
		}
	}
}

// Reader reads frames one after the other, while others are appended and flushed. It is for one goroutine. A
// segment that it reads is not recycled before it is done with it.
type Reader struct {
	l    *Log
	next Position // of the frame that Next returns
	seg  *segment // that is open, nil if none is
	file vfs.File
	seed uint32
	window
}

// NewReader returns a Reader of the frames from a position on, which must be that of a frame, or of the end of
// one, or of a segment (with an offset of 0), or zero for the first frame that there is.
func (l *Log) NewReader(from Position) *Reader { return &Reader{l: l, next: from} }

// Next returns the next frame. The error is
//   - io.EOF if no other is written yet; Next may be called again;
//   - ErrTrimmed if the frame may have been there, and is not any more;
//   - ErrMoved if Repair gave other positions to what was here, or replaced the segment. Frames that were read
//     before the repair and not synced are then somewhere else too;
//   - a *Damage if what is there cannot be read, or no frame begins at the position;
//   - the disk's.
func (r *Reader) Next() (Frame, error) {
	for {
		if r.seg == nil {
			if err := r.open(); err != nil {
				return Frame{}, err
			}
		}
		if r.next.Offset < r.limit {
			return r.read()
		}
		if err := r.advance(); err != nil {
			return Frame{}, err
		}
	}
}

// Position returns where the next frame begins, or where the segment before it ends.
func (r *Reader) Position() Position { return r.next }

// Close ends the reading.
func (r *Reader) Close() error {
	if r.seg == nil {
		return nil
	}
	r.l.mu.Lock()
	r.seg.readers--
	r.l.mu.Unlock()
	err := r.file.Close()
	r.seg, r.file, r.window = nil, nil, window{buf: r.buf[:0], ahead: r.ahead}
	return err
}

// open opens the segment of the next frame.
func (r *Reader) open() error {
	seg, err := r.find()
	if err != nil {
		return err
	}
	name := segmentName(seg.number)
	file, err := r.l.cfg.FS.Open(r.l.cfg.path(name))
	if err != nil {
		r.l.mu.Lock()
		defer r.l.mu.Unlock()
		seg.readers--
		if r.l.mu.segments[0].number > seg.number { // since it was found
			err = ErrTrimmed
		}
		return fmt.Errorf("open %s: %w", name, err)
	}
	r.seg, r.file, r.seed = seg, file, seedOf(r.l.cfg.Store, seg.number)
	r.window = window{file: file, name: name, buf: r.buf[:0], ahead: r.ahead}
	return nil
}

// find returns the segment of the next frame, which has a reader more.
func (r *Reader) find() (*segment, error) {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	segments := r.l.mu.segments
	if len(segments) == 0 {
		return nil, io.EOF
	}
	first := segments[0].number
	if r.next == (Position{}) {
		r.next.Segment = first
	}
	switch {
	case r.next.Segment < first:
		return nil, fmt.Errorf("read from %v: %w", r.next, ErrTrimmed)
	case r.next.Segment >= first+uint64(len(segments)):
		return nil, io.EOF
	}
	r.next.Offset = max(r.next.Offset, HeadBytes)
	seg := segments[r.next.Segment-first]
	seg.readers++
	return seg, nil
}

// advance finds out how far the segment is written, or goes to the next one.
func (r *Reader) advance() error {
	r.l.mu.Lock()
	last := r.l.mu.lastLocked()
	r.limit = r.seg.end
	if r.seg == last {
		r.limit = r.l.mu.written.Offset
	}
	r.l.mu.Unlock()
	switch {
	case r.next.Offset < r.limit:
		return nil
	case r.next.Offset > r.limit:
		return errors.Join(fmt.Errorf("read from %v: %w", r.next, ErrMoved), r.Close())
	case r.seg == last:
		return io.EOF
	}
	err := r.Close()
	r.next = Position{r.next.Segment + 1, HeadBytes}
	return err
}

// read reads the next frame, which is below the limit.
func (r *Reader) read() (Frame, error) {
	at := r.next
	h, payload, ok, err := r.frame(at.Offset, r.seed, r.seg.big)
	if err != nil {
		return Frame{}, err
	}
	if !ok {
		return Frame{}, &Damage{File: r.name, Offset: at.Offset, Reason: fmt.Sprintf("no frame can be read, though %d bytes were written", r.limit)}
	}
	f := Frame{Position: at, Next: Position{at.Segment, h.end(at.Offset, r.seg.big)}, Kind: h.kind, Len: int64(h.length), Payload: payload}
	if r.seg.big {
		if f.Body, err = openBody(r.file, r.name, at.Offset, h); err != nil {
			return Frame{}, err
		}
	}
	r.next = f.Next
	return f, nil
}
