package rdb

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
	"github.com/vigildb/vigil/structures/countmin"
	"github.com/vigildb/vigil/structures/cuckoo"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/tdigest"
	"github.com/vigildb/vigil/structures/topk"
	"github.com/vigildb/vigil/structures/zset"
)

// AppendString appends the payload of a string to dst.
func AppendString(dst, s []byte) []byte {
	from := len(dst)
	dst = appendString(append(dst, typeString), s)
	return seal(dst, from, versionPlain)
}

// Append appends the payload of a value of a type that Redis or one of its modules has to dst. Fields
// that are expired but not deleted are dumped too, and expire where they are
// restored. A value of another type is an error.
func Append(dst []byte, v structures.Value) ([]byte, error) {
	from, version := len(dst), uint16(versionPlain)
	switch v := v.(type) {
	case *list.List:
		dst = appendList(dst, v)
	case *hash.Hash:
		dst, version = appendHash(dst, v)
	case *set.Set:
		dst = appendSet(dst, v)
	case *zset.Set:
		dst = appendZSet(dst, v)
	case *stream.Stream:
		dst = appendStream(dst, v)
	case *bloom.Filter:
		dst = appendBloom(dst, v)
	case *cuckoo.Filter:
		dst = appendCuckoo(dst, v)
	case *topk.List:
		dst = appendTopK(dst, v)
	case *tdigest.Digest:
		dst = appendTDigest(dst, v)
	case *countmin.Sketch:
		dst = appendCountMin(dst, v)
	case *json.Document:
		dst = appendJSON(dst, v)
	default:
		return dst, fmt.Errorf("rdb: no form for a value of kind %d", v.Kind())
	}
	return seal(dst, from, version), nil
}

// AppendOwn appends the payload of a value that Redis has no type for: its kind
// and its encoding, which Decode returns unchanged.
func AppendOwn(dst []byte, kind structures.Kind, encoded []byte) []byte {
	from := len(dst)
	dst = structures.Append(append(dst, typeOwn, byte(kind)), encoded)
	return seal(dst, from, versionTimed)
}

func appendList(dst []byte, l *list.List) []byte {
	dst = appendLength(append(dst, typeList), uint64(l.Len()))
	l.Range(0, -1, func(elem []byte) { dst = appendString(dst, elem) })
	return dst
}

// appendSet writes the one form that every version reads, of integers too.
func appendSet(dst []byte, s *set.Set) []byte {
	dst = appendLength(append(dst, typeSet), uint64(s.Len()))
	s.Each(func(member []byte) bool {
		dst = appendString(dst, member)
		return true
	})
	return dst
}

// appendHash writes
//
//	4 | fields | for each: field | value
//	24 | least expiry in unix ms (8) | fields | for each: 0, or expiry - least + 1 | field | value
func appendHash(dst []byte, h *hash.Hash) ([]byte, uint16) {
	least := int64(math.MaxInt64)
	h.Each(0, func(_, _ []byte, expiry int64) {
		if expiry != 0 {
			least = min(least, expiry)
		}
	})
	timed := least != math.MaxInt64
	if timed {
		dst = binary.LittleEndian.AppendUint64(append(dst, typeHashTimed), uint64(least))
	} else {
		dst = append(dst, typeHash)
	}
	dst = appendLength(dst, uint64(h.Len()))
	h.Each(0, func(field, value []byte, expiry int64) {
		switch {
		case expiry != 0:
			dst = appendLength(dst, uint64(expiry-least)+1)
		case timed:
			dst = append(dst, 0)
		}
		dst = appendString(appendString(dst, field), value)
	})
	if timed {
		return dst, versionTimed
	}
	return dst, versionPlain
}

func appendLength(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(dst, byte(n))
	case n < 1<<14:
		return append(dst, len14|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, len32), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, len64), n)
}

// maxIntText is the length of the longest string that may stand as an integer
// of 32 bits.
const maxIntText = 11

// appendString writes a string, or the integer of up to 32 bits that it spells.
func appendString(dst, s []byte) []byte {
	if n, ok := smallInt(s); ok {
		return appendInt(dst, n)
	}
	return structures.Append(appendLength(dst, uint64(len(s))), s)
}

func appendInt(dst []byte, n int32) []byte {
	switch {
	case n == int32(int8(n)):
		return append(dst, lenSpecial|specialInt8, byte(n))
	case n == int32(int16(n)):
		return binary.LittleEndian.AppendUint16(append(dst, lenSpecial|specialInt16), uint16(n))
	}
	return binary.LittleEndian.AppendUint32(append(dst, lenSpecial|specialInt32), uint32(n))
}

// smallInt reads an integer that is spelt as it would be written again.
func smallInt(s []byte) (int32, bool) {
	if len(s) == 0 || len(s) > maxIntText || s[0] != '-' && s[0]-'0' > 9 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(s), 10, 32)
	if err != nil {
		return 0, false
	}
	var room [maxIntText]byte
	return int32(n), string(strconv.AppendInt(room[:0], n, 10)) == string(s)
}
