package fence

import (
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// file is a file of the directory, or the directory, that was opened for writing
// while the fence stood.
type file struct {
	vfs.File
	f        *FS
	name     string
	table    bool
	manifest bool
	dir      bool
	named    bool // the name of a manifest is on the device
}

func (f *FS) wrap(inner vfs.File, name string) *file {
	w := &file{File: inner, f: f, name: name, table: isTable(name), manifest: isManifest(f.PathBase(name))}
	w.dir = f.PathJoin(name) == f.dir
	f.remember(inner, name)
	return w
}

// fallen is the result of an operation behind a fallen fence. A table cannot be
// ended if it was begun on the disk: its maker has to begin another one, and
// knows how to. Everything else is never read again by the one that wrote it.
func (w *file) fallen() error {
	if w.table {
		return ErrFallen
	}
	return nil
}

// Write writes to the end of the file.
func (w *file) Write(p []byte) (int, error) {
	if w.f.enter() {
		if w.manifest {
			w.f.mentioned()
		}
		n, err := w.File.Write(p)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		w.f.leave("write", w.name, err)
		if err == nil {
			return n, nil
		}
	}
	if err := w.fallen(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteAt writes in the middle of the file.
func (w *file) WriteAt(p []byte, off int64) (int, error) {
	err := w.change("write", func() error {
		n, err := w.File.WriteAt(p, off)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// change does what changes the disk, unless the fence has fallen.
func (w *file) change(op string, do func() error) error {
	if w.f.enter() {
		err := do()
		w.f.leave(op, w.name, err)
		if err == nil {
			return nil
		}
	}
	return w.fallen()
}

// Sync forces the file to the device.
func (w *file) Sync() error {
	return w.change("sync", func() error {
		if err := w.File.Sync(); err != nil {
			return err
		}
		switch {
		case w.dir:
			w.f.listed()
		case w.manifest && !w.named:
			w.named = true
			return w.f.syncDir()
		}
		return nil
	})
}

// SyncData forces the bytes of the file to the device.
func (w *file) SyncData() error { return w.change("sync", w.File.SyncData) }

// SyncTo forces a part of the file to the device, or begins to.
func (w *file) SyncTo(length int64) (full bool, err error) {
	err = w.change("sync", func() error {
		full, err = w.File.SyncTo(length)
		return err
	})
	return full && err == nil, err
}

// Preallocate asks for room. It is a hint: without room, the write fails.
func (w *file) Preallocate(offset, length int64) error {
	if w.f.enter() {
		defer w.f.gate.RUnlock()
		_ = w.File.Preallocate(offset, length)
	}
	return nil
}

// Close closes the file, behind a fallen fence too, so that descriptors do not
// leak. An error may come from an earlier write.
func (w *file) Close() error {
	w.f.closed(w.File)
	standing := w.f.enter()
	err := w.File.Close()
	if !standing {
		return w.fallen()
	}
	w.f.leave("close", w.name, err)
	if err != nil {
		return w.fallen()
	}
	return nil
}

// follower is an open file that is only read, or is elsewhere.
type follower struct {
	vfs.File
	f *FS
}

// follow remembers a file that was opened.
func (f *FS) follow(name string) func(vfs.File, error) (vfs.File, error) {
	return func(inner vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		f.remember(inner, name)
		return follower{inner, f}, nil
	}
}

// Close closes the file.
func (o follower) Close() error {
	o.f.closed(o.File)
	return o.File.Close()
}

// visitor is a directory elsewhere. A marker's failed sync of its directory makes
// Pebble panic; here it is kept for SyncError.
type visitor struct {
	vfs.File
	f    *FS
	name string
}

// Sync forces the directory to the device.
func (v visitor) Sync() error {
	if err := v.File.Sync(); err != nil {
		v.f.mu.Lock()
		defer v.f.mu.Unlock()
		v.f.mu.unsynced[v.name] = err
	}
	return nil
}
