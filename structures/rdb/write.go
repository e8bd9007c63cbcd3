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
	from, o := len(dst), out{b: dst, version: versionPlain}
	t, ok := o.typeOf(v)
	switch v := v.(type) {
	case *hash.Hash:
		if hasExpiries(v) {
			t, o.version = typeHashTimed, versionTimed
		}
	case *set.Set:
		if _, some := v.NextExpiry(); some {
			t, o.version = typeSetTimed, versionTimed
		}
	case *stream.Stream:
		if v.Form() > 0 {
			t, o.version = typeStream5, versionNamed
		}
	}
	if !ok {
		return dst, fmt.Errorf("rdb: no form for a value of kind %d", v.Kind())
	}
	o.b = append(o.b, t)
	o.value(t, v)
	return seal(o.b, from, o.version), nil
}

// AppendValkey appends the payload that Valkey from 9 on reads of a hash whose fields expire. It reports whether there is one: all other
// values Valkey reads as Append writes them.
func AppendValkey(dst []byte, v structures.Value) ([]byte, bool) {
	h, ok := v.(*hash.Hash)
	if !ok || !hasExpiries(h) {
		return dst, false
	}
	from, o := len(dst), out{b: append(dst, typeHashValkey), version: versionValkey}
	o.hash(typeHashValkey, h)
	return seal(o.b, from, versionValkey), true
}

// out is what values are written to.
type out struct {
	b       []byte
	version uint16
	now     int64                 // fields that expire up to it are left out
	full    func(b []byte) []byte // takes b from time to time, and returns what is left of it; nil: b grows
	lzf     *shrinker             // nil: strings are written as they are
}

// step is called after each element.
func (o *out) step() {
	if o.full != nil && len(o.b) >= sourceWindow {
		o.b = o.full(o.b)
	}
}

// typeOf returns the type of a value as it is written in the version at hand; false if there is none.
func (o *out) typeOf(v structures.Value) (t byte, ok bool) {
	switch v := v.(type) {
	case *list.List:
		return typeList, true
	case *set.Set:
		return typeSet, true
	case *zset.Set:
		return typeZSetBinary, true
	case *bloom.Filter, *cuckoo.Filter, *topk.List, *tdigest.Digest, *countmin.Sketch, *json.Document:
		return typeModule, true
	case *stream.Stream:
		if o.version > versionPlain {
			return typeStream3, true
		}
		return typeStream2, true
	case *hash.Hash:
		switch {
		case o.version <= versionPlain || !hasExpiries(v):
			return typeHash, true
		case o.version >= versionValkey:
			return typeHashValkey, true
		}
		return typeHashTimed, true
	}
	return 0, false
}

// value writes a value behind its type.
func (o *out) value(t byte, v structures.Value) {
	switch v := v.(type) {
	case *list.List:
		o.list(v)
	case *set.Set:
		o.set(t, v)
	case *zset.Set:
		o.zset(v)
	case *bloom.Filter:
		o.b = appendBloom(o.b, v)
	case *cuckoo.Filter:
		o.b = appendCuckoo(o.b, v)
	case *topk.List:
		o.b = appendTopK(o.b, v)
	case *tdigest.Digest:
		o.b = appendTDigest(o.b, v)
	case *countmin.Sketch:
		o.b = appendCountMin(o.b, v)
	case *json.Document:
		o.b = appendJSON(o.b, v)
	case *stream.Stream:
		o.stream(t, v)
	case *hash.Hash:
		o.hash(t, v)
	}
}

func (o *out) length(n uint64) { o.b = appendLength(o.b, n) }

func (o *out) string(s []byte) {
	if o.lzf != nil {
		if packed, ok := o.lzf.shrink(s); ok {
			o.b = append(appendPacked(o.b, uint64(len(s)), uint64(len(packed))), packed...)
			return
		}
	}
	o.b = appendString(o.b, s)
}

// appendPacked begins a string of n bytes in LZF, which are to follow.
func appendPacked(dst []byte, n, packed uint64) []byte {
	return appendLength(appendLength(append(dst, lenSpecial|specialLZF), packed), n)
}

// AppendOwn appends the payload of a value that Redis has no type for: its kind
// and its encoding, which Decode returns unchanged.
func AppendOwn(dst []byte, kind structures.Kind, encoded []byte) []byte {
	from := len(dst)
	dst = structures.Append(append(dst, typeOwn, byte(kind)), encoded)
	return seal(dst, from, versionTimed)
}

func (o *out) list(l *list.List) {
	o.length(uint64(l.Len()))
	l.Range(0, -1, func(elem []byte) {
		o.string(elem)
		o.step()
	})
}

// set writes the one form that every version reads, of integers too, or that with expiries.
func (o *out) set(t byte, s *set.Set) {
	o.length(uint64(s.Len()))
	s.Each(func(member []byte) bool {
		o.string(member)
		if t == typeSetTimed {
			expiry, _, _ := s.ExpiryOf(member)
			o.b = binary.LittleEndian.AppendUint64(o.b, uint64(expiry))
		}
		o.step()
		return true
	})
}

// hasExpiries reports whether a field expires.
func hasExpiries(h *hash.Hash) (some bool) {
	if _, may := h.NextExpiry(); may {
		h.Each(0, func(_, _ []byte, expiry int64) { some = some || expiry != 0 })
	}
	return some
}

// hash writes
//
//	4 | fields | for each: field | value
//	24 | least expiry in unix ms (8) | fields | for each: 0, or expiry - least + 1 | field | value
//	22 of Valkey | fields | for each: field | value | expiry in unix ms (8), or -1
func (o *out) hash(t byte, h *hash.Hash) {
	least := int64(math.MaxInt64)
	if t == typeHashTimed {
		h.Each(o.now, func(_, _ []byte, expiry int64) {
			if expiry != 0 {
				least = min(least, expiry)
			}
		})
		if least == math.MaxInt64 {
			least = maxFieldExpiry // all that expire have
		}
		o.b = binary.LittleEndian.AppendUint64(o.b, uint64(least))
	}
	o.length(uint64(h.Live(o.now)))
	h.Each(o.now, func(field, value []byte, expiry int64) {
		switch {
		case t == typeHashTimed && expiry != 0:
			o.length(uint64(expiry-least) + 1)
		case t == typeHashTimed:
			o.b = append(o.b, 0)
		}
		o.string(field)
		o.string(value)
		if t == typeHashValkey {
			if expiry == 0 {
				expiry = -1
			}
			o.b = binary.LittleEndian.AppendUint64(o.b, uint64(expiry))
		}
		o.step()
	})
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
