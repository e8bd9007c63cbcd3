package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

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
// Kind 1 is a log, 2 a manifest. Flag 1 says that the store was made completely.
// These numbers are on disk and never change.
const (
	markName   = "SYNCED"
	markFormat = 1
	markSlot   = 4096
	markFixed  = 4 + 1 + 1 + 2 + 8
	markEntry  = 1 + 8 + 8
	markFiles  = (markSlot - markFixed) / markEntry // the most that a slot has room for

	markMade = 1 // flag

	markLog      = 1 // kinds
	markManifest = 2
)

// appended names a file of Pebble's that grows at its end.
type appended struct {
	kind byte
	num  uint64
}

// syncedFile is how much of a file is on the device.
type syncedFile struct {
	appended
	bytes int64
}

// marked is what a slot holds.
type marked struct {
	generation uint64
	made       bool
	files      []syncedFile
}

func (m *marked) append(dst []byte) []byte {
	dst = append(dst, 0, 0, 0, 0, markFormat, 0)
	if m.made {
		dst[5] = markMade
	}
	files := m.files[max(0, len(m.files)-markFiles):]
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(files)))
	dst = binary.LittleEndian.AppendUint64(dst, m.generation)
	for _, f := range files {
		dst = append(dst, f.kind)
		dst = binary.LittleEndian.AppendUint64(dst, f.num)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(f.bytes))
	}
	binary.LittleEndian.PutUint32(dst, format.Checksum(0, dst[4:]))
	return dst
}

// decodeMarked reads a slot; what follows its files is ignored.
func decodeMarked(b []byte) (m marked, err error) {
	if len(b) < markFixed {
		return m, fmt.Errorf("mark of %d bytes: %w", len(b), ErrCorrupt)
	}
	n := int(binary.LittleEndian.Uint16(b[6:]))
	size := markFixed + n*markEntry
	if size > len(b) || binary.LittleEndian.Uint32(b) != format.Checksum(0, b[4:size]) {
		return m, fmt.Errorf("checksum of mark: %w", ErrCorrupt)
	}
	if b[4] != markFormat {
		return m, fmt.Errorf("mark of format %d: %w", b[4], ErrVersion)
	}
	m.made = b[5]&markMade != 0
	m.generation = binary.LittleEndian.Uint64(b[8:])
	for b = b[markFixed:size]; len(b) > 0; b = b[markEntry:] {
		f := syncedFile{appended{b[0], binary.LittleEndian.Uint64(b[1:])}, int64(binary.LittleEndian.Uint64(b[9:]))}
		if f.kind != markLog && f.kind != markManifest || f.bytes < 0 {
			return m, fmt.Errorf("file of kind %d in mark: %w", f.kind, ErrCorrupt)
		}
		m.files = append(m.files, f)
	}
	return m, nil
}

// synced is how much of a file the device has, 0 if the mark does not know it.
func (m *marked) synced(id appended) int64 {
	for _, f := range m.files {
		if f.appended == id {
			return f.bytes
		}
	}
	return 0
}

// readMark reads the mark of the store in dir. It is fs.ErrNotExist if there is
// none, ErrCorrupt if neither slot can be read. worn reports that one cannot.
func readMark(fsys vfs.FS, dir string) (m marked, worn bool, err error) {
	f, err := fsys.Open(fsys.PathJoin(dir, markName))
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
		return marked{}, false, errors.Join(first, second)
	case first != nil || second == nil && other.generation > m.generation:
		m = other
	}
	return m, first != nil || second != nil, nil
}

// syncMark writes the mark of an open store.
type syncMark struct {
	logf func(level int, format string, args ...any)

	mu     sync.Mutex // guards what is below
	file   vfs.File
	now    marked
	buf    []byte
	failed bool // the last write did
}

// openMark opens the mark for writing, going on from now. It is made if it is not
// there.
func openMark(fsys vfs.FS, dir string, now marked, logf func(int, string, ...any)) (*syncMark, error) {
	f, err := fsys.OpenReadWrite(fsys.PathJoin(dir, markName), "vigil")
	if err != nil {
		return nil, err
	}
	m := &syncMark{logf: logf, file: f, now: now}
	// Each slot is synced before the other one is touched.
	err = errors.Join(m.writeLocked(), f.Sync(), m.writeLocked(), f.Sync(), syncDir(fsys, dir))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", markName, err), f.Close())
	}
	return m, nil
}

// syncDir forces the names in a directory to the device.
func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// writeLocked writes the older slot. A failure leaves the newer one as it is:
// the mark then claims less than it could.
func (m *syncMark) writeLocked() error {
	m.now.generation++
	m.buf = m.now.append(m.buf[:0])
	_, err := m.file.WriteAt(m.buf, int64(m.now.generation%2)*markSlot)
	if err != nil {
		m.now.generation--
	}
	if err != nil && !m.failed {
		m.logf(LevelWarn, "write %s: %v", markName, err)
	}
	m.failed = err != nil
	return err
}

// begin notes that a file is about to be written from its start.
func (m *syncMark) begin(id appended) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropLocked(id)
	m.now.files = append(m.now.files, syncedFile{appended: id})
	if m.writeLocked() == nil {
		m.syncLocked()
	}
}

func (m *syncMark) syncLocked() {
	if err := m.file.Sync(); err != nil {
		m.logf(LevelWarn, "sync %s: %v", markName, err)
	}
}

// grow notes that the device has so many bytes of a file.
func (m *syncMark) grow(id appended, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.now.files {
		if f := &m.now.files[i]; f.appended == id && f.bytes < bytes {
			f.bytes = bytes
			_ = m.writeLocked()
		}
	}
}

// forget notes that a file is gone. It is not written at once: unneeded files
// are not looked for.
func (m *syncMark) forget(id appended) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropLocked(id)
}

func (m *syncMark) dropLocked(id appended) {
	for i, f := range m.now.files {
		if f.appended == id {
			m.now.files = append(m.now.files[:i], m.now.files[i+1:]...)
			return
		}
	}
}

// made notes that the store is complete: from now on its files must be there.
func (m *syncMark) made() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now.made {
		return nil
	}
	m.now.made = true
	return errors.Join(m.writeLocked(), m.writeLocked(), m.file.Sync())
}

// state is what the mark claims now.
func (m *syncMark) state() marked {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.now
	s.files = append([]syncedFile(nil), s.files...)
	return s
}

func (m *syncMark) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.syncLocked()
	return m.file.Close()
}
