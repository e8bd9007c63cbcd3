package format

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// Replicated says whose data a store has: which part of the stream of a master of Redis's protocol was applied to it. ID and
// ID2 are at most 255 bytes long.
type Replicated struct {
	Follows bool   // the stream goes on; false: the store was promoted, or has never followed
	ID      string // replication ID of the stream; "": none
	Offset  int64  // bytes of the stream that were applied
	DB      int    // the database that the stream has selected there
	ID2     string // the ID that the stream had before; "": none
	Second  int64  // the first offset that does not belong to ID2
}

// Incomplete is said of the data of a group while that of a master goes into it key by key: it is of no use, and all of it
// has to come again unless the end is reached.
func Incomplete() Replicated { return Replicated{Follows: true, Offset: -1} }

// A record says it in one of two forms: with two arguments, offset and database, the rest is as before.

// RecordReplicated records all of it.
func RecordReplicated(c *structures.Change, r *Replicated) {
	follows := uint64(0)
	if r.Follows {
		follows = 1
	}
	c.Op(OpReplicated, 6)
	c.Int(r.Offset)
	c.Uint(uint64(r.DB))
	c.Uint(follows)
	c.String(r.ID)
	c.String(r.ID2)
	c.Int(r.Second)
}

// RecordOffset records that the stream was applied up to an offset, behind which a database is selected.
func RecordOffset(c *structures.Change, offset int64, db int) {
	c.Op(OpReplicated, 2)
	c.Int(offset)
	c.Uint(uint64(db))
}

// DecodeReplicated reads the arguments of OpReplicated; whole is false if they are an offset and a database only.
func DecodeReplicated(args *structures.Args) (r Replicated, whole bool, err error) {
	r.Offset, r.DB = args.Int(), int(uint32(args.Uint()))
	if whole = args.Left() > 0; whole {
		r.Follows = args.Uint() != 0
		r.ID, r.ID2, r.Second = string(args.Bytes()), string(args.Bytes()), args.Int()
	}
	return r, whole, args.Done()
}

// append appends the field of the meta.
func (r *Replicated) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Offset))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(r.DB))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Second))
	dst = append(append(dst, byte(len(r.ID))), r.ID...)
	return append(append(dst, byte(len(r.ID2))), r.ID2...)
}

// decode reads what append has appended.
func (r *Replicated) decode(b []byte) error {
	const fixed = 8 + 4 + 8
	wrong := fmt.Errorf("replication in meta with %d bytes: %w", len(b), ErrCorrupt)
	if len(b) < fixed {
		return wrong
	}
	r.Offset, r.DB = int64(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint32(b[8:]))
	r.Second = int64(binary.LittleEndian.Uint64(b[12:]))
	for b, ids := b[fixed:], []*string{&r.ID, &r.ID2}; ; {
		switch {
		case len(ids) == 0 && len(b) == 0:
			return nil
		case len(ids) == 0, len(b) == 0, int(b[0]) >= len(b):
			return wrong
		}
		*ids[0], b, ids = string(b[1:1+b[0]]), b[1+b[0]:], ids[1:]
	}
}
