// Package types is the one table of the types that a key can have. The store, the
// commands about keys of any type (TYPE, SCAN, OBJECT ENCODING, DUMP, RESTORE) and
// the pages of the window read it, and know no types themselves.
//
// What a value does by itself is in [structures.Value]: its encoding, its size,
// its pages, the replay of its changes. A row of the table has the rest: what is
// asked before there is a value, or in the words of Redis. What only some types
// can do, package persistence finds by interfaces of its own: values with
// parts that expire, values that are encoded in parts, values that number their pages.
//
// Strings are the exception in every respect: most are no Value but bytes in a
// slab, so the store and the commands handle KindString themselves.
package types

import (
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/bloom"
	"github.com/vigildb/vigil/structures/countmin"
	"github.com/vigildb/vigil/structures/cuckoo"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/placemap"
	"github.com/vigildb/vigil/structures/rdb"
	"github.com/vigildb/vigil/structures/schedule"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/tdigest"
	"github.com/vigildb/vigil/structures/text"
	"github.com/vigildb/vigil/structures/topk"
	"github.com/vigildb/vigil/structures/zset"
)

// Type is a row of the table.
type Type struct {
	// Kind is the type's number on disk, which never changes.
	Kind structures.Kind
	// Name is the reply of TYPE, and the argument of SCAN's option TYPE.
	Name string
	// Plural names values of the type to people.
	Plural string
	// Forms are what values of the type have been, oldest first: the last one is what they are.
	Forms []Form
	// Decode makes a value from the head that its AppendHead wrote; pages follow
	// through SetPage. head is valid only during the call. keys are the store's,
	// for values that hash what clients choose. An error wraps
	// structures.ErrCorrupt.
	Decode func(head []byte, keys *structures.HashKeys) (structures.Value, error)
	// Compact returns an empty value to load small ones into, which rest as bytes.
	// nil: values of the type never do.
	Compact func(keys *structures.HashKeys) structures.Compact
	// Encoding returns the reply of OBJECT ENCODING: the representation that Redis
	// would choose with these thresholds. nil: always DefaultEncoding.
	Encoding func(v structures.Value, t *Thresholds) string
	// Dump appends the payload of DUMP in the form of Redis, which rdb.Decode
	// reads. nil: Redis has no such type, and rdb.AppendOwn frames the encoding.
	Dump func(dst []byte, v structures.Value) ([]byte, error)
}

// DefaultEncoding is what Redis returns for the types of its modules.
const DefaultEncoding = "raw"

// Thresholds are the configuration values up to which Redis would keep a value in
// its small form.
type Thresholds struct {
	HashMaxEntries int // hash-max-listpack-entries
	HashMaxValue   int // hash-max-listpack-value
	SetMaxInts     int // set-max-intset-entries
	ZSetMaxEntries int // zset-max-listpack-entries
	ZSetMaxValue   int // zset-max-listpack-value
}

// table is in the order in which people are shown the types.
var table = []Type{
	{Kind: structures.KindString, Name: "string", Plural: "strings",
		Forms:  []Form{{first, 17, 0}},
		Decode: unkeyed(text.Decode)},
	{Kind: structures.KindHash, Name: "hash", Plural: "hashes",
		Forms:  []Form{{first, 20, 0}},
		Decode: keyed(hash.Decode), Dump: rdb.Append,
		Compact: func(keys *structures.HashKeys) structures.Compact { return hash.New(keys) },
		Encoding: func(v structures.Value, t *Thresholds) string {
			return v.(*hash.Hash).Encoding(t.HashMaxEntries, t.HashMaxValue)
		}},
	{Kind: structures.KindList, Name: "list", Plural: "lists",
		Forms:  []Form{{first, 23, 0}},
		Decode: unkeyed(list.Decode), Dump: rdb.Append,
		Compact:  func(*structures.HashKeys) structures.Compact { return list.New() },
		Encoding: func(structures.Value, *Thresholds) string { return "quicklist" }},
	{Kind: structures.KindSet, Name: "set", Plural: "sets",
		Forms:  []Form{{first, 17, 0}, {timed, 19, 1}},
		Decode: keyed(set.Decode), Dump: rdb.Append,
		Compact: func(keys *structures.HashKeys) structures.Compact { return set.New(keys) },
		Encoding: func(v structures.Value, t *Thresholds) string {
			return v.(*set.Set).Encoding(t.SetMaxInts)
		}},
	{Kind: structures.KindStream, Name: "stream", Plural: "streams",
		Forms:  []Form{{first, 30, 0}, {timed, 33, 1}},
		Decode: unkeyed(stream.Decode), Dump: rdb.Append,
		Compact:  func(*structures.HashKeys) structures.Compact { return stream.New() },
		Encoding: func(structures.Value, *Thresholds) string { return "stream" }},
	{Kind: structures.KindZSet, Name: "zset", Plural: "sorted sets",
		Forms:  []Form{{first, 20, 0}},
		Decode: keyed(zset.Decode), Dump: rdb.Append,
		Compact: func(keys *structures.HashKeys) structures.Compact { return zset.New(keys) },
		Encoding: func(v structures.Value, t *Thresholds) string {
			return v.(*zset.Set).Encoding(t.ZSetMaxEntries, t.ZSetMaxValue)
		}},
	{Kind: structures.KindBloom, Name: "MBbloom--", Plural: "Bloom filters", // as RedisBloom registers it
		Forms:  []Form{{first, 19, 0}, {modules, 19, 1}},
		Decode: unkeyed(bloom.Decode), Dump: rdb.Append,
		Compact: func(*structures.HashKeys) structures.Compact { return bloom.New() }},
	{Kind: structures.KindCuckoo, Name: "MBbloomCF", Plural: "cuckoo filters",
		Forms:  []Form{{modules, 21, 0}},
		Decode: unkeyed(cuckoo.Decode), Dump: rdb.Append,
		Compact: func(*structures.HashKeys) structures.Compact { return cuckoo.New() }},
	{Kind: structures.KindCountMin, Name: "CMSk-TYPE", Plural: "count-min sketches",
		Forms:  []Form{{modules, 17, 0}},
		Decode: unkeyed(countmin.Decode), Dump: rdb.Append,
		Compact: func(*structures.HashKeys) structures.Compact { return countmin.New() }},
	{Kind: structures.KindTopK, Name: "TopK-TYPE", Plural: "top lists",
		Forms:  []Form{{modules, 17, 0}},
		Decode: unkeyed(topk.Decode), Dump: rdb.Append},
	{Kind: structures.KindTDigest, Name: "TDIS-TYPE", Plural: "t-digests",
		Forms:  []Form{{modules, 18, 0}},
		Decode: unkeyed(tdigest.Decode), Dump: rdb.Append,
		Compact: func(*structures.HashKeys) structures.Compact { return tdigest.New() }},
	{Kind: structures.KindJSON, Name: "ReJSON-RL", Plural: "JSON documents", // as RedisJSON registers it
		Forms:  []Form{{modules, 19, 0}},
		Decode: keyed(json.Decode), Dump: rdb.Append,
		Compact: func(keys *structures.HashKeys) structures.Compact { return json.New(keys) }},
	{Kind: structures.KindSchedule, Name: "schedule", Plural: "schedules",
		Forms: []Form{{first, 21, 0}, {modules, 37, 1}},
		Decode: keyed(func(head []byte, keys *structures.HashKeys) (*schedule.Schedule, error) {
			return schedule.Decode(head, keys.Fields)
		})},
	{Kind: structures.KindPlace, Name: "placement", Plural: "placement maps",
		Forms:  []Form{{first, 17, 0}, {timed, 19, 1}},
		Decode: unkeyed(placemap.Decode)},
}

// keyed is the decode function of one type as one that any type has.
func keyed[V structures.Value](decode func([]byte, *structures.HashKeys) (V, error)) func([]byte, *structures.HashKeys) (structures.Value, error) {
	return func(head []byte, keys *structures.HashKeys) (structures.Value, error) { return decode(head, keys) }
}

// unkeyed is keyed for types that hash nothing.
func unkeyed[V structures.Value](decode func([]byte) (V, error)) func([]byte, *structures.HashKeys) (structures.Value, error) {
	return func(head []byte, _ *structures.HashKeys) (structures.Value, error) { return decode(head) }
}

// All returns the types in the order of the table, which must not be changed.
func All() []Type { return table }

// Of returns the row of a kind, nil if there is none.
func Of(kind structures.Kind) *Type {
	for i := range table {
		if table[i].Kind == kind {
			return &table[i]
		}
	}
	return nil
}

// Name returns the name of a kind as TYPE replies it: "none" for KindNone, and
// "unknown" for one that is not in the table.
func Name(kind structures.Kind) string {
	if kind == structures.KindNone {
		return "none"
	}
	if t := Of(kind); t != nil {
		return t.Name
	}
	return "unknown"
}
