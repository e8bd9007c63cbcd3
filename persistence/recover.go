package persistence

import (
	"errors"
	"fmt"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/wal"
)

// prepareFiles holds the files of the store against the mark before Pebble opens
// them, cuts a damaged log if Options.Recover says so, and goes on with the mark.
func (s *Store) prepareFiles() error {
	fsys, dir := s.opts.FS, s.opts.Dir
	l, err := wal.Inspect(fsys, dir, s.opts.warnf)
	for tries := 0; err != nil; tries++ {
		d := wal.AsDamage(err)
		if d != nil && d.File == wal.MarkName {
			if err := s.readFormat(); err != nil {
				return err // a store that never had a mark
			}
		}
		if d == nil || !d.Truncatable || s.opts.Recover != RecoverTruncate || tries > 1 {
			return err
		}
		err = s.cutLog(l, d)
	}
	for _, e := range l.Logs {
		if e.Torn {
			s.opts.Logf(LevelInfo, "%s ends at offset %d in a record that was being written: nothing of it had been confirmed",
				e.Name, e.End)
		}
	}
	s.marked, err = l.GoOn(s.opts.warnf)
	return err
}

// readFormat opens the store for reading to see whether its format is ours.
func (s *Store) readFormat() error { return s.peek(func() error { return nil }) }

// peek opens the store for reading, and calls f once the meta is known.
func (s *Store) peek(f func() error) (err error) {
	files := fence.New(s.opts.FS, s.opts.Dir)
	s.disk.SetFence(files)
	o := s.pebbleOptions(files)
	o.ReadOnly = true
	if s.disk.DB, err = lsm.Open(s.opts.Dir, o, files, s.closing.Load); err != nil {
		return wal.Named(err)
	}
	if err = s.loadMeta(); err == nil {
		err = f()
	}
	return errors.Join(err, lsm.Close(s.opts.Dir, s.disk.DB, files))
}

// complete ends the making of a new store. Pebble begins its first log in a form
// that does not distinguish damage from a torn tail, so another one is started
// before the first record.
func (s *Store) complete() error {
	if s.marked.Mark.State().Made {
		return nil
	}
	flushed, err := s.disk.Flush()
	if err == nil {
		<-flushed
		err = s.disk.Err()
	}
	if err != nil {
		return fmt.Errorf("begin the log: %w", err)
	}
	return s.marked.Mark.Complete()
}

// cutLog ends the log where damage begins, in l and on disk. What is cut off
// stays in a directory of its own.
func (s *Store) cutLog(l *wal.Layout, d *wal.Damage) error {
	aside, err := l.PutAside(d, s.opts.Now())
	if err != nil {
		return fmt.Errorf("put what is damaged aside: %w", err)
	}
	s.opts.Logf(LevelWarn, "%v; continuing without it, as requested; copies are in %s", d, aside)
	lost, err := l.Cut(d)
	if lost != nil {
		s.lost = lost
	}
	return err
}
