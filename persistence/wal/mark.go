package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
)

// The sync mark distinguishes damage from a torn tail. A log that a crash cut
// short and one that lost bytes which were on the device long ago look the same:
// both end in something that is no record. Therefore each time that the device
// confirms a log or a manifest, the file SYNCED is told how long that file was:
// what is shorter, or does not decode up to there, is damaged.
//
// It is written after the sync and before any reply depends on it, and is
// itself synced only when a file is started: it never claims what is not on the
// device, after the end of the process it is exact, and after a power failure
// it is as old as the system's write-back.
//
// The file has two slots of 4096 bytes, written in turn, so that one is whole
// whenever the machine stops. The slot with the higher generation counts:
//
//	crc32c of all behind it (4) | format, 1 (1) | flags (1) | files (2) | generation (8) |
//	{ kind (1) | number (8) | synced bytes (8) }...
//
// Kind 1 is a log of Pebble's, 2 a manifest, 3 the last segment of the store's own log:
// the head of a segment says how long the one before was. Flag 1 says that the store was made completely.
// These numbers are on disk and never change.
const (
	MarkName   = "SYNCED"
	markFormat = 1
	markSlot   = 4096
	markFixed  = 4 + 1 + 1 + 2 + 8
	markEntry  = 1 + 8 + 8
	markFiles  = (markSlot - markFixed) / markEntry // the most that a slot has room for

	markMade = 1 // flag

	markLog      = 1 // kinds
	markManifest = 2
	markSegment  = 3
)

// File names a file of Pebble's that grows at its end.
type File struct {
	kind byte
	num  uint64
}

// Synced is how much of a file is on the device.
type Synced struct {
	File
	Bytes int64
}

// Claims are what the mark says, and a slot of it holds.
type Claims struct {
	generation uint64
	Made       bool
	Files      []Synced
}

// Append appends what a slot holds.
func (m *Claims) Append(dst []byte) []byte {
	dst = append(dst, 0, 0, 0, 0, markFormat, 0)
	if m.Made {
		dst[5] = markMade
	}
	files := m.Files[max(0, len(m.Files)-markFiles):]
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(files)))
	dst = binary.LittleEndian.AppendUint64(dst, m.generation)
	for _, f := range files {
		dst = append(dst, f.kind)
		dst = binary.LittleEndian.AppendUint64(dst, f.num)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(f.Bytes))
	}
	binary.LittleEndian.PutUint32(dst, format.Checksum(0, dst[4:]))
	return dst
}

// decodeMarked reads a slot; what follows its files is ignored.
func decodeMarked(b []byte) (m Claims, err error) {
	if len(b) < markFixed {
		return m, fmt.Errorf("mark of %d bytes: %w", len(b), format.ErrCorrupt)
	}
	n := int(binary.LittleEndian.Uint16(b[6:]))
	size := markFixed + n*markEntry
	if size > len(b) || binary.LittleEndian.Uint32(b) != format.Checksum(0, b[4:size]) {
		return m, fmt.Errorf("checksum of mark: %w", format.ErrCorrupt)
	}
	if b[4] != markFormat {
		return m, fmt.Errorf("mark of format %d: %w", b[4], format.ErrVersion)
	}
	m.Made = b[5]&markMade != 0
	m.generation = binary.LittleEndian.Uint64(b[8:])
	for b = b[markFixed:size]; len(b) > 0; b = b[markEntry:] {
		f := Synced{File{b[0], binary.LittleEndian.Uint64(b[1:])}, int64(binary.LittleEndian.Uint64(b[9:]))}
		if f.kind < markLog || f.kind > markSegment || f.Bytes < 0 {
			return m, fmt.Errorf("file of kind %d in mark: %w", f.kind, format.ErrCorrupt)
		}
		m.Files = append(m.Files, f)
	}
	return m, nil
}

// Synced is how much of a file the device has, 0 if the mark does not know it.
func (m *Claims) Synced(id File) int64 {
	for _, f := range m.Files {
		if f.File == id {
			return f.Bytes
		}
	}
	return 0
}

// Segments returns how much of the segments of the store's own log is on the device, by their numbers.
func (m Claims) Segments() map[uint64]int64 {
	segments := map[uint64]int64{}
	for _, f := range m.Files {
		if f.kind == markSegment {
			segments[f.num] = f.Bytes
		}
	}
	return segments
}

// SetSegment puts a claim about a segment in the place of those about others.
func (m *Claims) SetSegment(number uint64, bytes int64) {
	m.Files = slices.DeleteFunc(m.Files, func(f Synced) bool { return f.kind == markSegment })
	if number > 0 {
		m.Files = append(m.Files, Synced{File{markSegment, number}, bytes})
	}
}

// ReadMark reads the mark of the store in dir. It is fs.ErrNotExist if there is
// none, format.ErrCorrupt if neither slot can be read. worn reports that one cannot.
func ReadMark(fsys vfs.FS, dir string) (m Claims, worn bool, err error) {
	f, err := fsys.Open(fsys.PathJoin(dir, MarkName))
	if err != nil {
		return m, false, err
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return m, false, err
	}
	var first, second error
	b = append(b, make([]byte, max(0, 2*markSlot-len(b)))...)
	m, first = decodeMarked(b[:markSlot])
	other, second := decodeMarked(b[markSlot:])
	switch {
	case first != nil && second != nil:
		return Claims{}, false, errors.Join(first, second)
	case first != nil || second == nil && other.generation > m.generation:
		m = other
	}
	return m, first != nil || second != nil, nil
}

// Mark writes the mark of an open store.
type Mark struct {
	warn func(format string, args ...any)

	mu     sync.Mutex // guards what is below
	file   vfs.File
	now    Claims
	buf    []byte
	failed bool // the last write did
}

// openMark opens the mark for writing, going on from now. It is made if it is not
// there.
func openMark(fsys vfs.FS, dir string, now Claims, warn func(format string, args ...any)) (*Mark, error) {
	f, err := fsys.OpenReadWrite(fsys.PathJoin(dir, MarkName), "vigil")
	if err != nil {
		return nil, err
	}
	m := &Mark{warn: warn, file: f, now: now}
	// Each slot is synced before the other one is touched.
	err = errors.Join(m.writeLocked(), f.Sync(), m.writeLocked(), f.Sync(), fence.SyncDir(fsys, dir))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", MarkName, err), f.Close())
	}
	return m, nil
}

// writeLocked writes the older slot. A failure leaves the newer one as it is:
// the mark then claims less than it could.
func (m *Mark) writeLocked() error {
	m.now.generation++
	m.buf = m.now.Append(m.buf[:0])
	_, err := m.file.WriteAt(m.buf, int64(m.now.generation%2)*markSlot)
	if err != nil {
		m.now.generation--
	}
	if err != nil && !m.failed {
		m.warn("write %s: %v", MarkName, err)
	}
	m.failed = err != nil
	return err
}

// begin notes that a file is about to be written from its start.
func (m *Mark) begin(id File) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropLocked(id)
	m.now.Files = append(m.now.Files, Synced{File: id})
	if m.writeLocked() == nil {
		m.syncLocked()
	}
}

func (m *Mark) syncLocked() {
	if err := m.file.Sync(); err != nil {
		m.warn("sync %s: %v", MarkName, err)
	}
}

// grow notes that the device has so many bytes of a file.
func (m *Mark) grow(id File, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.now.Files {
		if f := &m.now.Files[i]; f.File == id && f.Bytes < bytes {
			f.Bytes = bytes
			_ = m.writeLocked()
		}
	}
}

// Segment notes how much of the last segment of the store's own log the device has; a number of 0 is that there is none.
func (m *Mark) Segment(number uint64, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.SetSegment(number, bytes)
	_ = m.writeLocked()
}

// forget notes that a file is gone. It is not written at once: unneeded files
// are not looked for.
func (m *Mark) forget(id File) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropLocked(id)
}

func (m *Mark) dropLocked(id File) {
	for i, f := range m.now.Files {
		if f.File == id {
			m.now.Files = append(m.now.Files[:i], m.now.Files[i+1:]...)
			return
		}
	}
}

// Complete notes that the store is complete: from now on its files must be there.
func (m *Mark) Complete() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now.Made {
		return nil
	}
	m.now.Made = true
	return errors.Join(m.writeLocked(), m.writeLocked(), m.file.Sync())
}

// State is what the mark claims now.
func (m *Mark) State() Claims {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.now
	s.Files = append([]Synced(nil), s.Files...)
	return s
}

// Close ends the writing of the mark.
func (m *Mark) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.syncLocked()
	return m.file.Close()
}
