package keyspace

import (
	"math/bits"

	"github.com/vigildb/vigil/structures"
)

// Sizes is how many values of a database have which sizes, by kind: strings by their bytes, lists, hashes, sets and sorted sets by
// their elements. At 0 are those without any, at i > 0 those of 2^(i-1) to 2^i-1.
type Sizes [structures.Kinds][65]int64

// sizesAtOnce is how many places of a table are looked at for one hold of its lock.
const sizesAtOnce = 1024

// CountSizes counts the values of a table from a hash on, and returns the one to go on with, 0 at the end. The lock of the
// shard is held.
func (s *Keyspace) CountSizes(t *Table, from uint64, n *Sizes) (next uint64) {
	if t == nil {
		return 0
	}
	end := t.Places()
	for i, looked := t.Seek(from), 0; i < end; i, looked = i+1, looked+1 {
		meta := t.Meta(i)
		if meta == 0 || meta&Tombstone != 0 {
			continue
		}
		if hash := t.HashAt(i); looked >= sizesAtOnce && hash > from {
			return hash
		}
		if kind, size := s.sizeOf(t, meta); size >= 0 {
			n[kind][bits.Len64(uint64(size))]++
		}
	}
	return 0
}

// sizeOf returns the size of what a live slot holds, -1 of a kind that has none.
func (s *Keyspace) sizeOf(t *Table, meta uint64) (kind structures.Kind, size int) {
	if o := t.Object(meta); o != nil {
		return lengthOf(o.Value)
	}
	_, value, _ := t.Parts(meta)
	if !t.IsCompact(meta) {
		return structures.KindString, len(value)
	}
	o := s.LoadCompact(value)
	defer s.KeepCompact(o)
	return lengthOf(o.Value)
}

func lengthOf(v structures.Value) (kind structures.Kind, size int) {
	switch kind = v.Kind(); kind {
	case structures.KindString, structures.KindList, structures.KindHash, structures.KindSet, structures.KindZSet:
		return kind, v.(interface{ Len() int }).Len()
	}
	return kind, -1
}
