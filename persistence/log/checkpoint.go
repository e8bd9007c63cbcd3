package log

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Checkpoint makes a copy of the log in a directory, from the segment of a position on up to what is synced, and
// returns where the copy ends: it is on the device up to there. The copy can be opened as a log, with a
// Config.From of the position. The directory is made; it must have no files of a log.
//
// Full segments are linked, or copied if fsys has no links to them; the last one is copied. What is linked is
// never recycled. The log may be written meanwhile; nothing is trimmed until Checkpoint returns. The error is
// ErrTrimmed if the position was trimmed, or the disk's; what was made until then is left.
func (l *Log) Checkpoint(fsys vfs.FS, dir string, from Position) (end Position, err error) {
	release := l.Pin()
	defer release()
	segments, end, err := l.share(from)
	if err == nil {
		err = l.copyTo(fsys, dir, segments)
	}
	if err != nil {
		return Position{}, fmt.Errorf("copy log %s to %s: %w", l.cfg.Dir, dir, err)
	}
	return end, nil
}

// shared is a segment that is copied.
type shared struct {
	number uint64
	end    int64
	full   bool
}

// share returns the segments from a position on, and marks the full ones as linked.
func (l *Log) share(from Position) (list []shared, end Position, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.mu
	if len(s.segments) > 0 && from != (Position{}) && from.Segment < s.segments[0].number {
		return nil, end, fmt.Errorf("from %v: %w", from, ErrTrimmed)
	}
	for i, seg := range s.segments {
		if seg.number < from.Segment {
			continue
		}
		full := i < len(s.segments)-1
		if full {
			seg.linked = true
			list = append(list, shared{seg.number, seg.end, full})
		} else {
			list = append(list, shared{seg.number, s.synced.Offset, full})
		}
	}
	return list, s.synced, nil
}

// copyTo copies the segments, the last one first: if it is interrupted, what is there does not end with a segment that
// has another name, and would be written by whoever takes it for a log.
func (l *Log) copyTo(fsys vfs.FS, dir string, segments []shared) error {
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, s := range slices.Backward(segments) {
		name := segmentName(s.number)
		if s.full && fsys.Link(l.cfg.path(name), fsys.PathJoin(dir, name)) == nil {
			continue
		}
		err := copyFile(&l.cfg, name, fsys, fsys.PathJoin(dir, name), s.end)
		if err == nil && !s.full {
			err = syncDir(fsys, dir)
		}
		if err != nil {
			return err
		}
	}
	if err := syncDir(fsys, dir); err != nil {
		return err
	}
	return syncDir(fsys, fsys.PathDir(dir))
}
