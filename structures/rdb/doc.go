// Package rdb encodes one value as the bytes that DUMP returns, and decodes it
// of the bytes that RESTORE is given, or of what a file brings of it (Source). It does no I/O
// but through a reader that it is given, and knows nothing of keys.
//
// A payload is the form that a value has in Redis's RDB files, in a frame:
//
//	type (1) | value | version of RDB (2) | CRC-64 of all before it (8)
//
// Both numbers are little endian. The CRC is the one by Jones (polynomial
// 0xad93d23594c935a9, reflected, from 0, not inverted).
//
// Written is the simplest form that the oldest Redis knows which has the value
// at all, so that Redis 7.0 takes what it can hold: strings, lists, hashes,
// sets and sorted sets element by element, in version 10; hashes whose fields expire
// as Redis 7.4 writes them, in its version 12; Bloom filters and JSON documents as the
// modules RedisBloom and RedisJSON do; streams as Redis 7.0 does, which has no time at which a consumer was active.
// What Redis has no type for goes under a type byte that Redis does not use.
//
// Read is everything in which a Redis up to 8.8 or a Valkey up to 9 writes these types,
// whatever the version says: integers and LZF in place of strings, ziplists, zipmaps,
// listpacks and quicklists. A type that is not known is an UnknownError, which names it.
//
// A [Source] reads the same forms by the same code from a stream: values grow while they are
// read and may be written elsewhere in parts, so that none has to fit into memory. What
// vigil has no type for is passed over there by its name, while RESTORE refuses it.
//
// A payload comes from a client and may be anything. Every length is checked
// against the bytes that are there before memory is asked for, so that what
// is allocated stays within a factor of the payload: LZF, which can stretch
// three bytes to 264, has the largest. A value that is refused leaves nothing
// behind. Unlike Redis, which looks at fields given twice and at bytes behind
// the value only in some forms, the package refuses them always.
package rdb
