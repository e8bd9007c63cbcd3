package rdb

import (
	"encoding/binary"
	"hash/crc64"
	"io"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

// Sink writes what a Source reads, in the forms of one version, with a window of memory however large values are. It keeps
// its first error, which Flush returns.
type Sink struct {
	o    out
	w    io.Writer
	sum  uint64
	size int64
	err  error
}

// NewSink returns a sink that writes to w, for readers of a version: from 80 on it is Valkey's. Fields that expire up to now,
// in unix ms, are left out.
func NewSink(w io.Writer, version uint16, now int64) *Sink {
	s := &Sink{w: w, o: out{version: version, now: now}}
	s.o.full = s.write
	return s
}

func (s *Sink) write(b []byte) []byte {
	if s.err == nil {
		s.sum = ^crc64.Update(^s.sum, jones, b)
		s.size += int64(len(b))
		_, s.err = s.w.Write(b)
	}
	return b[:0]
}

// Flush gives everything to the writer, and returns the first error.
func (s *Sink) Flush() error {
	s.o.b = s.write(s.o.b)
	return s.err
}

// Err returns the first error.
func (s *Sink) Err() error { return s.err }

// Size is how many bytes were written, about.
func (s *Sink) Size() int64 { return s.size }

// Raw writes bytes as they are.
func (s *Sink) Raw(b ...byte) {
	s.o.b = append(s.o.b, b...)
	s.o.step()
}

// Uint64 writes 8 bytes, little endian.
func (s *Sink) Uint64(v uint64) { s.o.b = binary.LittleEndian.AppendUint64(s.o.b, v) }

// Length writes a length.
func (s *Sink) Length(n uint64) { s.o.length(n) }

// Shrink has strings from now on written in LZF where that makes them shorter.
func (s *Sink) Shrink() { s.o.lzf = new(shrinker) }

// String writes a string. A long one is not copied.
func (s *Sink) String(text []byte) {
	if len(text) < sourceWindow {
		s.o.string(text)
		s.o.step()
		return
	}
	n, shorter := 0, false
	if s.o.lzf != nil {
		n, shorter = s.o.lzf.length(text)
	}
	if !shorter {
		s.o.length(uint64(len(text)))
		s.o.b = s.write(s.o.b)
		s.write(text)
		return
	}
	s.o.b = appendPacked(s.o.b, uint64(len(text)), uint64(n))
	s.o.b = s.write(s.o.b)
	s.o.lzf.write(text, s.write)
}

// Checksum is that of all that was written.
func (s *Sink) Checksum() uint64 {
	s.o.b = s.write(s.o.b)
	return s.sum
}

// StringKey writes a key that is a string.
func (s *Sink) StringKey(key, text []byte) {
	s.o.b = append(s.o.b, typeString)
	s.String(key)
	s.String(text)
}

// Key writes a key with its value, and reports whether the version has a type for that. Fields of hashes lose their expiries in
// versions without any, which LosesExpiries tells.
func (s *Sink) Key(key []byte, v structures.Value) bool {
	t, ok := s.o.typeOf(v)
	if !ok {
		return false
	}
	s.o.b = append(s.o.b, t)
	s.String(key)
	s.o.value(t, v)
	s.o.step()
	return true
}

// LosesExpiries reports whether a value has fields whose expiries the version has not.
func (s *Sink) LosesExpiries(v structures.Value) bool {
	h, ok := v.(*hash.Hash)
	return ok && s.o.version <= versionPlain && hasExpiries(h)
}

// IsEmpty reports that a hash has no fields that are not expired.
func (s *Sink) IsEmpty(v structures.Value) bool {
	h, ok := v.(*hash.Hash)
	return ok && h.Live(s.o.now) == 0
}
