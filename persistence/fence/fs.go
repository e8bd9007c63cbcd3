package fence

import (
	"errors"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Create makes a file. Behind a fallen fence it is made in memory, but for the
// tables of a compaction, whose maker waits for Release (see Opened).
func (f *FS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !f.inside(name) {
		return f.follow(name)(f.FS.Create(name, category))
	}
	if f.holds(name, category) {
		return nil, ErrHeld
	}
	if f.enter() {
		file, err := f.FS.Create(name, category)
		if err == nil {
			f.note(name)
		}
		f.leave("create", name, err)
		if err == nil {
			return f.wrap(file, name), nil
		}
	}
	if isTable(name) && category == compaction {
		if f.opened.Load() {
			<-f.released
		}
		return nil, ErrFallen
	}
	return f.memory.Create(f.kept(name), category)
}

// ReuseForWrite makes a file of an old one. Behind a fallen fence it is a new
// one in memory.
func (f *FS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !f.inside(name) {
		return f.FS.ReuseForWrite(old, name, category)
	}
	if f.enter() {
		file, err := f.FS.ReuseForWrite(old, name, category)
		f.leave("reuse for "+f.PathBase(name), old, err)
		if err == nil {
			return f.wrap(file, name), nil
		}
	}
	return f.memory.Create(f.kept(name), category)
}

// Open opens a file to be read, behind a fallen fence from memory first.
func (f *FS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if f.Err() != nil && f.inside(name) {
		if file, err := f.memory.Open(f.kept(name), opts...); err == nil {
			return file, nil
		}
	}
	return f.follow(name)(f.FS.Open(name, opts...))
}

// OpenReadWrite opens a file to be read and written. Behind a fallen fence it
// has to be in memory.
func (f *FS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if !f.inside(name) {
		return f.FS.OpenReadWrite(name, category, opts...)
	}
	if f.enter() {
		file, err := f.FS.OpenReadWrite(name, category, opts...)
		f.leave("open", name, err)
		if err == nil {
			return f.wrap(file, name), nil
		}
	}
	return f.memory.OpenReadWrite(f.kept(name), category, opts...)
}

// OpenDir opens a directory to be synced.
func (f *FS) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	if f.PathJoin(name) != f.dir {
		return f.follow(name)(visitor{dir, f, name}, nil)
	}
	return f.wrap(dir, name), nil
}

// Stat describes a file, behind a fallen fence from memory first.
func (f *FS) Stat(name string) (vfs.FileInfo, error) {
	if f.Err() != nil && f.PathDir(name) == f.dir {
		if info, err := f.memory.Stat(f.kept(name)); err == nil {
			return info, nil
		}
	}
	return f.FS.Stat(name)
}

// List lists a directory, and behind a fallen fence what is in memory too.
func (f *FS) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	if err != nil || f.PathJoin(dir) != f.dir || f.Err() == nil {
		return names, err
	}
	more, err := f.memory.List("/")
	names = append(names, more...)
	slices.Sort(names)
	return slices.Compact(names), err
}

// Rename renames a file. Behind a fallen fence that counts for what is in memory.
func (f *FS) Rename(old, name string) error {
	if !f.inside(name) {
		return f.FS.Rename(old, name)
	}
	if f.enter() {
		err := f.FS.Rename(old, name)
		f.leave("rename to "+f.PathBase(name), old, err)
		if err == nil {
			return nil
		}
	}
	_ = f.memory.Rename(f.kept(old), f.kept(name))
	return nil
}

// Link gives a file another name: a table that was written elsewhere becomes one of the
// directory. Behind a fallen fence it does not.
func (f *FS) Link(old, name string) error {
	if !f.inside(name) {
		return f.FS.Link(old, name)
	}
	if !f.enter() {
		return ErrFallen
	}
	err := f.FS.Link(old, name)
	if err == nil {
		f.note(name)
	}
	f.leave("link to "+f.PathBase(name), old, err)
	return err
}

// Remove removes a file. That it cannot is no reason to fall: nothing depends
// on it. Behind a fallen fence the disk keeps its files, since those it would be
// opened with are among them; only tables that were made in vain go.
func (f *FS) Remove(name string) error {
	if !f.inside(name) {
		return f.FS.Remove(name)
	}
	if f.mayRemove(name) {
		f.changes.Add(1)
		return f.FS.Remove(name)
	}
	_ = f.memory.Remove(f.kept(name))
	return nil
}

// mayRemove reports whether a file is to be removed from the disk now.
func (f *FS) mayRemove(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.mu.fresh, name); i >= 0 {
		f.mu.fresh = slices.Delete(f.mu.fresh, i, i+1)
		return true
	}
	if f.mu.hold && f.Err() == nil {
		f.mu.held = append(f.mu.held, name)
		return false
	}
	if isMarker(f.PathBase(name)) {
		f.mu.stale = append(f.mu.stale, name)
		return false
	}
	return f.Err() == nil
}

// listed records that the directory is on the device.
func (f *FS) listed() {
	f.mu.Lock()
	stale := f.mu.stale
	f.mu.stale = nil
	f.mu.Unlock()
	for _, name := range stale {
		_ = f.FS.Remove(name)
	}
}

// syncDir forces the directory to the device.
func (f *FS) syncDir() error {
	dir, err := f.FS.OpenDir(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Lock does nothing: the owner, which opens one database after another in the
// directory, holds its lock all the time.
func (f *FS) Lock(string) (io.Closer, error) { return nobody{}, nil }

type nobody struct{}

func (nobody) Close() error { return nil }

// Unwrap returns the underlying file system.
func (f *FS) Unwrap() vfs.FS { return f.FS }
