package json

import (
	"encoding/binary"
	"math"

	"github.com/vigildb/vigil/structures"
)

// Bytes of values. These numbers are on disk and never change.
//
//	00, 01, 02        null, false, true
//	03..06 | int      an integer of 1, 2, 4, 8 bytes, little endian
//	07 | uint (8)     an integer above 2^63-1
//	08 | float (8)    a double
//	09 | float (4)    a number of an array that was stored as FP32
//	0a, 0b | (2)      the same of FP16 and of BF16
//	0c | length (uvarint) | bytes
//	0d | bytes (uvarint) | elements (uvarint) | value ...            an array
//	0e | bytes (uvarint) | members (uvarint) | { name | value } ...  an object
//	0f | chain (uvarint)          an array, an object or a string whose members are in a chain
//	10 | bytes (8) | elements (8) | value ...   an array of more than nearBytes
//	11 | bytes (8) | members (8) | { name | value } ...
//	40 + n            the integer n, up to 63
//	80 + n | n bytes  a string of up to 127 bytes
//
// The bytes of a container are those behind its two numbers. A name is a length (uvarint) and
// bytes. 0f stands only within documents, 10 and 11 only outside: in records of the journal and
// while a command runs.
const (
	tagNull       = 0x00
	tagFalse      = 0x01
	tagTrue       = 0x02
	tagInt1       = 0x03
	tagInt2       = 0x04
	tagInt4       = 0x05
	tagInt8       = 0x06
	tagUint       = 0x07
	tagDouble     = 0x08
	tagSingle     = 0x09
	tagHalf       = 0x0a
	tagBrain      = 0x0b
	tagString     = 0x0c
	tagArray      = 0x0d
	tagObject     = 0x0e
	tagChain      = 0x0f
	tagLongArray  = 0x10
	tagLongObject = 0x11
	tagSmallInt   = 0x40
	tagShort      = 0x80
)

const (
	// nearBytes bounds a value that lies among its neighbours, and is about the size of a
	// page of a chain.
	nearBytes = 8 << 10
	// longHead is the length of the head of a long container.
	longHead = 1 + 8 + 8
	// MaxDepth is how many arrays and objects may lie in one another.
	MaxDepth = 127
	// maxStored is the same for documents that come from elsewhere: RESTORE takes one more.
	maxStored = MaxDepth + 1
	// MaxName is the most bytes of a name.
	MaxName = 1 << 20
)

// fixedSize has the lengths of values that say nothing of it: 0 for the others.
var fixedSize = [tagLongObject + 1]byte{1, 1, 1, 2, 3, 5, 9, 9, 9, 5, 3, 3}

// sizeOf is the length of the value that b, which is sound, begins with.
func sizeOf(b []byte) int {
	tag := b[0]
	switch {
	case tag >= tagShort:
		return 1 + int(tag&^tagShort)
	case tag >= tagSmallInt:
		return 1
	}
	if n := fixedSize[tag]; n > 0 {
		return int(n)
	}
	if tag >= tagLongArray {
		return longHead + int(binary.LittleEndian.Uint64(b[1:]))
	}
	n, w := structures.ReadUvarint(b[1:])
	switch tag {
	case tagString:
		return 1 + w + n
	case tagChain:
		return 1 + w
	}
	_, v := structures.ReadUvarint(b[1+w:])
	return 1 + w + v + n
}

// containerOf returns the number of members of the array or object that b begins with, and where
// these begin and end.
func containerOf(b []byte) (count, from, to int) {
	if b[0] >= tagLongArray {
		size := int(binary.LittleEndian.Uint64(b[1:]))
		return int(binary.LittleEndian.Uint64(b[9:])), longHead, longHead + size
	}
	size, w := structures.ReadUvarint(b[1:])
	count, v := structures.ReadUvarint(b[1+w:])
	return count, 1 + w + v, 1 + w + v + size
}

// nameOf returns the name that b begins with, and the length of both.
func nameOf(b []byte) (name []byte, size int) {
	n, w := structures.ReadUvarint(b)
	return b[w : w+n : w+n], w + n
}

// stringOf returns the bytes of the string that b begins with, which is in no chain.
func stringOf(b []byte) []byte {
	if b[0] >= tagShort {
		return b[1 : 1+int(b[0]&^tagShort)]
	}
	n, w := structures.ReadUvarint(b[1:])
	return b[1+w : 1+w+n]
}

func appendContainerHead(dst []byte, tag byte, size, count int) []byte {
	if tag >= tagLongArray {
		dst = binary.LittleEndian.AppendUint64(append(dst, tag), uint64(size))
		return binary.LittleEndian.AppendUint64(dst, uint64(count))
	}
	dst = binary.AppendUvarint(append(dst, tag), uint64(size))
	return binary.AppendUvarint(dst, uint64(count))
}

// headSize is the length of the head of a container that is not long.
func headSize(size, count int) int {
	return 1 + structures.UvarintLen(uint64(size)) + structures.UvarintLen(uint64(count))
}

// AppendInt appends an integer.
func AppendInt(dst []byte, v int64) []byte {
	switch {
	case v >= 0 && v < 64:
		return append(dst, tagSmallInt|byte(v))
	case v == int64(int8(v)):
		return append(dst, tagInt1, byte(v))
	case v == int64(int16(v)):
		return binary.LittleEndian.AppendUint16(append(dst, tagInt2), uint16(v))
	case v == int64(int32(v)):
		return binary.LittleEndian.AppendUint32(append(dst, tagInt4), uint32(v))
	}
	return binary.LittleEndian.AppendUint64(append(dst, tagInt8), uint64(v))
}

// AppendUint appends an integer that is not negative.
func AppendUint(dst []byte, v uint64) []byte {
	if v <= math.MaxInt64 {
		return AppendInt(dst, int64(v))
	}
	return binary.LittleEndian.AppendUint64(append(dst, tagUint), v)
}

// AppendDouble appends a number with a fraction, or one that is kept as if it had one. It is
// finite.
func AppendDouble(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, tagDouble), math.Float64bits(v))
}

// AppendBool appends true or false.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, tagTrue)
	}
	return append(dst, tagFalse)
}

// AppendNull appends null.
func AppendNull(dst []byte) []byte { return append(dst, tagNull) }

// AppendString appends a string of UTF-8.
func AppendString(dst, s []byte) []byte {
	if len(s) < 128 {
		return append(append(dst, tagShort|byte(len(s))), s...)
	}
	return structures.Append(binary.AppendUvarint(append(dst, tagString), uint64(len(s))), s)
}

// appendName appends the name of a member.
func appendName(dst, name []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(name))), name...)
}

// nameSize is the length of what appendName appends.
func nameSize(name []byte) int { return structures.UvarintLen(uint64(len(name))) + len(name) }
