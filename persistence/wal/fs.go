package wal

import (
	"io/fs"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// FS is the file system as Pebble sees it: each sync of a log or manifest
// in the store's directory is noted in the mark.
type FS struct {
	vfs.FS
	dir  string
	Mark *Mark
}

// Unwrap is part of vfs.FS.
func (m *FS) Unwrap() vfs.FS { return m.FS }

// appended reports which log or manifest of the store a path names, if any.
func (m *FS) appended(path string) (id File, ok bool) {
	if m.PathDir(path) != m.dir {
		return id, false
	}
	return ParseFile(m.PathBase(path))
}

const manifestPrefix = "MANIFEST-"

// ParseFile returns which log or manifest has a name.
func ParseFile(name string) (id File, ok bool) {
	if num, _, ok := wal.ParseLogFilename(name); ok {
		return File{markLog, uint64(num)}, true
	}
	if digits, ok := strings.CutPrefix(name, manifestPrefix); ok {
		num, err := strconv.ParseUint(digits, 10, 64)
		return File{markManifest, num}, err == nil
	}
	return id, false
}

// MkdirAll makes directories for their owner alone: snapshots hold what the store
// does.
func (m *FS) MkdirAll(dir string, perm fs.FileMode) error {
	return m.FS.MkdirAll(dir, perm&0o700)
}

// Create makes a file. The mark is durable first, with all that is known of the
// files before.
func (m *FS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := m.FS.Create(name, category)
	return m.begin(name, f, err)
}

// ReuseForWrite makes a log of one that is not needed any more.
func (m *FS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := m.FS.ReuseForWrite(old, name, category)
	if id, ok := m.appended(old); ok && err == nil {
		m.Mark.forget(id)
	}
	return m.begin(name, f, err)
}

func (m *FS) begin(name string, f vfs.File, err error) (vfs.File, error) {
	id, ok := m.appended(name)
	if !ok || err != nil {
		return f, err
	}
	m.Mark.begin(id)
	return &markedFile{File: f, id: id, mark: m.Mark}, nil
}

// Remove removes a file.
func (m *FS) Remove(name string) error {
	err := m.FS.Remove(name)
	if id, ok := m.appended(name); ok && err == nil {
		m.Mark.forget(id)
	}
	return err
}

// markedFile is a log or manifest that is written. It has one writer at a time.
type markedFile struct {
	vfs.File
	id      File
	mark    *Mark
	written int64
}

func (f *markedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.written += int64(n)
	return n, err
}

// Sync forces the file to the device.
func (f *markedFile) Sync() error { return f.synced(f.File.Sync) }

// SyncData is Sync without what reading does not need.
func (f *markedFile) SyncData() error { return f.synced(f.File.SyncData) }

func (f *markedFile) synced(sync func() error) error {
	length := f.written
	if err := sync(); err != nil {
		return err
	}
	f.mark.grow(f.id, length)
	return nil
}
