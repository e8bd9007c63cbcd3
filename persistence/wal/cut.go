package wal

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
)

// GoOn goes on with the mark, and returns the file system for Pebble, which notes each sync
// in it. warn is told of what cannot be noted.
func (l *Layout) GoOn(warn func(format string, args ...any)) (*FS, error) {
	mark, err := openMark(l.fs, l.dir, l.stillNeeded(), warn)
	if err != nil {
		return nil, err
	}
	return &FS{FS: l.fs, dir: l.dir, Mark: mark}, nil
}

// stillNeeded is the mark without the files that Pebble no longer needs.
func (l *Layout) stillNeeded() Claims {
	m := l.mark
	m.Files = nil
	for _, f := range l.mark.Files {
		if f.File == l.manifest.File || f.kind == markLog && f.num >= l.needed || f.kind == markSegment {
			m.Files = append(m.Files, f)
		}
	}
	return m
}

// MakeAside makes a directory in that of a store, named after the time now in unix ms, for copies of what is damaged.
func MakeAside(fsys vfs.FS, dir string, now int64) (string, error) {
	base := fsys.PathJoin(dir, "damaged-"+time.UnixMilli(now).UTC().Format("20060102T150405Z"))
	aside := base
	for i := 2; ; i++ {
		if _, err := fsys.Stat(aside); err != nil {
			break
		}
		aside = fmt.Sprintf("%s-%d", base, i)
	}
	return aside, fsys.MkdirAll(aside, 0o700)
}

// PutAside copies the damaged file, the logs after it and the mark into a new
// directory, see MakeAside, and returns its path.
func (l *Layout) PutAside(d *Damage, now int64) (string, error) {
	fsys := l.fs
	aside, err := MakeAside(fsys, l.dir, now)
	if err != nil {
		return "", err
	}
	names := []string{MarkName}
	for _, e := range l.Logs {
		if e.Name >= d.File && d.File != MarkName {
			names = append(names, e.Name)
		}
	}
	for _, name := range names {
		err := vfs.Copy(fsys, fsys.PathJoin(l.dir, name), fsys.PathJoin(aside, name))
		if err != nil && !(name == MarkName && d.File == MarkName) {
			return "", err
		}
	}
	return aside, errors.Join(fence.SyncDir(fsys, aside), fence.SyncDir(fsys, l.dir))
}

// Cut ends the log where damage begins, in l and on disk, and returns what is lost by it,
// nil for a damaged mark. What is cut off is to be put aside before.
func (l *Layout) Cut(d *Damage) (*Loss, error) {
	if d.File == MarkName {
		// The logs are taken as they are.
		l.mark = Claims{Made: true}
		return nil, l.find()
	}
	lost := l.lossBehind(d)
	if err := l.truncate(d); err != nil {
		return lost, fmt.Errorf("truncate %s: %w", d.File, err)
	}
	return lost, nil
}

// truncate removes what follows the damage. Later logs go first, newest first:
// if it is cut short, what is left is damaged in the same place.
func (l *Layout) truncate(d *Damage) error {
	keep := 0
	for keep < len(l.Logs) && l.Logs[keep].Name < d.File {
		keep++
	}
	for i := len(l.Logs) - 1; i >= keep; i-- {
		e := &l.Logs[i]
		if e.Name == d.File && e.End > 0 {
			if err := l.shorten(e); err != nil {
				return err
			}
			keep++
			break
		}
		if err := l.fs.Remove(l.fs.PathJoin(l.dir, e.Name)); err != nil {
			return err
		}
	}
	l.Logs = l.Logs[:keep]
	if keep > 0 {
		l.Logs[keep-1].last = true
	}
	synced := l.mark.Synced(l.manifest.File)
	l.mark = Claims{generation: l.mark.generation, Made: true, Files: l.files()}
	l.mark.Files[0].Bytes = synced // more of it can be read, but need not be on the device
	return fence.SyncDir(l.fs, l.dir)
}

// shorten truncates a log after its last complete record. The name changes
// hands at once, so that the log is never shorter than that.
func (l *Layout) shorten(e *Log) error {
	name := l.fs.PathJoin(l.dir, e.Name)
	temp := l.fs.PathJoin(l.dir, fmt.Sprintf("%06d.dbtmp", e.num)) // Pebble removes left ones
	src, err := l.fs.Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := l.fs.Create(temp, "vigil")
	if err != nil {
		return err
	}
	_, err = io.CopyN(dst, src, e.End)
	if err := errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return err
	}
	if err := l.fs.Rename(temp, name); err != nil {
		return err
	}
	e.Torn, e.broken = false, nil
	return nil
}
