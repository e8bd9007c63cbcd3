package log

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// pieceBytes is how much of a long payload has a checksum of its own.
const pieceBytes = 1 << 20

// sumsBytes is the length of the checksums of the pieces of a payload.
func sumsBytes(length int64) int64 { return (length + pieceBytes - 1) / pieceBytes * sumBytes }

// pieceSums returns the checksums of the pieces of a payload, which may be cut anywhere into parts.
func pieceSums(payload [][]byte) (sums []byte) {
	sum, room := uint32(0), pieceBytes
	for _, p := range payload {
		for len(p) > 0 {
			n := min(room, len(p))
			sum = crc32.Update(sum, castagnoli, p[:n])
			p, room = p[n:], room-n
			if room == 0 {
				sums = binary.LittleEndian.AppendUint32(sums, sum)
				sum, room = 0, pieceBytes
			}
		}
	}
	if room < pieceBytes {
		sums = binary.LittleEndian.AppendUint32(sums, sum)
	}
	return sums
}

// body reads the payload of a frame that is in pieces.
type body struct {
	file  io.ReaderAt
	name  string
	frame int64  // where the frame begins
	off   int64  // of the next piece
	left  int64  // bytes that were not read from the file yet
	sums  []byte // of the pieces from off on
	piece []byte // what is left of the piece that was read last
	buf   []byte
	err   error
}

// openBody finds the checksums of the pieces of a frame at an offset. The error is a *Damage if they cannot
// be right.
func openBody(file io.ReaderAt, name string, offset int64, h header) (*body, error) {
	b := &body{file: file, name: name, frame: offset, off: offset + frameHead, left: int64(h.length)}
	b.sums = make([]byte, sumsBytes(b.left))
	at := b.off + b.left
	n, err := file.ReadAt(b.sums, at)
	if err != nil && err != io.EOF {
		return nil, readError(name, at, err)
	}
	if n < len(b.sums) || crc32.Checksum(b.sums, castagnoli) != h.sum {
		return nil, &Damage{File: name, Offset: offset, Reason: fmt.Sprintf("the checksums of the pieces of a frame, at offset %d, cannot be read", at)}
	}
	return b, nil
}

// Read reads of a piece that was checked.
func (b *body) Read(p []byte) (int, error) {
	for len(b.piece) == 0 {
		if b.left == 0 && b.err == nil {
			b.err = io.EOF
		}
		if b.err == nil {
			b.err = b.next()
		}
		if b.err != nil {
			return 0, b.err
		}
	}
	n := copy(p, b.piece)
	b.piece = b.piece[n:]
	return n, nil
}

// next reads the next piece.
func (b *body) next() error {
	if b.buf == nil {
		b.buf = make([]byte, min(b.left, pieceBytes))
	}
	piece := b.buf[:min(b.left, pieceBytes)]
	n, err := b.file.ReadAt(piece, b.off)
	if err != nil && err != io.EOF {
		return readError(b.name, b.off, err)
	}
	if n < len(piece) || crc32.Checksum(piece, castagnoli) != binary.LittleEndian.Uint32(b.sums) {
		return &Damage{File: b.name, Offset: b.frame, Reason: fmt.Sprintf("a piece of a frame, at offset %d, does not have its checksum", b.off)}
	}
	b.piece, b.sums = piece, b.sums[sumBytes:]
	b.off, b.left = b.off+int64(n), b.left-int64(n)
	return nil
}
