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

// The value of an entry is that of a chunk. A frame of the log has its index in front:
//
//	index (8) | term (8) | type (1) | first record (8) | crc32c (4) | format, 1 (1) | flags (1) | data
//
// The checksum covers everything else but the index. First of an entry without records is the
// number that the next record gets, and its flags are 0.
const (
	termBytes  = 8 + 1         // term and type
	sumAt      = termBytes + 8 // where the checksum lies
	header     = sumAt + 4 + 2
	dataHeader = header - termBytes // of the data of Records
	indexBytes = 8
	format     = 1
)

// Kinds of frames.
const (
	kindEntry = 1
	kindState = 2 // term (8) | vote (8) | commit (8)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is that of a value whose header is in front of its data, or of the rest of them.
func checksum(b, data []byte) uint32 {
	sum := crc32.Update(crc32.Checksum(b[:sumAt], castagnoli), castagnoli, b[sumAt+4:])
	return crc32.Update(sum, castagnoli, data)
}

func seal(b, data []byte) { binary.LittleEndian.PutUint32(b[sumAt:], checksum(b, data)) }

func sealed(b, data []byte) bool {
	return len(b) >= header && binary.LittleEndian.Uint32(b[sumAt:]) == checksum(b, data)
}

// encode returns the payload of an entry behind record last in two parts, the second being the entry's own data, and the last
// record in it.
func encode(e *Entry, last uint64) (head, data []byte, end uint64, err error) {
	head = make([]byte, indexBytes+header)
	binary.LittleEndian.PutUint64(head, e.Index)
	value := head[indexBytes:]
	switch {
	case e.Type == 0:
		return nil, nil, 0, fmt.Errorf("entry %d of type 0: %w", e.Index, ErrCorrupt)
	case e.Type != Records:
		data = e.Data
		binary.LittleEndian.PutUint64(value[termBytes:], last+1)
		value[header-2] = format
	case len(e.Data) < dataHeader:
		return nil, nil, 0, fmt.Errorf("entry %d of %d bytes: %w", e.Index, len(e.Data), ErrCorrupt)
	default:
		// It is checked as its maker sealed it, without a term: it went through
		// memory and network since.
		copy(value[termBytes:], e.Data)
		value[termBytes-1] = Records
		if data = e.Data[dataHeader:]; !sealed(value, data) {
			return nil, nil, 0, fmt.Errorf("checksum of entry %d: %w", e.Index, ErrCorrupt)
		}
	}
	binary.LittleEndian.PutUint64(value, e.Term)
	value[termBytes-1] = e.Type
	seal(value, data)
	end, err = follows(e.Index, value, data, last)
	return head, data, end, err
}

// follows returns the last record of an entry whose value, sealed, is in two parts, and an error unless it begins behind
// record last.
func follows(index uint64, value, data []byte, last uint64) (end uint64, err error) {
	if f := value[header-2]; f != format {
		return 0, fmt.Errorf("entry %d of format %d: %w", index, f, ErrCorrupt)
	}
	if first := binary.LittleEndian.Uint64(value[termBytes:]); first != last+1 {
		return 0, fmt.Errorf("entry %d begins with record %d, want %d: %w", index, first, last+1, ErrCorrupt)
	}
	if value[termBytes-1] != Records {
		return last, nil
	}
	n, err := count(data)
	if err != nil {
		return 0, fmt.Errorf("entry %d: %w", index, err)
	}
	return last + n, nil
}

// survey returns what is to be known of the entry with a value, which begins behind record last.
func survey(index uint64, value []byte, last uint64) (p place, err error) {
	if !sealed(value, nil) {
		return p, fmt.Errorf("checksum of entry %d: %w", index, ErrCorrupt)
	}
	end, err := follows(index, value, value[header:], last)
	return place{term: binary.LittleEndian.Uint64(value), last: end, size: uint32(len(value)), kind: value[termBytes-1]}, err
}

// recordBefore returns the last record before the entry with a value, as that says.
func recordBefore(value []byte) uint64 {
	if len(value) < header {
		return 0
	}
	return binary.LittleEndian.Uint64(value[termBytes:]) - 1
}

// decode returns the entry with a value behind record last. The data are not the value's.
func decode(index uint64, value []byte, last uint64) (e Entry, err error) {
	p, err := survey(index, value, last)
	if err != nil {
		return Entry{}, err
	}
	e = Entry{Index: index, Term: p.term, Type: p.kind}
	if e.Type != Records {
		e.Data = append([]byte(nil), value[header:]...)
		return e, nil
	}
	alone := append([]byte(nil), value...)
	clear(alone[:8])
	seal(alone, nil)
	e.Data = alone[termBytes:]
	return e, nil
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
