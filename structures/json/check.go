package json

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/vigildb/vigil/structures"
)

// checker looks at bytes that came from a disk or a journal, before others take them for sound.
type checker struct {
	b []byte
	// chain says whether there is a chain of a number. nil: the values are of a record of the
	// journal, which have none and may be long.
	chain func(id uint64) bool
}

// checkValues returns an error unless b is so many values, or members of an object, and nothing
// else.
func checkValues(b []byte, members bool, count int, depth int, chain func(id uint64) bool) error {
	c := checker{b: b, chain: chain}
	for range count {
		if !c.member(members, depth) {
			return fmt.Errorf("JSON value with %d bytes left: %w", len(c.b), structures.ErrCorrupt)
		}
	}
	if len(c.b) > 0 {
		return fmt.Errorf("%d bytes behind JSON values: %w", len(c.b), structures.ErrCorrupt)
	}
	return nil
}

func (c *checker) member(named bool, depth int) bool {
	if named {
		name, ok := c.text()
		if !ok || len(name) > MaxName {
			return false
		}
	}
	return c.value(depth)
}

// text takes a length and so many bytes of UTF-8.
func (c *checker) text() (s []byte, ok bool) {
	n, w := binary.Uvarint(c.b)
	if w <= 0 || n > uint64(len(c.b)-w) {
		return nil, false
	}
	s = c.b[w : w+int(n)]
	c.b = c.b[w+int(n):]
	return s, utf8.Valid(s)
}

// value takes a value, which may have so many containers in one another.
func (c *checker) value(depth int) bool {
	if len(c.b) == 0 {
		return false
	}
	tag := c.b[0]
	size := 1
	switch {
	case tag >= tagShort:
		size += int(tag &^ tagShort)
	case tag >= tagSmallInt:
	case tag == tagString:
		c.b = c.b[1:]
		_, ok := c.text()
		return ok
	case tag == tagChain:
		id, w := binary.Uvarint(c.b[1:])
		if w <= 0 || c.chain == nil || !c.chain(id) {
			return false
		}
		size += w
	case tag == tagArray || tag == tagObject || tag == tagLongArray || tag == tagLongObject:
		return depth > 0 && c.container(tag, depth-1)
	case tag < tagString:
		size = int(fixedSize[tag])
	default:
		return false
	}
	if size > len(c.b) {
		return false
	}
	ok := tag < tagShort || utf8.Valid(c.b[1:size])
	if tag >= tagDouble && tag <= tagBrain {
		f, _ := Value{b: c.b}.Float()
		ok = !math.IsInf(f, 0) && !math.IsNaN(f)
	}
	c.b = c.b[size:]
	return ok
}

func (c *checker) container(tag byte, depth int) bool {
	var size, count uint64
	if tag >= tagLongArray {
		if c.chain != nil || len(c.b) < longHead {
			return false
		}
		size, count = binary.LittleEndian.Uint64(c.b[1:]), binary.LittleEndian.Uint64(c.b[9:])
		c.b = c.b[longHead:]
	} else {
		var w, v int
		if size, w = binary.Uvarint(c.b[1:]); w <= 0 {
			return false
		}
		if count, v = binary.Uvarint(c.b[1+w:]); v <= 0 || size > nearBytes {
			return false
		}
		c.b = c.b[1+w+v:]
	}
	if size > uint64(len(c.b)) || count > size {
		return false
	}
	rest := c.b[size:]
	c.b = c.b[:size]
	for range count {
		if !c.member(tag == tagObject || tag == tagLongObject, depth) {
			return false
		}
	}
	if len(c.b) > 0 {
		return false
	}
	c.b = rest
	return true
}
