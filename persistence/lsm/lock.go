package lsm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrLocked is returned when another process has the directory open.
var ErrLocked = errors.New("persistence: directory is in use by another process")

// Lock locks the directory of a store for this process.
func Lock(fsys vfs.FS, dir string) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, fsys)
	if err != nil {
		return nil, lockError(err)
	}
	return lock, nil
}

// lockError is ErrLocked for a lock that another process holds.
func lockError(err error) error {
	if locked(err) {
		return fmt.Errorf("%w: %w", ErrLocked, err)
	}
	return fmt.Errorf("lock directory: %w", err)
}

// locked distinguishes a lock that another process holds from a lock file that
// cannot be created.
func locked(err error) bool {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno == syscall.EAGAIN || errno == syscall.EACCES && !errors.As(err, new(*fs.PathError))
	}
	return !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errors.ErrUnsupported)
}

// LockToRead locks a store without making a file. Where there is no lock file, as
// in a snapshot, or it cannot be written, no process has the store open.
func LockToRead(fsys vfs.FS, dir string) (*pebble.Lock, error) {
	if _, err := fsys.Stat(fsys.PathJoin(dir, "LOCK")); err == nil {
		lock, err := pebble.LockDirectory(dir, fsys)
		switch {
		case err == nil:
			return lock, nil
		case !errors.Is(err, syscall.EROFS):
			return nil, lockError(err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return pebble.LockDirectory(dir, unlockedFS{fsys})
}

// unlockedFS locks nothing.
type unlockedFS struct{ vfs.FS }

func (unlockedFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }
