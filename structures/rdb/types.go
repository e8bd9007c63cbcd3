package rdb

import (
	"fmt"

	"github.com/vigildb/vigil/structures"
)

// Types of values, as they stand in the first byte. They are Redis's.
const (
	typeString         = 0
	typeList           = 1
	typeSet            = 2
	typeZSet           = 3 // scores in decimal
	typeHash           = 4
	typeZSetBinary     = 5
	typeModule         = 7
	typeHashZipmap     = 9
	typeListZiplist    = 10
	typeSetIntset      = 11
	typeZSetZiplist    = 12
	typeHashZiplist    = 13
	typeListQuicklist  = 14 // of ziplists
	typeStream1        = 15 // Redis 5; 19 and 21 have more of it
	typeHashListpack   = 16
	typeZSetListpack   = 17
	typeListQuicklist2 = 18 // of listpacks and plain elements
	typeStream2        = 19 // Redis 7.0
	typeSetListpack    = 20
	typeStream3        = 21 // Redis 7.2
	// With expiries of fields: absolute as in release candidates of Redis 7.4,
	// or after a time before which no field expires.
	typeHashTimedEarly    = 22 // of Valkey: typeHashValkey
	typeHashListpackEarly = 23
	typeHashTimed         = 24
	typeHashListpackTimed = 25
	typeStream4           = 26 // Redis 8.6; with producers
	typeStream5           = 27 // Redis 8.8; with pending entries that nobody has
	typeArray             = 28 // Redis 8.8
	// Redis 8.10: values of fields whose names stand in a record of the file, see template.go.
	typeHashTemplatePacked = 30
	typeHashTemplate       = 32
)

// typeHashValkey is the number that Valkey gives hashes with expiries of fields, in
// versions from versionValkey on.
const typeHashValkey = 22

// typeOwn is for values that Redis has no type for:
//
//	200 | kind (1) | the encoding of the value
//
// Redis gives new types the next number from 25 up and new opcodes the next
// from 243 down. This number never changes.
const typeOwn = 200

// typeSetTimed is for sets with members that expire, and no type of Redis either:
//
//	201 | number | for each member: string | its expiry, unix ms (8, little endian), 0 for none
const typeSetTimed = 201

// Forms of a length, by its first byte.
const (
	len14      = 0x40 // the low 6 bits and a byte
	len32      = 0x80 // four bytes, big endian
	len64      = 0x81 // eight bytes, big endian
	lenSpecial = 0xc0 // no length: the low 6 bits say what stands for a string
)

// What stands for a string.
const (
	specialInt8  = 0
	specialInt16 = 1
	specialInt32 = 2
	specialLZF   = 3 // length compressed, length, compressed bytes
)

// Containers of a quicklist.
const (
	nodePlain  = 1 // one element
	nodePacked = 2 // a listpack
)

// foreign are values that are known only by name: what Redis calls them.
var foreign = map[byte]string{
	6:                      "module of a release candidate of Redis 4.0",
	typeArray:              "array",
	29:                     "hash with a template",
	typeHashTemplatePacked: "hash with a template",
	31:                     "hash with a template",
	typeHashTemplate:       "hash with a template",
	243:                    "key with metadata",
}

// UnknownError is the error for a payload of a type that is not known. It is a
// structures.ErrCorrupt, too.
type UnknownError struct {
	Type    string // such as "type 28 (array)" or "module vectorset"
	Version uint16 // of the payload
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s of RDB version %d is not known", e.Type, e.Version)
}

func (e *UnknownError) Unwrap() error { return structures.ErrCorrupt }

// maxFieldExpiry is the largest expiry of a field, in unix ms, that Redis reads.
const maxFieldExpiry = 1<<48 - 1
