package persistence

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/structures"
)

// A record is what one command, or one MULTI, changed: operations as described
// at structures.Change. opKey names the key that the operations after it are
// about. An operation depends on its key's state before it and on nothing else.
// Codes from 16 belong to the type of the value. These numbers are on disk and
// never change.
const (
	opKey      = 1  // physical database, key
	opSet      = 2  // bytes [, expiry]: the key is this string
	opPatch    = 3  // offset, bytes: written into the string; an absent one is empty
	opDelete   = 4  // the key is gone
	opExpireAt = 5  // expiry in unix ms
	opPersist  = 6  // the expiry is gone
	opRestore  = 7  // kind, expiry (0 none), head [, page id, page]...: the key is this value
	opMapping  = 8  // next physical database, physical database of each logical one
	opLibrary  = 9  // name, source: the library is this; name: it is gone; nothing: all are
	opUser     = 10 // name, rules: the user is this; name: it is gone

	opConfiguration = 11 // name, value: the directive is this in the group; name: it is each member's own again
	opMove          = 12 // name, text: the move of slots is to be made; name: it is over
)

// A chunk is a value in Pebble under its number. Chunks are numbered from 1
// without gaps, and so are records: a chunk has the number of its first.
//
//	term (8) | type (1) | first record (8) | crc32c (4) | format, 1 (1) | flags (1) | { length (uvarint) | operations }...
//
// The checksum covers everything else. The term is 0 as long as there is one
// machine, and the type 1; others are kept for what a group of machines has to
// agree on besides records.
const (
	chunkCRC     = 17                  // where the checksum lies
	chunkHeader  = journal.HeaderBytes // 23
	chunkFormat  = 1
	chunkRecords = 1 // type
	chunkApart   = 1 // flag: a record has an operation that is about no key
	chunkPieces  = 2 // flag: the records are in pieces, see pieces.go
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func recordSet(c *structures.Change, value []byte, expire int64) {
	if expire == 0 {
		c.Op(opSet, 1)
		c.Bytes(value)
		return
	}
	c.Op(opSet, 2)
	c.Bytes(value)
	c.Int(expire)
}

// recordSetLength is recordSet for bytes that stand elsewhere, n of them. It
// returns the place in the record where they belong.
func recordSetLength(c *structures.Change, n int, expire int64) (at int) {
	if expire == 0 {
		c.Op(opSet, 1)
		c.Length(n)
		return c.Len()
	}
	c.Op(opSet, 2)
	c.Length(n)
	at = c.Len()
	c.Int(expire)
	return at
}

func encodeRestore(c *structures.Change, v structures.Value, expire int64) {
	pages := 0
	v.Pages(true, func(uint64, []byte) { pages++ })
	c.Op(opRestore, 3+2*pages)
	c.Uint(uint64(v.Kind()))
	c.Int(expire)
	c.Bytes(v.AppendHead(nil))
	v.Pages(true, func(id uint64, page []byte) {
		c.Uint(id)
		c.Bytes(page)
	})
}

func recordMapping(c *structures.Change, next uint32, phys []uint32) {
	c.Op(opMapping, 1+len(phys))
	c.Uint(uint64(next))
	for _, p := range phys {
		c.Uint(uint64(p))
	}
}

// decodeMapping reads the arguments of opMapping.
func decodeMapping(args *structures.Args) (next uint32, phys []uint32, err error) {
	next = uint32(args.Uint())
	for args.Left() > 0 {
		p := args.Uint()
		if p >= uint64(next) {
			return 0, nil, fmt.Errorf("database %d of %d: %w", p, next, ErrCorrupt)
		}
		phys = append(phys, uint32(p))
	}
	return next, phys, args.Done()
}

// sealChunk fills in the header of a chunk whose records are complete.
func sealChunk(b []byte, first uint64, flags byte) {
	clear(b[:8])
	b[8] = chunkRecords
	binary.LittleEndian.PutUint64(b[9:], first)
	b[chunkCRC+4], b[chunkCRC+5] = chunkFormat, flags
	binary.LittleEndian.PutUint32(b[chunkCRC:], chunkChecksum(b))
}

func chunkChecksum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:chunkCRC], castagnoli), castagnoli, b[chunkCRC+4:])
}

// openChunk checks a chunk and returns its records.
func openChunk(b []byte) (first uint64, flags byte, records []byte, err error) {
	if len(b) < chunkHeader {
		return 0, 0, nil, fmt.Errorf("chunk of %d bytes: %w", len(b), ErrCorrupt)
	}
	if binary.LittleEndian.Uint32(b[chunkCRC:]) != chunkChecksum(b) {
		return 0, 0, nil, fmt.Errorf("checksum of chunk: %w", ErrCorrupt)
	}
	if f := b[chunkCRC+4]; f != chunkFormat {
		return 0, 0, nil, fmt.Errorf("chunk of format %d: %w", f, ErrVersion)
	}
	if b[8] != chunkRecords && binary.LittleEndian.Uint64(b) != 0 {
		return binary.LittleEndian.Uint64(b[9:]), 0, nil, nil // an entry of a group without records
	}
	if b[8] != chunkRecords {
		return 0, 0, nil, fmt.Errorf("chunk of type %d: %w", b[8], ErrVersion)
	}
	return binary.LittleEndian.Uint64(b[9:]), b[chunkCRC+5], b[chunkHeader:], nil
}

// apart reports that an operation is about no key. It is replayed when everything
// before it is done.
func apart(op byte) bool { return op >= opMapping && op <= opMove }

// chunkIsApart reports that a chunk says that it has such operations. It may be damaged.
func chunkIsApart(b []byte) bool { return len(b) >= chunkHeader && b[chunkCRC+5]&chunkApart != 0 }

// nextRecord splits the first record off the records of a chunk.
func nextRecord(b []byte) (record, rest []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, fmt.Errorf("length of record: %w", ErrCorrupt)
	}
	end := n + int(size)
	return b[n:end], b[end:], nil
}
