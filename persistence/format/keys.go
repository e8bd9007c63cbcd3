package format

import (
	"encoding/binary"
	"fmt"
)

// Keys in Pebble. Integers in keys are big endian, so that they sort; those in
// values are little endian. These numbers are on disk and never change.
//
//	'c' | group (2) | physical database (4) | shard (1)                                     number of heads (8)
//	'j' | group (2) | number of the chunk (8)                                               chunk of the journal
//	'k' | group (2) | shard (1)                                                             mark (8): the heads of the shard hold records up to it
//	'k' | group (2)                                                                         newest record (8) that anything here may hold, in format 3
//	'm' | group (2)                                                                         meta, see meta.go
//	'o' | group (2) | physical database (4) | hash (8) | key                                head
//	'p' | group (2) | physical database (4) | hash (8) | length of key (4) | key | page (8) page
//	'q', 't'                                                                                see staged.go
//	'd', 'l', 's', 'u'                                                                      see text.go
//	'e'                                                                                     see expiry.go
//	'r'                                                                                     of package grouplog
//
// Heads are apart from pages so that walking the keys does not step over them.
// What a group has of each kind is one range.
const (
	PrefixCount   = 'c'
	PrefixJournal = 'j'
	PrefixMark    = 'k'
	PrefixLibrary = 'l'
	PrefixMeta    = 'm'
	PrefixHead    = 'o'
	PrefixPage    = 'p'
	PrefixStage   = 'q'
	PrefixStaged  = 't'
	PrefixUser    = 'u'
	PrefixRecords = 'r'

	PrefixConfiguration = 'd'
	PrefixMove          = 's'

	// Group is that of machines which share the data. There is one, of this
	// machine alone.
	Group = 0

	groupKeyFixed   = 1 + 2
	countKeyFixed   = groupKeyFixed + 4 + 1
	JournalKeyFixed = groupKeyFixed + 8
	markKeyFixed    = groupKeyFixed + 1
	HeadKeyFixed    = groupKeyFixed + 4 + 8
	pageKeyFixed    = HeadKeyFixed + 4 // without the key and the number of the page
)

// AppendGroup appends what the keys of the group with this prefix begin with.
func AppendGroup(dst []byte, prefix byte) []byte {
	return binary.BigEndian.AppendUint16(append(dst, prefix), Group)
}

// AppendGroupEnd appends the lowest key after those that begin with
// AppendGroup's bytes.
func AppendGroupEnd(dst []byte, prefix byte) []byte {
	return binary.BigEndian.AppendUint16(append(dst, prefix), Group+1)
}

// HasGroup reports that a key begins as those of the group do, with any prefix.
func HasGroup(key []byte) bool {
	return len(key) >= groupKeyFixed && binary.BigEndian.Uint16(key[1:]) == Group
}

// AppendCountKey appends the key under which a shard counts the heads of a database.
func AppendCountKey(dst []byte, phys uint32, shard int) []byte {
	return append(binary.BigEndian.AppendUint32(AppendGroup(dst, PrefixCount), phys), byte(shard))
}

// AppendMetaKey appends the key of the meta.
func AppendMetaKey(dst []byte) []byte { return AppendGroup(dst, PrefixMeta) }

// AppendMarkKey appends the key of the mark of a shard.
func AppendMarkKey(dst []byte, shard int) []byte {
	return append(AppendGroup(dst, PrefixMark), byte(shard))
}

// AppendNewestKey appends the key of the newest record that anything in the object store may hold.
func AppendNewestKey(dst []byte) []byte { return AppendGroup(dst, PrefixMark) }

// AppendJournalKey appends the key of a chunk.
func AppendJournalKey(dst []byte, index uint64) []byte {
	return binary.BigEndian.AppendUint64(AppendGroup(dst, PrefixJournal), index)
}

// AppendHeadBound appends the lowest head key of a hash.
func AppendHeadBound(dst []byte, phys uint32, hash uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(AppendGroup(dst, PrefixHead), phys), hash)
}

// AppendHeadEnd appends the lowest key after the head keys of a hash.
func AppendHeadEnd(dst []byte, phys uint32, hash uint64) []byte {
	if hash == ^uint64(0) {
		return AppendPhysBound(dst, PrefixHead, uint64(phys)+1)
	}
	return AppendHeadBound(dst, phys, hash+1)
}

// AppendHeadKey appends the key of a head.
func AppendHeadKey(dst []byte, phys uint32, hash uint64, key []byte) []byte {
	return append(AppendHeadBound(dst, phys, hash), key...)
}

// AppendPageBound appends what the keys of all pages of key begin with.
func AppendPageBound(dst []byte, phys uint32, hash uint64, key []byte) []byte {
	dst = binary.BigEndian.AppendUint32(AppendGroup(dst, PrefixPage), phys)
	dst = binary.BigEndian.AppendUint64(dst, hash)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(key)))
	return append(dst, key...)
}

// AppendPageKey appends the key of a page.
func AppendPageKey(dst []byte, phys uint32, hash uint64, key []byte, page uint64) []byte {
	return binary.BigEndian.AppendUint64(AppendPageBound(dst, phys, hash, key), page)
}

// IsPageKey reports that a key of pages, or of staged ones, is as long as it says.
func IsPageKey(k []byte) bool {
	return len(k) >= pageKeyFixed+8 && uint64(len(k)) == pageKeyFixed+8+uint64(binary.BigEndian.Uint32(k[pageKeyFixed-4:]))
}

// PageID is the page that a page key names.
func PageID(k []byte) uint64 { return binary.BigEndian.Uint64(k[len(k)-8:]) }

// SplitPageKey takes a page key apart; ok is false for one that is not as long as it says.
func SplitPageKey(k []byte) (phys uint32, hash uint64, key []byte, page uint64, ok bool) {
	if !IsPageKey(k) {
		return 0, 0, nil, 0, false
	}
	return binary.BigEndian.Uint32(k[groupKeyFixed:]), binary.BigEndian.Uint64(k[groupKeyFixed+4:]),
		k[pageKeyFixed : len(k)-8], PageID(k), true
}

// AppendPhysBound appends the lowest key with this prefix of a database. For
// the database after the last one it is the end of the group.
func AppendPhysBound(dst []byte, prefix byte, phys uint64) []byte {
	if phys > 1<<32-1 {
		return AppendGroupEnd(dst, prefix)
	}
	return binary.BigEndian.AppendUint32(AppendGroup(dst, prefix), uint32(phys))
}

// SplitHeadKey takes a head key apart.
func SplitHeadKey(b []byte) (phys uint32, hash uint64, key []byte, err error) {
	if len(b) < HeadKeyFixed || b[0] != PrefixHead {
		return 0, 0, nil, fmt.Errorf("head key of %d bytes: %w", len(b), ErrCorrupt)
	}
	return binary.BigEndian.Uint32(b[groupKeyFixed:]), binary.BigEndian.Uint64(b[groupKeyFixed+4:]), b[HeadKeyFixed:], nil
}

// DecodeCount reads how many heads of a database a shard has on disk.
func DecodeCount(key, value []byte) (phys uint32, shard int, n int64, err error) {
	if len(key) != countKeyFixed || len(value) != 8 {
		return 0, 0, 0, fmt.Errorf("count of %d bytes: %w", len(value), ErrCorrupt)
	}
	return binary.BigEndian.Uint32(key[groupKeyFixed:]), int(key[countKeyFixed-1]), int64(binary.LittleEndian.Uint64(value)), nil
}

// Everything is what DecodeMark returns in the place of a shard for the newest record that anything may hold.
const Everything = -1

// DecodeMark reads the mark of a shard, or of all.
func DecodeMark(key, value []byte) (shard int, lsn uint64, err error) {
	if len(key) == groupKeyFixed && len(value) == 8 {
		return Everything, binary.LittleEndian.Uint64(value), nil
	}
	if len(key) != markKeyFixed || len(value) != 8 {
		return 0, 0, fmt.Errorf("mark of %d bytes under a key of %d: %w", len(value), len(key), ErrCorrupt)
	}
	return int(key[markKeyFixed-1]), binary.LittleEndian.Uint64(value), nil
}

// ShardCount is fixed: the top 8 bits of a key's hash choose its shard, and
// the order on disk is by hash.
const ShardCount = 256

// ShardOf returns the shard of a key with this hash.
func ShardOf(hash uint64) int { return int(hash >> 56) }
