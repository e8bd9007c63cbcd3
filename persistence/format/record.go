package format

import (
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// A record is what one command, or one MULTI, changed: operations as described
// at structures.Change. OpKey names the key that the operations after it are
// about. An operation depends on its key's state before it and on nothing else.
// Codes from 16 belong to the type of the value. These numbers are on disk and
// never change.
const (
	OpKey      = 1  // physical database, key
	OpSet      = 2  // bytes [, expiry]: the key is this string
	OpPatch    = 3  // offset, bytes: written into the string; an absent one is empty
	OpDelete   = 4  // the key is gone
	OpExpireAt = 5  // expiry in unix ms
	OpPersist  = 6  // the expiry is gone
	OpRestore  = 7  // kind, expiry (0 none), head [, page id, page]...: the key is this value
	OpMapping  = 8  // next physical database, physical database of each logical one
	OpLibrary  = 9  // name, source: the library is this; name: it is gone; nothing: all are
	OpUser     = 10 // name, rules: the user is this; name: it is gone

	OpConfiguration = 11 // name, value: the directive is this in the group; name: it is each member's own again
	OpMove          = 12 // name, text: the move of slots is to be made; name: it is over

	OpReplicated = 13 // offset, database [, follows, ID, ID2, second]: see Replicated

	OpBless = 14 // 1: the key is not to be deleted to make room; 0: it may be
)

// RecordKey records which key the operations behind it are about.
func RecordKey(c *structures.Change, phys uint32, key []byte) {
	c.Op(OpKey, 2)
	c.Uint(uint64(phys))
	c.Bytes(key)
}

// RecordSet records that the key is a string, which expires unless expire is 0.
func RecordSet(c *structures.Change, value []byte, expire int64) {
	if expire == 0 {
		c.Op(OpSet, 1)
		c.Bytes(value)
		return
	}
	c.Op(OpSet, 2)
	c.Bytes(value)
	c.Int(expire)
}

// RecordSetLength is RecordSet for bytes that stand elsewhere, n of them. It
// returns the place in the record where they belong.
func RecordSetLength(c *structures.Change, n int, expire int64) (at int) {
	if expire == 0 {
		c.Op(OpSet, 1)
		c.Length(n)
		return c.Len()
	}
	c.Op(OpSet, 2)
	c.Length(n)
	at = c.Len()
	c.Int(expire)
	return at
}

// RecordRestore records that the key is a value, whole.
func RecordRestore(c *structures.Change, v structures.Value, expire int64) {
	pages, size := measure(v)
	recordRestore(c, v.Kind(), expire, pages)
	appendBody(c, v, size)
}

// Body is what RecordRestore records of a value, without its expiry.
type Body struct {
	Bytes []byte
	kind  structures.Kind
	pages int
}

// RecordBody returns the body of a value.
func RecordBody(v structures.Value) Body {
	var c structures.Change
	pages, size := measure(v)
	appendBody(&c, v, size)
	return Body{c.Take(), v.Kind(), pages}
}

// RecordRestoreBody is RecordRestore for a body that stands elsewhere. It returns the place in the record where
// that belongs.
func RecordRestoreBody(c *structures.Change, b Body, expire int64) (at int) {
	recordRestore(c, b.kind, expire, b.pages)
	return c.Len()
}

func recordRestore(c *structures.Change, kind structures.Kind, expire int64, pages int) {
	c.Op(OpRestore, 3+2*pages)
	c.Uint(uint64(kind))
	c.Int(expire)
}

// frame is the most that the number and the length of a page take in a record.
const frame = 9 + 3

// measure counts the pages of a value, and the bytes that they take in a record at the most.
func measure(v structures.Value) (pages, size int) {
	v.Pages(true, func(_ uint64, page []byte) {
		pages++
		size += frame + len(page)
	})
	return pages, size
}

// appendBody appends head and pages, for which it makes room at once: while a large record grows, its bytes
// would be copied again and again.
func appendBody(c *structures.Change, v structures.Value, size int) {
	head := v.AppendHead(nil)
	c.Grow(frame + len(head) + size)
	c.Bytes(head)
	v.Pages(true, func(id uint64, page []byte) {
		c.Uint(id)
		c.Bytes(page)
	})
}

// RecordMapping records which physical database each logical one is.
func RecordMapping(c *structures.Change, next uint32, phys []uint32) {
	c.Op(OpMapping, 1+len(phys))
	c.Uint(uint64(next))
	for _, p := range phys {
		c.Uint(uint64(p))
	}
}

// RecordBless records whether the key is to stay when keys are deleted to make room.
func RecordBless(c *structures.Change, on bool) {
	c.Op(OpBless, 1)
	if on {
		c.Uint(1)
	} else {
		c.Uint(0)
	}
}

// DecodeMapping reads the arguments of OpMapping.
func DecodeMapping(args *structures.Args) (next uint32, phys []uint32, err error) {
	next = uint32(args.Uint())
	for args.Left() > 0 {
		p := args.Uint()
		if p >= uint64(next) {
			return 0, nil, fmt.Errorf("database %d of %d: %w", p, next, ErrCorrupt)
		}
		phys = append(phys, uint32(p))
	}
	return next, phys, args.Done()
}
