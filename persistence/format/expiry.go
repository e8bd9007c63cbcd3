package format

import (
	"encoding/binary"
	"fmt"
)

// The index of expiries is lists of the heads that expire in a stretch of time:
//
//	'e' | group (2) | physical database (4) | time in unix ms (8) | sum of the value (8)
//	    -> { hash (8) | ticks from the time of the list to the expiry (4) }...
const (
	PrefixExpiry   = 'e'
	expiryKeyFixed = groupKeyFixed + 4 + 8 + 8
	ExpiryTick     = 256 // ms
	expiryEntry    = 8 + 4
)

// AppendExpiryKey appends the key of a list whose value has this sum.
func AppendExpiryKey(dst []byte, phys uint32, at int64, sum uint64) []byte {
	dst = binary.BigEndian.AppendUint64(AppendPhysBound(dst, PrefixExpiry, uint64(phys)), uint64(at))
	return binary.BigEndian.AppendUint64(dst, sum)
}

// SplitExpiryKey takes the key of a list apart.
func SplitExpiryKey(k []byte) (phys uint32, at int64, sum uint64, err error) {
	if len(k) != expiryKeyFixed {
		return 0, 0, 0, fmt.Errorf("expiry key of %d bytes: %w", len(k), ErrCorrupt)
	}
	return binary.BigEndian.Uint32(k[groupKeyFixed:]), int64(binary.BigEndian.Uint64(k[groupKeyFixed+4:])),
		binary.BigEndian.Uint64(k[expiryKeyFixed-8:]), nil
}

// Expiring is an entry of a list: keys with a hash may expire.
type Expiring struct {
	Hash  uint64
	Ticks uint32 // of ExpiryTick, from the time of the list
}

// AppendExpiring appends an entry of a list.
func AppendExpiring(dst []byte, e Expiring) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(dst, e.Hash), e.Ticks)
}

// DecodeExpiring appends the entries of a list.
func DecodeExpiring(dst []Expiring, list []byte) ([]Expiring, error) {
	if len(list)%expiryEntry != 0 {
		return nil, fmt.Errorf("expiries of %d bytes: %w", len(list), ErrCorrupt)
	}
	for ; len(list) > 0; list = list[expiryEntry:] {
		dst = append(dst, Expiring{binary.LittleEndian.Uint64(list), binary.LittleEndian.Uint32(list[8:])})
	}
	return dst, nil
}
