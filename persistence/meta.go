package persistence

import (
	"encoding/binary"
	"fmt"
)

// meta is what a store knows about itself, the value of key 'm':
//
//	format, 1 (4) | seed of the hash (8) | trimmed (8) | mapped (8) | next physical database (4) |
//	number of logical databases (4) | physical database of each (4)...
//
// trimmed is the last record that was cut off the journal; mapped the record
// number as of which the databases are told. These numbers are on disk and never
// change.
type meta struct {
	seed    uint64
	trimmed uint64
	mapped  uint64
	next    uint32
	phys    []uint32
}

const (
	metaFormat = 1
	metaFixed  = 4 + 8 + 8 + 8 + 4 + 4
)

func (m *meta) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, metaFormat)
	dst = binary.LittleEndian.AppendUint64(dst, m.seed)
	dst = binary.LittleEndian.AppendUint64(dst, m.trimmed)
	dst = binary.LittleEndian.AppendUint64(dst, m.mapped)
	dst = binary.LittleEndian.AppendUint32(dst, m.next)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.phys)))
	for _, p := range m.phys {
		dst = binary.LittleEndian.AppendUint32(dst, p)
	}
	return dst
}

func decodeMeta(b []byte) (m meta, err error) {
	if len(b) < 4 {
		return meta{}, fmt.Errorf("meta of %d bytes: %w", len(b), ErrCorrupt)
	}
	if f := binary.LittleEndian.Uint32(b); f != metaFormat {
		return meta{}, fmt.Errorf("meta of format %d: %w", f, ErrVersion)
	}
	if len(b) < metaFixed {
		return meta{}, fmt.Errorf("meta of %d bytes: %w", len(b), ErrCorrupt)
	}
	m.seed = binary.LittleEndian.Uint64(b[4:])
	m.trimmed = binary.LittleEndian.Uint64(b[12:])
	m.mapped = binary.LittleEndian.Uint64(b[20:])
	m.next = binary.LittleEndian.Uint32(b[28:])
	n := binary.LittleEndian.Uint32(b[32:])
	if b = b[metaFixed:]; uint64(len(b)) != 4*uint64(n) {
		return meta{}, fmt.Errorf("meta with %d databases: %w", n, ErrCorrupt)
	}
	for ; len(b) > 0; b = b[4:] {
		p := binary.LittleEndian.Uint32(b)
		if p >= m.next {
			return meta{}, fmt.Errorf("database %d of %d: %w", p, m.next, ErrCorrupt)
		}
		m.phys = append(m.phys, p)
	}
	return m, nil
}

// extend gives logical databases up to n a physical one.
func (m *meta) extend(n int) {
	for len(m.phys) < n {
		m.phys = append(m.phys, m.next)
		m.next++
	}
}
