package rdb

import (
	"encoding/binary"
	"strconv"
)

// listpack is a listpack that is being written. See walkListpack for its bytes.
type listpack struct {
	b     []byte // without the header and the end
	count int
}

const listpackHeader = 4 + 2

// size is the length of the listpack.
func (l *listpack) size() int { return listpackHeader + len(l.b) + 1 }

// appendTo appends the listpack to dst.
func (l *listpack) appendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(l.size()))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(min(l.count, 0xffff)))
	return append(append(dst, l.b...), packEnd)
}

// close ends the element that begins at offset at with its length.
func (l *listpack) close(at int) {
	n := len(l.b) - at
	for i := backLength(n) - 1; i >= 0; i-- {
		part := byte(n>>(7*i)) & 0x7f
		if i < backLength(n)-1 {
			part |= 0x80
		}
		l.b = append(l.b, part)
	}
	l.count++
}

// int appends a number.
func (l *listpack) int(v int64) {
	at := len(l.b)
	switch {
	case v >= 0 && v < 1<<7:
		l.b = append(l.b, byte(v))
	case v >= -1<<12 && v < 1<<12:
		l.b = append(l.b, 0xc0|byte(v>>8)&0x1f, byte(v))
	case v == int64(int16(v)):
		l.b = append(l.b, 0xf1, byte(v), byte(v>>8))
	case v >= -1<<23 && v < 1<<23:
		l.b = append(l.b, 0xf2, byte(v), byte(v>>8), byte(v>>16))
	case v == int64(int32(v)):
		l.b = binary.LittleEndian.AppendUint32(append(l.b, 0xf3), uint32(v))
	default:
		l.b = binary.LittleEndian.AppendUint64(append(l.b, 0xf4), uint64(v))
	}
	l.close(at)
}

// bytes appends a string, or the number that it spells.
func (l *listpack) bytes(s []byte) {
	if v, ok := spelt(s); ok {
		l.int(v)
		return
	}
	at := len(l.b)
	switch n := len(s); {
	case n < 1<<6:
		l.b = append(l.b, 0x80|byte(n))
	case n < 1<<12:
		l.b = append(l.b, 0xe0|byte(n>>8), byte(n))
	default:
		l.b = binary.LittleEndian.AppendUint32(append(l.b, 0xf0), uint32(n))
	}
	l.b = append(l.b, s...)
	l.close(at)
}

// maxLongText is the length of the longest string that may spell a number of 64 bits.
const maxLongText = 20

// spelt reads a number that is spelt as it would be written again.
func spelt(s []byte) (int64, bool) {
	if len(s) == 0 || len(s) > maxLongText || s[0] != '-' && s[0]-'0' > 9 {
		return 0, false
	}
	v, err := strconv.ParseInt(string(s), 10, 64)
	if err != nil {
		return 0, false
	}
	var room [maxLongText]byte
	return v, string(strconv.AppendInt(room[:0], v, 10)) == string(s)
}
