package format

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/persistence/journal"
)

// Meta is what a store knows about itself, the value of key 'm':
//
//	format, 2 or 3 (4) | crc32c of what follows (4) | { tag (1) | length (4) | field }...
//
//	tag  field
//	1    secret (16)
//	2    last record (8) and last chunk (8) that were cut off the journal
//	3    mapped (8) | next physical database (4) | physical database (4) of each logical one
//	4    nothing: the store is a member of a group
//	5    segment (8) with which the log begins, 0 if none was ever trimmed
//	6    nothing: the log of the group is in files, and says itself where it begins
//	7    record (8) | whose data it is: see Replicated; the store follows a master
//	8    nothing: the segment with which the log begins may still have to be made
//	128  the same, of a store that does not follow any more
//
// In format 2 the journal is in Pebble. In format 3 it is in a log, and there is field 5, or 6 in a group: so a version
// that knows format 3 of stores that are alone only refuses that of a member.
// Versions to come add fields. One that a reader has to know has a tag below
// metaHints: a reader that does not know it refuses the store. These numbers are
// on disk and never change.
type Meta struct {
	Secret  [16]byte
	Trimmed journal.Position // end of what was cut off the journal
	Mapped  uint64           // record that the stored mapping of databases is of
	Next    uint32
	Phys    []uint32
	Grouped bool
	Segment uint64 // of the log, that it begins with
	Unmade  bool   // that segment may still have to be made: the store was a member of a group
	Pebble  bool   // the journal is in Pebble

	Replicated Replicated // whose data it is
	Arrived    uint64     // the record that says so
}

const (
	metaPebble = 2 // formats
	metaLog    = 3
	metaFixed  = 4 + 4

	metaSecret     = 1
	metaTrimmed    = 2
	metaDatabases  = 3
	metaGrouped    = 4
	metaSegment    = 5
	metaEntries    = 6
	metaFollows    = 7
	metaUnmade     = 8
	metaHints      = 128
	metaReplicated = 128
)

func (m *Meta) format() uint32 {
	if m.Pebble {
		return metaPebble
	}
	return metaLog
}

// Append appends the value of the key of the meta.
func (m *Meta) Append(dst []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, m.format())
	dst = append(dst, 0, 0, 0, 0)
	dst = appendMetaField(dst, metaSecret, m.Secret[:])
	f := binary.LittleEndian.AppendUint64(nil, m.Trimmed.LSN)
	dst = appendMetaField(dst, metaTrimmed, binary.LittleEndian.AppendUint64(f, m.Trimmed.Index))
	f = binary.LittleEndian.AppendUint64(f[:0], m.Mapped)
	f = binary.LittleEndian.AppendUint32(f, m.Next)
	for _, p := range m.Phys {
		f = binary.LittleEndian.AppendUint32(f, p)
	}
	dst = appendMetaField(dst, metaDatabases, f)
	if m.Grouped {
		dst = appendMetaField(dst, metaGrouped, nil)
	}
	switch {
	case m.Pebble:
	case m.Grouped:
		dst = appendMetaField(dst, metaEntries, nil)
	default:
		dst = appendMetaField(dst, metaSegment, binary.LittleEndian.AppendUint64(f[:0], m.Segment))
	}
	if m.Unmade {
		dst = appendMetaField(dst, metaUnmade, nil)
	}
	if m.Replicated != (Replicated{}) {
		tag := byte(metaReplicated)
		if m.Replicated.Follows {
			tag = metaFollows
		}
		dst = appendMetaField(dst, tag, m.Replicated.append(binary.LittleEndian.AppendUint64(f[:0], m.Arrived)))
	}
	binary.LittleEndian.PutUint32(dst[start+4:], Checksum(0, dst[start+metaFixed:]))
	return dst
}

func appendMetaField(dst []byte, tag byte, field []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(append(dst, tag), uint32(len(field))), field...)
}

// DecodeMeta reads what Append wrote.
func DecodeMeta(b []byte) (m Meta, err error) {
	if len(b) < 4 {
		return Meta{}, fmt.Errorf("meta of %d bytes: %w", len(b), ErrCorrupt)
	}
	f := binary.LittleEndian.Uint32(b)
	if f != metaPebble && f != metaLog {
		return Meta{}, fmt.Errorf("format %d, want %d or %d: %w", f, metaPebble, metaLog, ErrVersion)
	}
	m.Pebble = f == metaPebble
	if len(b) < metaFixed || binary.LittleEndian.Uint32(b[4:]) != Checksum(0, b[metaFixed:]) {
		return Meta{}, fmt.Errorf("checksum of meta: %w", ErrCorrupt)
	}
	known, segment, entries := 0, false, false
	for b = b[metaFixed:]; len(b) > 0; {
		if len(b) < 5 || uint64(binary.LittleEndian.Uint32(b[1:])) > uint64(len(b)-5) {
			return Meta{}, fmt.Errorf("field of meta: %w", ErrCorrupt)
		}
		tag, end := b[0], 5+int(binary.LittleEndian.Uint32(b[1:]))
		if err := m.decodeField(tag, b[5:end]); err != nil {
			return Meta{}, err
		}
		if tag <= metaDatabases {
			known++
		}
		segment, entries = segment || tag == metaSegment, entries || tag == metaEntries
		b = b[end:]
	}
	if known != metaDatabases || m.Unmade && m.Segment == 0 || segment != (!m.Pebble && !m.Grouped) || entries != (!m.Pebble && m.Grouped) {
		return Meta{}, fmt.Errorf("meta lacks fields: %w", ErrCorrupt)
	}
	return m, nil
}

func (m *Meta) decodeField(tag byte, b []byte) error {
	wrong := fmt.Errorf("field %d of meta with %d bytes: %w", tag, len(b), ErrCorrupt)
	switch {
	case tag == metaSecret:
		if len(b) != len(m.Secret) {
			return wrong
		}
		copy(m.Secret[:], b)
	case tag == metaTrimmed:
		if len(b) != 16 {
			return wrong
		}
		m.Trimmed = journal.Position{LSN: binary.LittleEndian.Uint64(b), Index: binary.LittleEndian.Uint64(b[8:])}
	case tag == metaDatabases:
		if len(b) < 12 || len(b)%4 != 0 {
			return wrong
		}
		m.Mapped, m.Next = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])
		for b = b[12:]; len(b) > 0; b = b[4:] {
			p := binary.LittleEndian.Uint32(b)
			if p >= m.Next {
				return fmt.Errorf("database %d of %d: %w", p, m.Next, ErrCorrupt)
			}
			m.Phys = append(m.Phys, p)
		}
	case tag == metaGrouped:
		if m.Grouped = len(b) == 0; !m.Grouped {
			return wrong
		}
	case tag == metaEntries || tag == metaUnmade:
		if len(b) != 0 {
			return wrong
		}
		m.Unmade = m.Unmade || tag == metaUnmade
	case tag == metaSegment:
		if len(b) != 8 {
			return wrong
		}
		m.Segment = binary.LittleEndian.Uint64(b)
	case tag == metaFollows || tag == metaReplicated:
		if len(b) < 8 {
			return wrong
		}
		m.Replicated.Follows, m.Arrived = tag == metaFollows, binary.LittleEndian.Uint64(b)
		return m.Replicated.decode(b[8:])
	case tag < metaHints:
		return fmt.Errorf("field %d of meta, which a newer version wrote: %w", tag, ErrVersion)
	}
	return nil
}

// Extend gives logical databases up to n a physical one.
func (m *Meta) Extend(n int) {
	for len(m.Phys) < n {
		m.Phys = append(m.Phys, m.Next)
		m.Next++
	}
}
