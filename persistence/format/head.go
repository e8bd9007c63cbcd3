package format

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// Head is what the disk has of a value besides its pages.
//
//	format and flags (1) | kind (1) | record number (8) | expiry in unix ms (8), if flagged | payload
//
// The low four bits of the first byte are the format: 1, or 2 if the key is
// blessed, which earlier versions would not keep. The record number is
// the newest one when the value was encoded under its shard's lock: the value
// contains what records up to it did to this key and nothing of later ones.
// The payload of a short string is its bytes, of others what AppendHead wrote.
type Head struct {
	Kind    structures.Kind
	Short   bool // payload is the bytes of a short string
	Paged   bool // there are pages
	Blessed bool // the key is not to be deleted to make room
	LSN     uint64
	Expire  int64 // unix ms, 0 none
	Payload []byte
}

const (
	headFormat  = 1
	headBlessed = 2
	headFormats = 0x0f // bits of the format
	headExpiry  = 0x10
	headPaged   = 0x20
	headShort   = 0x40
)

func (h *Head) flags() byte {
	f := byte(headFormat)
	if h.Blessed {
		f = headBlessed
	}
	if h.Expire != 0 {
		f |= headExpiry
	}
	if h.Paged {
		f |= headPaged
	}
	if h.Short {
		f |= headShort
	}
	return f
}

// Size is the length of a head without its payload.
func (h *Head) Size() int {
	if h.Expire != 0 {
		return 18
	}
	return 10
}

// AppendHead appends a head without its payload, which the caller appends.
func AppendHead(dst []byte, h *Head) []byte {
	dst = append(dst, h.flags(), byte(h.Kind))
	dst = binary.LittleEndian.AppendUint64(dst, h.LSN)
	if h.Expire != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Expire))
	}
	return dst
}

// DecodeHead reads a head; its payload aliases b.
func DecodeHead(b []byte) (h Head, err error) {
	if len(b) < 10 || b[0]&headFormats != headFormat && b[0]&headFormats != headBlessed {
		return Head{}, fmt.Errorf("head of %d bytes: %w", len(b), ErrCorrupt)
	}
	h.Blessed = b[0]&headFormats == headBlessed
	h.Kind, h.LSN = structures.Kind(b[1]), binary.LittleEndian.Uint64(b[2:])
	h.Paged, h.Short = b[0]&headPaged != 0, b[0]&headShort != 0
	h.Payload = b[10:]
	if b[0]&headExpiry != 0 {
		if len(h.Payload) < 8 {
			return Head{}, fmt.Errorf("expiry of head: %w", ErrCorrupt)
		}
		h.Expire = int64(binary.LittleEndian.Uint64(h.Payload))
		h.Payload = h.Payload[8:]
		if h.Expire == 0 {
			return Head{}, fmt.Errorf("expiry of head: %w", ErrCorrupt)
		}
	}
	if h.Short && h.Kind != structures.KindString {
		return Head{}, fmt.Errorf("short value of kind %d: %w", h.Kind, ErrCorrupt)
	}
	return h, nil
}
