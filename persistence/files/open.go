package files

import (
	"errors"
	"fmt"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/wal"
)

// Open locks the directory and opens Pebble in it. The lock stays for the
// life of the store, whereas Pebble is replaced after a failure: it gets none.
func (f *Files) Open() error {
	if err := f.FS.MkdirAll(f.Dir, 0o700); err != nil {
		return err
	}
	lock, err := lsm.Lock(f.FS, f.Dir)
	if err != nil {
		return err
	}
	f.lockFile = lock
	f.Reserve.Open()
	if err = f.prepare(); err != nil {
		return errors.Join(err, lock.Close())
	}
	behind := f.NewFence()
	f.Disk.SetFence(behind)
	if f.Disk.DB, err = lsm.Open(f.Dir, f.Options(behind), behind, f.Closing); err != nil {
		return errors.Join(wal.Named(err), f.Marked.Mark.Close(), lock.Close())
	}
	return nil
}

// prepare holds the files of the store against the mark before Pebble opens
// them, cuts a damaged log if that is wanted, and goes on with the mark.
func (f *Files) prepare() error {
	l, err := wal.Inspect(f.FS, f.Dir, f.Operator.Warnf)
	for tries := 0; err != nil; tries++ {
		d := wal.AsDamage(err)
		if d != nil && d.File == wal.MarkName {
			if err := f.peek(nil); err != nil {
				return err // a store that never had a mark
			}
		}
		if d == nil || !d.Truncatable || !f.Truncate || tries > 1 {
			return err
		}
		err = f.cutWAL(l, d)
	}
	for _, e := range l.Logs {
		if e.Torn {
			f.Operator.Infof("%s ends at offset %d in a record that was being written: nothing of it had been confirmed",
				e.Name, e.End)
		}
	}
	f.Marked, err = l.GoOn(f.Operator.Warnf)
	return err
}

// peek opens the store for reading, which refuses a format that is not ours, and calls look, if it is not nil, once the meta is known.
func (f *Files) peek(look func() error) (err error) {
	files := fence.New(f.FS, f.Dir)
	f.Disk.SetFence(files)
	o := f.Options(files)
	o.ReadOnly = true
	if f.Disk.DB, err = lsm.Open(f.Dir, o, files, f.Closing); err != nil {
		return wal.Named(err)
	}
	if err = f.LoadMeta(); err == nil && look != nil {
		err = look()
	}
	return errors.Join(err, lsm.Close(f.Dir, f.Disk.DB, files))
}

// Complete ends the making of a new store. Pebble begins its first log in a form
// that does not distinguish damage from a torn tail, so another one is started
// before the first record.
func (f *Files) Complete() error {
	if f.Marked.Mark.State().Made {
		return nil
	}
	flushed, err := f.Disk.Flush()
	if err == nil {
		<-flushed
		err = f.Disk.Err()
	}
	if err != nil {
		return fmt.Errorf("begin the log: %w", err)
	}
	return f.Marked.Mark.Complete()
}

// cutWAL ends the log of Pebble where damage begins, in l and on disk. What is cut off
// stays in a directory of its own.
func (f *Files) cutWAL(l *wal.Layout, d *wal.Damage) error {
	aside, err := l.PutAside(d, f.Now())
	if err != nil {
		return fmt.Errorf("put what is damaged aside: %w", err)
	}
	f.Operator.Warnf("%v; continuing without it, as requested; copies are in %s", d, aside)
	lost, err := l.Cut(d)
	if lost != nil {
		f.Lost = lost
	}
	return err
}
