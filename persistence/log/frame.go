package log

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// The head of a frame; see the comment of the package for a drawing.
const (
	frameHead   = 17
	frameSynced = 4
	frameKind   = 8
	frameSum    = 9
	frameOwnSum = 13

	// MaxPayload is the most bytes that a payload may have.
	MaxPayload = 1<<32 - 1
)

// Frame is a frame as it is read.
type Frame struct {
	Position Position // where it begins
	Next     Position // where it ends, in the same segment
	Kind     byte
	Len      int64 // of the payload, in bytes

	// Payload is valid until the next frame is read. It is nil if the frame is longer than a
	// segment is otherwise: then Body has it.
	Payload []byte
	// Body reads such a payload, checking each MiB before it returns any of it. It is nil for other
	// frames, and valid until the next frame is read. Its errors are *Damage, or those of the disk.
	// What is not read of it is not checked.
	Body io.Reader
}

// Bytes returns the payload, however long it is. It is valid until the next frame is read.
func (f *Frame) Bytes() ([]byte, error) {
	if f.Body == nil {
		return f.Payload, nil
	}
	var b bytes.Buffer // grows with what could be read, not with what the file says
	_, err := io.Copy(&b, f.Body)
	return b.Bytes(), err
}

// header is what the head of a frame says.
type header struct {
	length uint32
	synced uint32
	kind   byte
	sum    uint32 // of the payload, or of the checksums of its pieces
}

// put writes the head of a frame in a segment with a seed to b.
func (h header) put(b []byte, seed uint32) {
	binary.LittleEndian.PutUint32(b, h.length)
	binary.LittleEndian.PutUint32(b[frameSynced:], h.synced)
	b[frameKind] = h.kind
	binary.LittleEndian.PutUint32(b[frameSum:], h.sum)
	binary.LittleEndian.PutUint32(b[frameOwnSum:], crc32.Update(seed, castagnoli, b[:frameOwnSum]))
}

// decodeHeader reads the head of a frame at an offset of a segment with a seed. It is quick to refuse what
// is none, since it is asked for every offset when heads are searched for.
func decodeHeader(b []byte, seed uint32, offset int64) (h header, ok bool) {
	b = b[:frameHead]
	h.synced = binary.LittleEndian.Uint32(b[frameSynced:])
	h.kind = b[frameKind]
	if h.kind == 0 || h.synced < HeadBytes || int64(h.synced) > offset {
		return h, false
	}
	h.length = binary.LittleEndian.Uint32(b)
	h.sum = binary.LittleEndian.Uint32(b[frameSum:])
	return h, crc32.Update(seed, castagnoli, b[:frameOwnSum]) == binary.LittleEndian.Uint32(b[frameOwnSum:])
}

// rawHeader reads a head that was put into memory, and needs no checks.
func rawHeader(b []byte) header {
	return header{length: binary.LittleEndian.Uint32(b), synced: binary.LittleEndian.Uint32(b[frameSynced:]),
		kind: b[frameKind], sum: binary.LittleEndian.Uint32(b[frameSum:])}
}
