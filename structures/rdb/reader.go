package rdb

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/vigildb/vigil/structures"
)

// reader takes a value apart. It keeps its first error, after which every
// method returns its zero value.
type reader struct {
	b     []byte
	max   uint64  // bytes of the longest string
	src   *window // that b is the end of; nil: b is all there is
	spare []byte  // room to expand LZF, of a source
	err   error
}

func (r *reader) fail(what string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), structures.ErrCorrupt)
	}
}

// take takes the next n bytes. They alias the payload, or are valid until the next call.
func (r *reader) take(n uint64) []byte {
	if r.err != nil {
		return nil
	}
	if n > uint64(len(r.b)) && r.src != nil {
		if r.fill(int(min(n, 1<<40))); r.err != nil {
			return nil
		}
	}
	if n > uint64(len(r.b)) {
		r.fail("%d bytes of %d", n, len(r.b))
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// bytes takes the next n bytes. They alias the payload, or of a source *room, which grows.
func (r *reader) bytes(n uint64, room *[]byte) []byte {
	if r.src == nil {
		return r.take(n)
	}
	if r.err != nil {
		return nil
	}
	return r.copyTo(room, n)
}

func (r *reader) byte() byte {
	b := r.take(1)
	if b == nil {
		return 0
	}
	return b[0]
}

// fixed reads an integer of n bytes, little endian.
func (r *reader) fixed(n uint64) uint64 {
	var v uint64
	for i, x := range r.take(n) {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// lengthOr reads a length; special is true if n says instead what stands for a
// string.
func (r *reader) lengthOr() (n uint64, special bool) {
	first := r.byte()
	switch {
	case first >= lenSpecial:
		return uint64(first &^ lenSpecial), true
	case first < len14:
		return uint64(first), false
	case first < len32:
		return uint64(first&^len14)<<8 | uint64(r.byte()), false
	case first == len32:
		if b := r.take(4); b != nil {
			return uint64(binary.BigEndian.Uint32(b)), false
		}
	case first == len64:
		if b := r.take(8); b != nil {
			return binary.BigEndian.Uint64(b), false
		}
	default:
		r.fail("length of form %#x", first)
	}
	return 0, false
}

func (r *reader) length() uint64 {
	n, special := r.lengthOr()
	if special {
		r.fail("special form %d in place of a length", n)
		return 0
	}
	return n
}

// text is a string as it stands in a payload.
type text struct {
	b    []byte
	size uint64 // of the string; b is LZF if lzf is set
	lzf  bool
}

// text reads a string. What does not stand in the payload as it is is written into
// *room, which grows.
func (r *reader) text(room *[]byte) text {
	n, special := r.lengthOr()
	if !special {
		r.bound(n)
		return text{b: r.bytes(n, room), size: n}
	}
	var v int64
	switch n {
	case specialInt8:
		v = int64(int8(r.fixed(1)))
	case specialInt16:
		v = int64(int16(r.fixed(2)))
	case specialInt32:
		v = int64(int32(r.fixed(4)))
	case specialLZF:
		packed, size := r.length(), r.length()
		r.bound(size)
		r.bound(packed)
		if r.err == nil && size > lzfFactor*packed { // before the bytes are waited for
			r.fail("%d bytes of LZF for %d", packed, size)
		}
		return text{b: r.bytes(packed, room), size: size, lzf: true}
	default:
		r.fail("string of form %d", n)
	}
	if r.err != nil {
		return text{}
	}
	*room = strconv.AppendInt((*room)[:0], v, 10)
	return text{b: *room, size: uint64(len(*room))}
}

// bound refuses a string of n bytes if that is too long.
func (r *reader) bound(n uint64) {
	if n > r.max {
		r.fail("string of %d bytes", n)
	}
}

// string reads a string. It aliases the payload, or *room, which grows.
func (r *reader) string(room *[]byte) []byte {
	t := r.text(room)
	if r.err == nil && t.lzf {
		into := *room
		if r.src != nil {
			into = r.spare // what is packed stands in *room
			r.spare = *room
		}
		*room, r.err = expandLZF(into[:0], t.b, t.size)
		t.b = *room
	}
	if r.err != nil {
		return nil
	}
	return t.b
}

// done returns the first error, or one if bytes are left over.
func (r *reader) done() error {
	if len(r.b) > 0 {
		r.fail("%d bytes too many", len(r.b))
	}
	return r.err
}
