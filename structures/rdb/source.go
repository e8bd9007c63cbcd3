package rdb

import (
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// Source reads what a file or a connection brings, in the forms of RDB, without ever
// having more of it than a window and the string at hand. It keeps its first error,
// after which every method returns its zero value.
//
// A length that was read asks for no memory. A string takes what has arrived twice over,
// or sourceStep bytes beyond that, unless the source is known to have so much.
type Source struct {
	d decoder
}

const (
	sourceWindow = 64 << 10
	sourceStep   = 4 << 20
	// keptRoom is how much room for a string is kept for the next one.
	keptRoom = 1 << 20
)

// NewSource returns a source of what r brings; size is how many bytes that are, -1 if
// it is not known. The version in o is that of the file.
func NewSource(r io.Reader, size int64, o Options) *Source {
	w := &window{r: r, size: size, buf: make([]byte, sourceWindow)}
	return &Source{d: decoder{reader: reader{max: o.MaxString, src: w}, options: o}}
}

// SetVersion says which version the types of values are of: from 80 on it is Valkey's.
func (s *Source) SetVersion(version uint16) { s.d.version = version }

// Offset is how many bytes were read.
func (s *Source) Offset() int64 { return s.d.src.base + int64(s.d.src.end-len(s.d.b)) }

// Err returns the first error. It is a structures.ErrCorrupt unless it is the reader's or
// a caller's own, and io.ErrUnexpectedEOF too if bytes are missing.
func (s *Source) Err() error { return s.d.err }

// Fail makes an error that says so the first one, if there is none.
func (s *Source) Fail(err error) {
	if s.d.err == nil {
		s.d.err = err
	}
}

// Fixed reads n bytes, 64 KiB at most, which are valid until the next call.
func (s *Source) Fixed(n int) []byte { return s.d.take(uint64(n)) }

// Byte reads a byte.
func (s *Source) Byte() byte { return s.d.byte() }

// Uint reads an integer of n bytes, little endian.
func (s *Source) Uint(n int) uint64 { return s.d.fixed(uint64(n)) }

// Length reads a length.
func (s *Source) Length() uint64 { return s.d.length() }

// String reads a string into *room, which grows.
func (s *Source) String(room *[]byte) []byte {
	if cap(*room) > keptRoom {
		*room = nil
	}
	return s.d.string(room)
}

// Value reads a value of a type. From time to time, as the value grows, it calls grown
// with what it has, which may write parts of it elsewhere: if it has any, the source
// keeps none. A value without elements is one that Empty says so of.
func (s *Source) Value(t byte, grown func(structures.Value) error) Decoded {
	d := &s.d
	d.grown, d.expired = grown, 0
	if cap(d.room) > keptRoom {
		d.room = nil
	}
	if cap(d.valueRoom) > keptRoom {
		d.valueRoom = nil
	}
	if cap(d.spare) > keptRoom {
		d.spare = nil
	}
	v := d.value(t)
	if d.err != nil {
		return Decoded{}
	}
	v.Expired = d.expired
	return v
}

// Checksum is that of all that was read.
func (s *Source) Checksum() uint64 {
	w := s.d.src
	w.hash(w.end - len(s.d.b))
	return w.sum
}

// Rest returns a reader of what follows.
func (s *Source) Rest() io.Reader {
	w := s.d.src
	return io.MultiReader(&windowReader{b: slices.Clone(s.d.b)}, w.r)
}

type windowReader struct{ b []byte }

func (w *windowReader) Read(p []byte) (int, error) {
	if len(w.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, w.b)
	w.b = w.b[n:]
	return n, nil
}

// window is the part of a source that is in memory: the reader's b is its end.
type window struct {
	r      io.Reader
	size   int64 // of all, -1 if it is not known
	buf    []byte
	end    int   // of what is in buf
	base   int64 // offset of buf in the source
	hashed int   // of buf, how much is in sum
	sum    uint64
}

// hash takes the bytes of the window up to one into the checksum.
func (w *window) hash(to int) {
	w.sum = ^crc64.Update(^w.sum, jones, w.buf[w.hashed:to])
	w.hashed = to
}

// fill makes n bytes available, at most as many as the window has room for.
func (r *reader) fill(n int) {
	w := r.src
	at := w.end - len(r.b)
	if n > len(w.buf) {
		r.fail("%d bytes at once", n)
		return
	}
	w.hash(at)
	copy(w.buf, r.b)
	w.base, w.hashed, w.end = w.base+int64(at), 0, len(r.b)
	for w.end < n {
		m, err := w.r.Read(w.buf[w.end:])
		w.end += m
		if err != nil && w.end < n {
			r.b = w.buf[:w.end]
			r.missing(err, n)
			return
		}
	}
	r.b = w.buf[:w.end]
}

// has reports whether n more bytes may be there: a source of an unknown size may bring any number.
func (r *reader) has(n uint64) bool {
	w := r.src
	if w == nil {
		return n <= uint64(len(r.b))
	}
	left := w.size - w.base - int64(w.end-len(r.b))
	return w.size < 0 || left >= 0 && n <= uint64(left)
}

// missing is fail for bytes that are not there.
func (r *reader) missing(err error, n int) {
	switch {
	case r.err != nil:
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		r.err = fmt.Errorf("the end, in place of %d bytes: %w: %w", n, io.ErrUnexpectedEOF, structures.ErrCorrupt)
	default:
		r.err = err
	}
}

// copyTo reads n bytes into *room.
func (r *reader) copyTo(room *[]byte, n uint64) []byte {
	w := r.src
	if n <= uint64(len(r.b)) {
		*room = append((*room)[:0], r.b[:n]...)
		r.b = r.b[n:]
		return *room
	}
	if !r.has(n) {
		r.missing(io.EOF, int(min(n, 1<<62)))
		return nil
	}
	dst := append((*room)[:0], r.b...)
	w.hash(w.end)
	w.base, w.hashed, w.end, r.b = w.base+int64(w.end), 0, 0, nil
	for uint64(len(dst)) < n {
		step := int(min(n-uint64(len(dst)), uint64(max(sourceStep, len(dst)))))
		if w.size >= 0 {
			step = int(n) - len(dst) // the file has so much
		}
		at := len(dst)
		dst = slices.Grow(dst, step)[:at+step]
		m, err := io.ReadFull(w.r, dst[at:])
		w.sum = ^crc64.Update(^w.sum, jones, dst[at:at+m])
		w.base += int64(m)
		if err != nil {
			r.missing(err, step-m)
			return nil
		}
	}
	*room = dst
	return dst
}
