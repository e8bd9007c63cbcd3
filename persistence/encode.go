package persistence

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// Keys in Pebble. Integers in keys are big endian, so that they sort; those in
// values are little endian. These numbers are on disk and never change.
//
//	'c' | group (2) | physical database (4) | shard (1)                                     number of heads (8)
//	'j' | group (2) | number of the chunk (8)                                               chunk of the journal
//	'k' | group (2) | shard (1)                                                             mark (8), see mark.go
//	'm' | group (2)                                                                         meta, see meta.go
//	'o' | group (2) | physical database (4) | hash (8) | key                                head
//	'p' | group (2) | physical database (4) | hash (8) | length of key (4) | key | page (8) page
//	'q', 't'                                                                         see stage.go
//	'd', 'l', 's', 'u'                                                               see texts.go
//
// Heads are apart from pages so that walking the keys does not step over them.
// What a group has of each kind is one range. The index of expiries is in
// expire_index.go.
const (
	prefixCount   = 'c'
	prefixJournal = 'j'
	prefixMark    = 'k'
	prefixLibrary = 'l'
	prefixMeta    = 'm'
	prefixHead    = 'o'
	prefixPage    = 'p'
	prefixStage   = 'q'
	prefixStaged  = 't'
	prefixUser    = 'u'
	prefixRecords = 'r' // of package grouplog

	prefixConfiguration = 'd'
	prefixMove          = 's'

	// group is that of machines which share the data. There is one, of this
	// machine alone.
	group = 0

	groupKeyFixed   = 1 + 2
	countKeyFixed   = groupKeyFixed + 4 + 1
	journalKeyFixed = groupKeyFixed + 8
	markKeyFixed    = groupKeyFixed + 1
	headKeyFixed    = groupKeyFixed + 4 + 8
	pageKeyFixed    = headKeyFixed + 4 // without the key and the number of the page
)

// appendGroup appends what the keys of the group with this prefix begin with.
func appendGroup(dst []byte, prefix byte) []byte {
	return binary.BigEndian.AppendUint16(append(dst, prefix), group)
}

// appendGroupEnd appends the lowest key after those that begin with
// appendGroup's bytes.
func appendGroupEnd(dst []byte, prefix byte) []byte {
	return binary.BigEndian.AppendUint16(append(dst, prefix), group+1)
}

func appendCountKey(dst []byte, phys uint32, shard int) []byte {
	return append(binary.BigEndian.AppendUint32(appendGroup(dst, prefixCount), phys), byte(shard))
}

func appendMetaKey(dst []byte) []byte { return appendGroup(dst, prefixMeta) }

func appendMarkKey(dst []byte, shard int) []byte {
	return append(appendGroup(dst, prefixMark), byte(shard))
}

func appendJournalKey(dst []byte, index uint64) []byte {
	return binary.BigEndian.AppendUint64(appendGroup(dst, prefixJournal), index)
}

// appendHeadBound appends the lowest head key of a hash.
func appendHeadBound(dst []byte, phys uint32, hash uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(appendGroup(dst, prefixHead), phys), hash)
}

// appendHeadEnd appends the lowest key after the head keys of a hash.
func appendHeadEnd(dst []byte, phys uint32, hash uint64) []byte {
	if hash == ^uint64(0) {
		return appendPhysBound(dst, prefixHead, uint64(phys)+1)
	}
	return appendHeadBound(dst, phys, hash+1)
}

func appendHeadKey(dst []byte, phys uint32, hash uint64, key []byte) []byte {
	return append(appendHeadBound(dst, phys, hash), key...)
}

// appendPageBound appends what the keys of all pages of key begin with.
func appendPageBound(dst []byte, phys uint32, hash uint64, key []byte) []byte {
	dst = binary.BigEndian.AppendUint32(appendGroup(dst, prefixPage), phys)
	dst = binary.BigEndian.AppendUint64(dst, hash)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(key)))
	return append(dst, key...)
}

func appendPageKey(dst []byte, phys uint32, hash uint64, key []byte, page uint64) []byte {
	return binary.BigEndian.AppendUint64(appendPageBound(dst, phys, hash, key), page)
}

// isPageKey reports that a key of pages, or of staged ones, is as long as it says.
func isPageKey(k []byte) bool {
	return len(k) >= pageKeyFixed+8 && uint64(len(k)) == pageKeyFixed+8+uint64(binary.BigEndian.Uint32(k[pageKeyFixed-4:]))
}

// pageID is the page that a page key names.
func pageID(k []byte) uint64 { return binary.BigEndian.Uint64(k[len(k)-8:]) }

// appendPhysBound appends the lowest key with this prefix of a database. For
// the database after the last one it is the end of the group.
func appendPhysBound(dst []byte, prefix byte, phys uint64) []byte {
	if phys > 1<<32-1 {
		return appendGroupEnd(dst, prefix)
	}
	return binary.BigEndian.AppendUint32(appendGroup(dst, prefix), uint32(phys))
}

// splitHeadKey takes a head key apart.
func splitHeadKey(b []byte) (phys uint32, hash uint64, key []byte, err error) {
	if len(b) < headKeyFixed || b[0] != prefixHead {
		return 0, 0, nil, fmt.Errorf("head key of %d bytes: %w", len(b), ErrCorrupt)
	}
	return binary.BigEndian.Uint32(b[groupKeyFixed:]), binary.BigEndian.Uint64(b[groupKeyFixed+4:]), b[headKeyFixed:], nil
}

// head is what the disk has of a value besides its pages.
//
//	format and flags (1) | kind (1) | record number (8) | expiry in unix ms (8), if flagged | payload
//
// The low four bits of the first byte are the format, 1. The record number is
// the newest one when the value was encoded under its shard's lock: the value
// contains what records up to it did to this key and nothing of later ones.
// The payload of a short string is its bytes, of others what AppendHead wrote.
type head struct {
	kind    structures.Kind
	short   bool // payload is the bytes of a short string
	paged   bool // there are pages
	lsn     uint64
	expire  int64 // unix ms, 0 none
	payload []byte
}

const (
	kindString = structures.KindString

	headFormat  = 1
	headFormats = 0x0f // bits of the format
	headExpiry  = 0x10
	headPaged   = 0x20
	headShort   = 0x40
)

func (h *head) flags() byte {
	f := byte(headFormat)
	if h.expire != 0 {
		f |= headExpiry
	}
	if h.paged {
		f |= headPaged
	}
	if h.short {
		f |= headShort
	}
	return f
}

// size is the length of a head without its payload.
func (h *head) size() int {
	if h.expire != 0 {
		return 18
	}
	return 10
}

// appendHead appends a head without its payload, which the caller appends.
func appendHead(dst []byte, h *head) []byte {
	dst = append(dst, h.flags(), byte(h.kind))
	dst = binary.LittleEndian.AppendUint64(dst, h.lsn)
	if h.expire != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(h.expire))
	}
	return dst
}

// decodeHead reads a head; its payload aliases b.
func decodeHead(b []byte) (h head, err error) {
	if len(b) < 10 || b[0]&headFormats != headFormat {
		return head{}, fmt.Errorf("head of %d bytes: %w", len(b), ErrCorrupt)
	}
	h.kind, h.lsn = structures.Kind(b[1]), binary.LittleEndian.Uint64(b[2:])
	h.paged, h.short = b[0]&headPaged != 0, b[0]&headShort != 0
	h.payload = b[10:]
	if b[0]&headExpiry != 0 {
		if len(h.payload) < 8 {
			return head{}, fmt.Errorf("expiry of head: %w", ErrCorrupt)
		}
		h.expire = int64(binary.LittleEndian.Uint64(h.payload))
		h.payload = h.payload[8:]
		if h.expire == 0 {
			return head{}, fmt.Errorf("expiry of head: %w", ErrCorrupt)
		}
	}
	if h.short && h.kind != structures.KindString {
		return head{}, fmt.Errorf("short value of kind %d: %w", h.kind, ErrCorrupt)
	}
	return h, nil
}
