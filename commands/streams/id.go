package streams

import (
	"bytes"
	"math"
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/stream"
)

// maxIDText is the length of the longest text that is looked at as an ID.
const maxIDText = 127

// parseID reads an ID whose sequence number may be missing.
func parseID(b []byte, missing uint64) (id stream.ID, ok bool) {
	ms, seq, two := bytes.Cut(b, []byte{'-'})
	if len(b) > maxIDText {
		return id, false
	}
	id.Seq = missing
	if two {
		if id.Seq, ok = commands.ParseUint(seq); !ok {
			return id, false
		}
	}
	id.Ms, ok = commands.ParseUint(ms)
	return id, ok
}

// readID reads an ID that names an entry: - and + are none.
func readID(a *commands.Args) stream.ID {
	id, ok := parseID(a.Bytes(), 0)
	if !ok {
		a.Fail(errID)
	}
	return id
}

// bound is an end of a range.
type bound struct {
	missing uint64 // sequence number if none is given
	beyond  error  // there is no ID inside of an open end
	step    func(stream.ID) (stream.ID, bool)
}

var (
	lower = bound{0, errStartID, stream.ID.Next}
	upper = bound{math.MaxUint64, errEndID, stream.ID.Prev}
)

// parse reads an end of a range, which is open behind a parenthesis.
func (e *bound) parse(b []byte) (stream.ID, error) {
	if len(b) == 1 && b[0] == '-' {
		return stream.ID{}, nil
	}
	if len(b) == 1 && b[0] == '+' {
		return stream.MaxID, nil
	}
	open := len(b) > 1 && b[0] == '('
	if open {
		b = b[1:]
	}
	id, ok := parseID(b, e.missing)
	if !ok {
		return id, errID
	}
	if open {
		if id, ok = e.step(id); !ok {
			return id, e.beyond
		}
	}
	return id, nil
}

// read reads an end of a range.
func (e *bound) read(a *commands.Args) stream.ID {
	b := a.Bytes()
	if a.Err() != nil {
		return stream.ID{}
	}
	id, err := e.parse(b)
	if err != nil {
		a.Fail(err)
	}
	return id
}

// fewIDs is how many IDs most calls name: those find room on the stack.
const fewIDs = 16

// readIDs reads the IDs that are left, and appends them to ids.
func readIDs(a *commands.Args, ids []stream.ID) []stream.ID {
	ids = slices.Grow(ids, a.Left())
	for a.More() {
		ids = append(ids, readID(a))
	}
	return ids
}

// readCount reads a number of entries; a negative one is 0.
func readCount(a *commands.Args) int { return int(max(a.Int(), 0)) }

// replyID writes an ID.
func replyID(r *commands.Reply, id stream.ID) {
	var room [41]byte
	r.Bulk(id.Append(room[:0]))
}

// replyEntry writes an entry: its ID, and its fields and values.
func replyEntry(r *commands.Reply, e *stream.Entry) {
	r.Array(2)
	replyContent(r, e)
}

// replyDelivery is replyEntry with the ms since an entry was delivered before, and
// how often it was.
func replyDelivery(r *commands.Reply, e *stream.Entry, idle, deliveries int64) {
	r.Array(4)
	replyContent(r, e)
	r.Int(idle)
	r.Int(deliveries)
}

func replyContent(r *commands.Reply, e *stream.Entry) {
	replyID(r, e.ID)
	r.Array(2 * e.Len())
	e.Each(func(field, value []byte) {
		r.Bulk(field)
		r.Bulk(value)
	})
}
