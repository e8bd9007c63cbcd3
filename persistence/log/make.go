package log

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// writeCategory is what Pebble's file system counts writes as.
const writeCategory = vfs.DiskWriteCategory("vigil-log")

func syncError(name string, offset int64, err error) error {
	return fmt.Errorf("sync %s up to offset %d: %w", name, offset, err)
}

// make makes a segment of a spare file, or of a new one, and returns it open. It is done when its head and
// its name are on the device.
//
// All but the last two steps are done under the name of a spare, which is no part of the log. So is what a
// crash leaves, whatever the file had held, and a failure. If the name could not be synced the file may or
// may not be there after a crash; it has no frames.
func (l *Log) make(h *head) (vfs.File, error) {
	l.dir.Lock()
	defer l.dir.Unlock()
	if err := l.settle(); err != nil {
		return nil, err // a spare may still have its old name on the device
	}
	spare, isNew, file, err := l.blank(h)
	name := segmentName(h.number)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	err = l.fill(file, h)
	if err == nil && isNew {
		// What becomes of a file whose first name is not on the device when it gets another one is up to the file system.
		err = syncDir(l.cfg.FS, l.cfg.Dir)
	}
	if err == nil {
		err = l.cfg.FS.Rename(l.cfg.path(spare), l.cfg.path(name))
	}
	if err != nil {
		err = errors.Join(err, file.Close())
		_ = l.cfg.FS.Remove(l.cfg.path(spare)) // it takes room; Open finds it if it stays
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	if err := syncDir(l.cfg.FS, l.cfg.Dir); err != nil {
		return nil, fmt.Errorf("make %s: %w", name, errors.Join(err, file.Close()))
	}
	return file, nil
}

// blank opens a file that is to become a segment, and returns its name, and whether it is new. A segment that is not
// as long as others gets a new one.
func (l *Log) blank(h *head) (name string, isNew bool, file vfs.File, err error) {
	if !h.big {
		l.mu.Lock()
		if n := len(l.mu.spares); n > 0 {
			name, l.mu.spares = l.mu.spares[n-1], l.mu.spares[:n-1]
		}
		l.mu.Unlock()
	}
	if name != "" {
		file, err = l.cfg.FS.OpenReadWrite(l.cfg.path(name), writeCategory)
		return name, false, file, err
	}
	name = spareName(h.number)
	file, err = l.cfg.FS.Create(l.cfg.path(name), writeCategory)
	return name, true, file, err
}

// fill allocates a segment and writes its head, and syncs it. On a disk that is nearly full nothing is allocated: what is left may be
// less than a segment, and is for the frames by which room is made.
func (l *Log) fill(file vfs.File, h *head) error {
	size := l.cfg.SegmentBytes
	if h.big {
		l.mu.Lock()
		size = l.mu.pendingLocked().size + HeadBytes
		l.mu.Unlock()
	}
	spacious := l.spacious(size)
	if spacious {
		if err := file.Preallocate(0, size); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("allocate %d bytes: %w", size, err)
		}
	}
	b := h.encode()
	n, err := file.WriteAt(b, 0)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("write at offset 0: %w", err)
	}
	if l.cfg.Extend && !h.big && spacious {
		if err := extend(file, size); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// spacious reports that the disk has room for so many bytes, and as many for other files.
func (l *Log) spacious(bytes int64) bool {
	usage, err := l.cfg.FS.GetDiskUsage(l.cfg.Dir)
	return err != nil || usage.AvailBytes/2 >= uint64(bytes)
}

// extend makes a file so long, unless it is already.
func extend(file vfs.File, size int64) error {
	info, err := file.Stat()
	if err == nil && info.Size() < size {
		_, err = file.WriteAt([]byte{0}, size-1)
	}
	if err != nil {
		return fmt.Errorf("extend to %d bytes: %w", size, err)
	}
	return nil
}

// settle has renames and removals on the device. Dir is held.
func (l *Log) settle() error {
	l.mu.Lock()
	unsettled := l.mu.unsettled
	l.mu.Unlock()
	if !unsettled {
		return nil
	}
	if err := syncDir(l.cfg.FS, l.cfg.Dir); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.unsettled = false
	return nil
}
