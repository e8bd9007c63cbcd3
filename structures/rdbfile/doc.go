// Package rdbfile reads and writes the files in which Redis and Valkey keep all of their
// data, RDB, as a stream: of values it knows what package rdb does.
//
// A file is
//
//	"REDIS" + 4 digits, or "VALKEY" + 3 digits | record... | 255 | from version 5 on CRC-64 (8, little endian) of all before it, 0: none
//
// in which a record is a key with its value, or what opcodes.go lists. Versions say little:
// a record that is known is read under any of them, and one that is not ends the reading
// with its number, its place and the version.
//
// It promises: memory is a window and the string at hand, and of the names of fields that hashes
// share; nothing is allocated because a file claims it; a value may be handed over in parts
// while it grows. Nothing that was read counts before the checksum at the end was compared: that is
// for the caller, who gets io.EOF only then.
//
// It does no input or output but through the reader and the writer that it is given, and reads no clock: whether
// a key is expired is the caller's.
package rdbfile
