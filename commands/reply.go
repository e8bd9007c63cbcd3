package commands

import (
	"math"
	"slices"
	"strconv"

	"github.com/vigildb/vigil/structures"
)

// Reply builds the reply to a command in the client's protocol version. The
// server rewinds it when a handler returns an error, so that no client ever sees
// half an array.
//
// RESP3 types fall back in RESP2 as in Redis: a map is a flat array, a set an
// array, a double and a big number bulk strings, a boolean 0 or 1, a null the
// null bulk string or null array, a push an array.
//
// The session's reply is bounded (see Bound): it asks before it becomes long, and is
// then a row of parts, so that it is never copied to grow. If it may not become longer
// it is lost: what was written is dropped, and so is what is written later. The client
// is then disconnected; the command still runs to its end.
type Reply struct {
	buf   []byte
	proto int
	room  int // length of buf up to which more is not asked

	parts [][]byte // what was written before buf, if that is much
	size  int      // bytes of parts
	more  func(size int) bool
	lost  bool
}

// NewReply starts a reply in protocol 2 or 3, appending to buf. It has one part
// and no limit.
func NewReply(buf []byte, proto int) Reply {
	return Reply{buf: buf, proto: proto, room: math.MaxInt}
}

// Encoded is what was written so far to a reply that is not bounded.
func (r *Reply) Encoded() []byte { return r.buf }

// Len is how much was written: a mark for Rewind.
func (r *Reply) Len() int { return r.size + len(r.buf) }

// Proto is the protocol version, 2 or 3.
func (r *Reply) Proto() int { return r.proto }

// SetProto changes the version for what is written from now on.
func (r *Reply) SetProto(version int) { r.proto = version }

// Raw appends bytes that are protocol already.
func (r *Reply) Raw(b []byte) {
	if len(r.buf)+len(b) > r.room && !r.fits(len(b)) {
		return
	}
	r.buf = structures.Append(r.buf, b)
}

func (r *Reply) head(kind byte, n int64) {
	if len(r.buf) > r.room && !r.fits(0) {
		return
	}
	r.buf = append(r.buf, kind)
	r.buf = strconv.AppendInt(r.buf, n, 10)
	r.buf = append(r.buf, '\r', '\n')
}

// OK writes +OK.
func (r *Reply) OK() { r.buf = append(r.buf, "+OK\r\n"...) }

// Status writes a simple string. CR and LF in it become spaces.
func (r *Reply) Status(s string) { r.line('+', s) }

// Error writes an error. CR and LF in it become spaces.
func (r *Reply) Error(e WireError) { r.line('-', string(e)) }

// line writes a text that ends at CR or LF: with one inside, a client could forge what
// comes next.
func (r *Reply) line(kind byte, s string) {
	r.buf = append(r.buf, kind)
	r.buf = append(r.buf, clean(s)...)
	r.buf = append(r.buf, '\r', '\n')
}

// Int writes an integer.
func (r *Reply) Int(n int64) { r.head(':', n) }

// Bulk writes a binary string.
func (r *Reply) Bulk(b []byte) {
	if len(r.buf)+len(b) > r.room && !r.fits(len(b)) {
		return
	}
	// With room for the line ends too: a big string is copied once, and of a small one
	// nothing but bytes is stored until the end.
	const lines = len("$\r\n\r\n") + 20
	buf := r.buf
	if len(b) < partBytes {
		buf = slices.Grow(buf, len(b)+lines)
	} else {
		buf = structures.GrowTo(buf, len(buf)+len(b)+lines)
	}
	buf = append(buf, '$')
	buf = strconv.AppendInt(buf, int64(len(b)), 10)
	buf = append(buf, '\r', '\n')
	if len(b) < partBytes {
		buf = append(buf, b...)
	} else {
		buf = structures.Append(buf, b)
	}
	r.buf = append(buf, '\r', '\n')
}

// BulkString writes a string.
func (r *Reply) BulkString(s string) {
	if len(r.buf)+len(s) > r.room && !r.fits(len(s)) {
		return
	}
	r.head('$', int64(len(s)))
	r.buf = append(r.buf, s...)
	r.buf = append(r.buf, '\r', '\n')
}

// BulkInt writes an integer as a string.
func (r *Reply) BulkInt(n int64) {
	var b [20]byte
	r.Bulk(strconv.AppendInt(b[:0], n, 10))
}

// Null writes the null of a string.
func (r *Reply) Null() {
	if r.proto == 3 {
		r.buf = append(r.buf, "_\r\n"...)
		return
	}
	r.buf = append(r.buf, "$-1\r\n"...)
}

// NullArray writes the null of an array.
func (r *Reply) NullArray() {
	if r.proto == 3 {
		r.buf = append(r.buf, "_\r\n"...)
		return
	}
	r.buf = append(r.buf, "*-1\r\n"...)
}

// Array begins an array of n replies.
func (r *Reply) Array(n int) { r.head('*', int64(n)) }

// Map begins n pairs.
func (r *Reply) Map(n int) {
	if r.proto == 3 {
		r.head('%', int64(n))
		return
	}
	r.head('*', 2*int64(n))
}

// Set begins a set of n replies.
func (r *Reply) Set(n int) {
	if r.proto == 3 {
		r.head('~', int64(n))
		return
	}
	r.head('*', int64(n))
}

// Attribute begins n pairs that describe the reply behind them. Only RESP3 has them.
func (r *Reply) Attribute(n int) { r.head('|', int64(n)) }

// Push begins an out-of-band message of n replies.
func (r *Reply) Push(n int) {
	if r.proto == 3 {
		r.head('>', int64(n))
		return
	}
	r.head('*', int64(n))
}

// Bool writes a boolean.
func (r *Reply) Bool(v bool) {
	switch {
	case r.proto == 3 && v:
		r.buf = append(r.buf, "#t\r\n"...)
	case r.proto == 3:
		r.buf = append(r.buf, "#f\r\n"...)
	case v:
		r.Int(1)
	default:
		r.Int(0)
	}
}

// IntBool writes 1 or 0, which commands older than RESP3 return for a boolean in
// either protocol.
func (r *Reply) IntBool(v bool) {
	if v {
		r.Int(1)
	} else {
		r.Int(0)
	}
}

// Double writes a floating-point number.
func (r *Reply) Double(v float64) {
	if r.proto != 3 {
		var b [40]byte
		r.Bulk(AppendFloat(b[:0], v))
		return
	}
	r.buf = append(r.buf, ',')
	if math.IsNaN(v) {
		r.buf = append(r.buf, "nan"...)
	} else {
		r.buf = AppendFloat(r.buf, v)
	}
	r.buf = append(r.buf, '\r', '\n')
}

// BigNumber writes an integer of any length, which is on one line.
func (r *Reply) BigNumber(digits string) {
	if r.proto != 3 {
		r.BulkString(clean(digits))
		return
	}
	r.line('(', digits)
}

// Verbatim writes text with a three-letter format ("txt", "mkd").
func (r *Reply) Verbatim(format string, s []byte) {
	if r.proto != 3 {
		r.Bulk(s)
		return
	}
	if len(r.buf)+len(s) > r.room && !r.fits(len(s)) {
		return
	}
	r.head('=', int64(len(s)+4))
	r.buf = append(r.buf, format...)
	r.buf = append(r.buf, ':')
	r.buf = append(r.buf, s...)
	r.buf = append(r.buf, '\r', '\n')
}

// Strings writes an array of strings.
func (r *Reply) Strings(list []string) {
	r.Array(len(list))
	for _, s := range list {
		r.BulkString(s)
	}
}

// Statuses writes a set of simple strings, as COMMAND shows flags.
func (r *Reply) Statuses(list []string) {
	r.Set(len(list))
	for _, s := range list {
		r.Status(s)
	}
}
