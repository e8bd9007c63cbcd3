package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The head of a segment; see the comment of the package for a drawing.
const (
	// HeadBytes is the length of the head of a segment: its first frame is there.
	HeadBytes = 4096
	// MaxHead is how many bytes of the caller's a head has room for.
	MaxHead = headSum - headFixed

	magic       = "vigillog"
	format      = 1
	headFlags   = 9
	headOwn     = 10 // length of the caller's bytes
	headNumber  = 12
	headBefore  = 20
	headStore   = 28
	headFixed   = 44
	headSum     = HeadBytes - sumBytes
	sumBytes    = 4
	flagBig     = 1
	knownFlags  = flagBig
	formatIndex = 8
)

// StoreID tells the segments of one store from those of others.
type StoreID [16]byte

// head is what the head of a segment says.
type head struct {
	store  StoreID
	number uint64
	before int64 // where the segment before ends
	big    bool  // the segment has one frame, in pieces
	own    []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the bytes of a head. Own is not longer than MaxHead.
func (h *head) encode() []byte {
	b := make([]byte, HeadBytes)
	copy(b, magic)
	b[formatIndex] = format
	if h.big {
		b[headFlags] = flagBig
	}
	binary.LittleEndian.PutUint16(b[headOwn:], uint16(len(h.own)))
	binary.LittleEndian.PutUint64(b[headNumber:], h.number)
	binary.LittleEndian.PutUint64(b[headBefore:], uint64(h.before))
	copy(b[headStore:], h.store[:])
	copy(b[headFixed:headSum], h.own)
	binary.LittleEndian.PutUint32(b[headSum:], crc32.Checksum(b[:headSum], castagnoli))
	return b
}

// decodeHead reads a head. The error is ErrVersion for one that a later version wrote, and else says
// what is wrong with it. Own refers to b. The byte of the format is changed in b while the checksum is calculated.
func decodeHead(b []byte) (h head, err error) {
	if len(b) < HeadBytes {
		return h, fmt.Errorf("its head has %d bytes instead of %d", len(b), HeadBytes)
	}
	if string(b[:formatIndex]) != magic {
		return h, errors.New("it does not begin as a segment does")
	}
	version := b[formatIndex]
	b[formatIndex] = format
	whole := crc32.Checksum(b[:headSum], castagnoli) == binary.LittleEndian.Uint32(b[headSum:])
	b[formatIndex] = version
	switch {
	case version != format && !whole:
		return h, fmt.Errorf("segment of format %d: %w", version, ErrVersion)
	case version != format: // a segment of another format would not have the checksum of this one
		return h, fmt.Errorf("its head says format %d, and was written as format %d", version, format)
	case !whole:
		return h, errors.New("its head does not have its checksum")
	case b[headFlags]&^knownFlags != 0:
		return h, fmt.Errorf("segment with flags %#x: %w", b[headFlags], ErrVersion)
	}
	own := int(binary.LittleEndian.Uint16(b[headOwn:]))
	h = head{number: binary.LittleEndian.Uint64(b[headNumber:]), before: int64(binary.LittleEndian.Uint64(b[headBefore:])),
		store: StoreID(b[headStore:headFixed]), big: b[headFlags]&flagBig != 0}
	if own > MaxHead || h.before < 0 {
		return h, errors.New("its head has numbers that cannot be")
	}
	h.own = b[headFixed : headFixed+own]
	return h, nil
}

// seedOf is what the checksums of the heads of a segment's frames begin with.
func seedOf(store StoreID, number uint64) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], number)
	return crc32.Update(crc32.Checksum(store[:], castagnoli), castagnoli, b[:])
}
