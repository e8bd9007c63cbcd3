package hash

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// entry is one field of a hash, read from a buffer that it aliases.
//
//	length of field << 1 | timed (uvarint) | length of value (uvarint)
//	| expiry (8 bytes, little endian, if timed) | field | value
//
// The same bytes are in memory and on disk. This layout is on disk and never
// changes.
type entry struct {
	field, value []byte
	expiry       int64 // absolute milliseconds, 0 for none
	at, size     int   // where it lies in the buffer
}

// expired reports whether the field is expired at a time. At time 0 no field is.
func (e *entry) expired(now int64) bool { return e.expiry != 0 && e.expiry <= now }

// hashEntrySize is the size of an entry.
func hashEntrySize(field, value []byte, expiry int64) int {
	size := structures.UvarintLen(uint64(len(field))<<1) + structures.UvarintLen(uint64(len(value))) + len(field) + len(value)
	if expiry != 0 {
		size += 8
	}
	return size
}

// writeHashEntry puts an entry at the beginning of dst, which has room.
func writeHashEntry(dst []byte, field, value []byte, expiry int64) {
	head := uint64(len(field)) << 1
	if expiry != 0 {
		head |= 1
	}
	w := binary.PutUvarint(dst, head)
	w += binary.PutUvarint(dst[w:], uint64(len(value)))
	if expiry != 0 {
		binary.LittleEndian.PutUint64(dst[w:], uint64(expiry))
		w += 8
	}
	w += structures.Copy(dst[w:], field)
	structures.Copy(dst[w:], value)
}

// readField reads no more than the field of the entry at an offset of a buffer that this
// package wrote. The usual entry has one byte for each length, and no expiry.
func readField(buf []byte, at int) []byte {
	head := int(buf[at])
	if head&1|(head|int(buf[at+1]))&0x80 == 0 {
		return buf[at+2 : at+2+head>>1]
	}
	return readEntry(buf, at).field
}

// readEntry reads the entry at an offset of a buffer that this package wrote.
func readEntry(buf []byte, at int) entry {
	head, w := int(buf[at]), at+1
	if head >= 0x80 {
		var n int
		head, n = structures.ReadUvarint(buf[at:])
		w = at + n
	}
	size := int(buf[w])
	if size < 0x80 {
		w++
	} else {
		var n int
		size, n = structures.ReadUvarint(buf[w:])
		w += n
	}
	e := entry{at: at}
	if head&1 != 0 {
		e.expiry = int64(binary.LittleEndian.Uint64(buf[w:]))
		w += 8
	}
	mid := w + head>>1
	end := mid + size
	e.field, e.value, e.size = buf[w:mid:mid], buf[mid:end:end], end-at
	return e
}

// parseEntry reads the first entry of bytes that may be anything.
func parseEntry(b []byte) (entry, error) {
	head, w := binary.Uvarint(b)
	if w <= 0 || head>>1 > uint64(len(b)) {
		return entry{}, fmt.Errorf("length of a hash field: %w", structures.ErrCorrupt)
	}
	size, v := binary.Uvarint(b[w:])
	if v <= 0 || size > uint64(len(b)) {
		return entry{}, fmt.Errorf("length of a hash value: %w", structures.ErrCorrupt)
	}
	w += v
	e := entry{}
	if head&1 != 0 {
		if len(b)-w < 8 {
			return entry{}, fmt.Errorf("expiry of a hash field: %w", structures.ErrCorrupt)
		}
		if e.expiry = int64(binary.LittleEndian.Uint64(b[w:])); e.expiry <= 0 {
			return entry{}, fmt.Errorf("expiry %d of a hash field: %w", e.expiry, structures.ErrCorrupt)
		}
		w += 8
	}
	field, value := int(head>>1), int(size)
	if field+value > len(b)-w {
		return entry{}, fmt.Errorf("hash field of %d and %d bytes: %w", field, value, structures.ErrCorrupt)
	}
	e.field, e.value, e.size = b[w:w+field], b[w+field:w+field+value], w+field+value
	return e, nil
}
