package persistence

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
)

// prepareFiles holds the files of the store against the mark before Pebble opens
// them, cuts a damaged log if Options.Recover says so, and goes on with the mark.
func (s *Store) prepareFiles() error {
	fsys, dir := s.opts.FS, s.opts.Dir
	l, err := inspect(fsys, dir, s.opts.Logf)
	for tries := 0; err != nil; tries++ {
		d := asDamage(err)
		if d != nil && d.File == markName {
			if err := s.readFormat(); err != nil {
				return err // a store that never had a mark
			}
		}
		if d == nil || !d.Truncatable || s.opts.Recover != RecoverTruncate || tries > 1 {
			return err
		}
		err = s.cutLog(l, d)
	}
	for _, e := range l.logs {
		if e.torn {
			s.opts.Logf(LevelInfo, "%s ends at offset %d in a record that was being written: nothing of it had been confirmed",
				e.name, e.end)
		}
	}
	mark, err := openMark(fsys, dir, l.stillNeeded(), s.opts.Logf)
	if err != nil {
		return err
	}
	s.marked = &markedFS{FS: fsys, dir: dir, mark: mark}
	return nil
}

// readFormat opens the store for reading to see whether its format is ours.
func (s *Store) readFormat() (err error) {
	f := fence.New(s.opts.FS, s.opts.Dir)
	s.fence.Store(f)
	o := s.pebbleOptions(f)
	o.ReadOnly = true
	if s.db, err = s.openPebble(o, f); err != nil {
		return named(err)
	}
	return errors.Join(s.loadMeta(), s.closePebble(s.db, f))
}

// complete ends the making of a new store. Pebble begins its first log in a form
// that does not distinguish damage from a torn tail, so another one is started
// before the first record.
func (s *Store) complete() error {
	if s.marked.mark.state().made {
		return nil
	}
	flushed, err := s.flush()
	if err == nil {
		<-flushed
		err = s.brokenErr()
	}
	if err != nil {
		return fmt.Errorf("begin the log: %w", err)
	}
	return s.marked.mark.made()
}

// stillNeeded is the mark without the files that Pebble no longer needs.
func (l *layout) stillNeeded() marked {
	m := l.mark
	m.files = nil
	for _, f := range l.mark.files {
		if f.appended == l.manifest.appended || f.kind == markLog && f.num >= l.needed {
			m.files = append(m.files, f)
		}
	}
	return m
}

// cutLog ends the log where damage begins, in l and on disk. What is cut off
// stays in a directory of its own.
func (s *Store) cutLog(l *layout, d *Damage) error {
	aside, err := s.putAside(l, d)
	if err != nil {
		return fmt.Errorf("put what is damaged aside: %w", err)
	}
	s.opts.Logf(LevelWarn, "%v; continuing without it, as requested; copies are in %s", d, aside)
	if d.File == markName {
		// The logs are taken as they are.
		l.mark = marked{made: true}
		return l.find()
	}
	s.lost = l.lossBehind(d)
	if err := l.truncate(d); err != nil {
		return fmt.Errorf("truncate %s: %w", d.File, err)
	}
	return nil
}

// putAside copies the damaged file, the logs after it and the mark into a new
// directory and returns its path.
func (s *Store) putAside(l *layout, d *Damage) (string, error) {
	fsys := l.fs
	base := fsys.PathJoin(l.dir, "damaged-"+time.UnixMilli(s.opts.Now()).UTC().Format("20060102T150405Z"))
	aside := base
	for i := 2; ; i++ {
		if _, err := fsys.Stat(aside); err != nil {
			break
		}
		aside = fmt.Sprintf("%s-%d", base, i)
	}
	if err := fsys.MkdirAll(aside, 0o700); err != nil {
		return "", err
	}
	names := []string{markName}
	for _, e := range l.logs {
		if e.name >= d.File && d.File != markName {
			names = append(names, e.name)
		}
	}
	for _, name := range names {
		err := vfs.Copy(fsys, fsys.PathJoin(l.dir, name), fsys.PathJoin(aside, name))
		if err != nil && !(name == markName && d.File == markName) {
			return "", err
		}
	}
	return aside, errors.Join(syncDir(fsys, aside), syncDir(fsys, l.dir))
}

// truncate removes what follows the damage. Later logs go first, newest first:
// if it is cut short, what is left is damaged in the same place.
func (l *layout) truncate(d *Damage) error {
	keep := 0
	for keep < len(l.logs) && l.logs[keep].name < d.File {
		keep++
	}
	for i := len(l.logs) - 1; i >= keep; i-- {
		e := &l.logs[i]
		if e.name == d.File && e.end > 0 {
			if err := l.shorten(e); err != nil {
				return err
			}
			keep++
			break
		}
		if err := l.fs.Remove(l.fs.PathJoin(l.dir, e.name)); err != nil {
			return err
		}
	}
	l.logs = l.logs[:keep]
	if keep > 0 {
		l.logs[keep-1].last = true
	}
	synced := l.mark.synced(l.manifest.appended)
	l.mark = marked{generation: l.mark.generation, made: true, files: l.files()}
	l.mark.files[0].bytes = synced // more of it can be read, but need not be on the device
	return syncDir(l.fs, l.dir)
}

// shorten truncates a log after its last complete record. The name changes
// hands at once, so that the log is never shorter than that.
func (l *layout) shorten(e *logExtent) error {
	name := l.fs.PathJoin(l.dir, e.name)
	temp := l.fs.PathJoin(l.dir, fmt.Sprintf("%06d.dbtmp", uint64(e.Num))) // Pebble removes left ones
	src, err := l.fs.Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := l.fs.Create(temp, "vigil")
	if err != nil {
		return err
	}
	_, err = io.CopyN(dst, src, e.end)
	if err := errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return err
	}
	if err := l.fs.Rename(temp, name); err != nil {
		return err
	}
	e.torn, e.broken = false, nil
	return nil
}
