package wal

import (
	"github.com/cockroachdb/pebble/v2/vfs"
)

// MarkCopy gives a copy of a store a mark. Its logs must contain what the mark
// of the store recorded before it was copied; what that says of a segment is of the copy.
func MarkCopy(fsys vfs.FS, dir string, before Claims) error {
	l := &Layout{fs: fsys, dir: dir, mark: Claims{Made: true}}
	for _, f := range before.Files {
		if f.kind != markManifest { // which is rewritten
			l.mark.Files = append(l.mark.Files, f)
		}
	}
	err := l.read()
	if err == nil {
		err = l.closeGap()
	}
	if err == nil {
		err = l.compareLogs()
	}
	if err != nil {
		return err
	}
	l.mark.Files = l.files()
	mark, err := openMark(fsys, dir, l.mark, func(string, ...any) {})
	if err != nil {
		return err
	}
	return mark.Close()
}

// closeGap ends the last log of a copy before the first block that was not written yet
// when it was copied. A log is copied block by block while it grows, and it is the file
// of an older one, so the copy can have an old block before new ones. In a store that
// proves damage; here nothing from that block on was recorded before the copy was begun,
// if the log can be read up to where it was synced then.
func (l *Layout) closeGap() error {
	if len(l.Logs) == 0 {
		return nil
	}
	e := &l.Logs[len(l.Logs)-1]
	if e.broken == nil || !e.reaches(l.mark.Synced(e.id())) {
		return nil
	}
	return l.shorten(e)
}
