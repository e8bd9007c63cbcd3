package grouplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrCorrupt is returned when bytes do not decode, fail their checksum, or do not
// follow what is there.
var ErrCorrupt = errors.New("grouplog: corrupt log")

// ErrCompacted is returned for entries that were cut off the log.
var ErrCompacted = errors.New("grouplog: entry was cut off")

// ErrUnavailable is returned for entries that are not there yet.
var ErrUnavailable = errors.New("grouplog: there is no such entry yet")

// Records is the type of entries with records of the journal. Other types, from 2 on,
// are the caller's, and so are their data.
const Records = 1

// Entry is an entry of the log. The data of [Records] are a chunk of the journal from
// its first record's number on, sealed as in a store that is alone.
type Entry struct {
	Index uint64 // from 1, without gaps
	Term  uint64
	Type  byte
	Data  []byte
}

// The value of an entry is that of a chunk:
//
//	term (8) | type (1) | first record (8) | crc32c (4) | format, 1 (1) | flags (1) | data
//
// The checksum covers everything else. First of an entry without records is the
// number that the next record gets, and its flags are 0.
const (
	termBytes  = 8 + 1         // term and type
	sumAt      = termBytes + 8 // where the checksum lies
	header     = sumAt + 4 + 2
	dataHeader = header - termBytes // of the data of Records
	format     = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:sumAt], castagnoli), castagnoli, b[sumAt+4:])
}

func seal(b []byte) { binary.LittleEndian.PutUint32(b[sumAt:], checksum(b)) }

// encode returns the value of an entry behind record last, and the last record in it.
func encode(e *Entry, last uint64) (value []byte, end uint64, err error) {
	if e.Type == 0 {
		return nil, 0, fmt.Errorf("entry %d of type 0: %w", e.Index, ErrCorrupt)
	}
	if e.Type != Records {
		value = make([]byte, header, header+len(e.Data))
		value = append(value, e.Data...)
		binary.LittleEndian.PutUint64(value[termBytes:], last+1)
		value[header-2] = format
	} else {
		// It is checked as its maker sealed it, without a term: it went through
		// memory and network since.
		value = make([]byte, termBytes, termBytes+len(e.Data))
		value = append(value, e.Data...)
		value[termBytes-1] = Records
		if len(value) < header || binary.LittleEndian.Uint32(value[sumAt:]) != checksum(value) {
			return nil, 0, fmt.Errorf("checksum of entry %d: %w", e.Index, ErrCorrupt)
		}
	}
	binary.LittleEndian.PutUint64(value, e.Term)
	value[termBytes-1] = e.Type
	seal(value)
	_, end, err = decode(e.Index, value, last)
	return value, end, err
}

// decode returns the entry with a value behind record last, and the last record in it.
// The data are not the value's.
func decode(index uint64, value []byte, last uint64) (e Entry, end uint64, err error) {
	if len(value) < header || binary.LittleEndian.Uint32(value[sumAt:]) != checksum(value) {
		return Entry{}, 0, fmt.Errorf("checksum of entry %d: %w", index, ErrCorrupt)
	}
	if f := value[header-2]; f != format {
		return Entry{}, 0, fmt.Errorf("entry %d of format %d: %w", index, f, ErrCorrupt)
	}
	e = Entry{Index: index, Term: binary.LittleEndian.Uint64(value), Type: value[termBytes-1]}
	if first := binary.LittleEndian.Uint64(value[termBytes:]); first != last+1 {
		return Entry{}, 0, fmt.Errorf("entry %d begins with record %d, want %d: %w", index, first, last+1, ErrCorrupt)
	}
	if e.Type != Records {
		e.Data = append([]byte(nil), value[header:]...)
		return e, last, nil
	}
	n, err := count(value[header:])
	if err != nil {
		return Entry{}, 0, fmt.Errorf("entry %d: %w", index, err)
	}
	alone := append([]byte(nil), value...)
	clear(alone[:8])
	seal(alone)
	e.Data = alone[termBytes:]
	return e, last + n, nil
}

// count returns how many records there are, each behind its length as a uvarint.
func count(b []byte) (n uint64, err error) {
	for ; len(b) > 0; n++ {
		size, k := binary.Uvarint(b)
		if k <= 0 || size > uint64(len(b)-k) {
			return 0, fmt.Errorf("length of record: %w", ErrCorrupt)
		}
		b = b[k+int(size):]
	}
	return n, nil
}
