package offsite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// RestoreOptions say what Restore does.
type RestoreOptions struct {
	Target Target
	Key    []byte // nil: nothing is encrypted
	Dir    string // of the new store: it must be missing or empty
	Backup string // name of the backup; empty: the newest, or the newest before Until
	Until  time.Time
	// Complete makes a store of the files in a directory, which ends with a record; 0 is the last one that there is.
	Complete func(dir string, record uint64) error
	Progress func(what string, done, total int64)
}

// Restored says what a store was made of.
type Restored struct {
	Backup  string
	Made    time.Time // when that was begun
	Through time.Time // everything that had reached the device by then is there, up to Until
	Record  uint64    // that the store was to end with; 0: the last one
	At      time.Time // when that was the newest; zero if Record is
	Objects int
	Bytes   int64
}

// Restore makes a store of a backup and the log behind it. It is built beside the directory and renamed when it is complete:
// whatever goes wrong, the directory is as it was.
func Restore(ctx context.Context, o RestoreOptions) (r Restored, err error) {
	names, err := os.ReadDir(o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if len(names) > 0 {
		return r, fmt.Errorf("restore into %s: the directory is not empty: %w", o.Dir, fs.ErrExist)
	}
	v, err := openVault(ctx, o.Target, o.Key, nil)
	if err != nil {
		return r, err
	}
	p, err := choose(ctx, v, &o)
	if err != nil {
		return r, err
	}
	part := strings.TrimRight(o.Dir, "/") + unfinished
	if err := os.RemoveAll(part); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(part)) }()
	f := fetcher{ctx, v, part, &p.Restored, p.m.bytes(), o.Progress}
	if err := f.all(p.m); err != nil {
		return r, err
	}
	if err := o.Complete(part, p.Record); err != nil {
		return r, err
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	if err := os.Remove(o.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := os.Rename(part, o.Dir); err != nil {
		return r, err
	}
	return p.Restored, syncDir(filepath.Dir(strings.TrimRight(o.Dir, "/")))
}

// choice is a backup with the log behind it.
type choice struct {
	Restored
	m *manifest
}

// choose finds the backup and the record that it is to end with.
func choose(ctx context.Context, v *vault, o *RestoreOptions) (*choice, error) {
	names, err := v.backups(ctx)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errNoBackup
	}
	if o.Backup != "" {
		if !slices.Contains(names, o.Backup) {
			return nil, fmt.Errorf("there is no backup %s; there are %s", o.Backup, strings.Join(names, ", "))
		}
		names = []string{o.Backup}
	}
	for _, name := range slices.Backward(names) {
		if begun, _ := backupTime(name); !o.Until.IsZero() && begun.After(o.Until) {
			continue
		}
		m, err := v.manifest(ctx, name)
		if err != nil {
			return nil, err
		}
		if !o.Until.IsZero() && msTime(m.Made).After(o.Until) {
			continue
		}
		c := &choice{Restored: Restored{Backup: name, Made: msTime(m.Made)}, m: m}
		return c, c.goOn(ctx, v, o.Until)
	}
	return nil, fmt.Errorf("no backup is as old as %s: the oldest is %s", stamp(o.Until), names[0])
}

// goOn adds the log behind the backup, and finds the moment.
func (c *choice) goOn(ctx context.Context, v *vault, until time.Time) error {
	through := c.m.Through
	enough := func() bool { // the newest moment is behind the one asked for, so nothing later is needed
		n := len(c.m.Moments)
		return !until.IsZero() && n > 0 && c.m.Moments[n-1].Time > until.UnixMilli()
	}
	err := v.steps(ctx, c.Backup, func(_ span, s *step) error {
		if enough() {
			return errEnough
		}
		c.m.Log, c.m.Moments, through = append(c.m.Log, s.Log...), append(c.m.Moments, s.Moments...), s.Through
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if err := joined(c.m.Log); err != nil {
		return err
	}
	if c.Through = msTime(through); until.IsZero() {
		return nil
	}
	for _, m := range slices.Backward(c.m.Moments) { // their times may not be in order: clocks are set back
		if m.Time <= until.UnixMilli() {
			c.Record, c.At = m.Record, msTime(m.Time)
			return nil
		}
	}
	return fmt.Errorf("backup %s: no moment is as early as %s: %w", c.Backup, stamp(until), ErrDamaged)
}

var errEnough = errors.New("enough")

// fetcher writes the files of a backup into a directory.
type fetcher struct {
	ctx      context.Context
	v        *vault
	dir      string
	r        *Restored
	total    int64
	progress func(what string, done, total int64)
}

func (f *fetcher) all(m *manifest) error {
	logDir := filepath.Join(f.dir, logPrefix)
	if err := os.MkdirAll(logDir, 0o700); err != nil {
		return err
	}
	for _, file := range m.Files {
		if err := f.file(file.Name, file.Pieces); err != nil {
			return err
		}
	}
	for log := m.Log; len(log) > 0; {
		n, segment := 0, log[0].Segment
		var pieces []piece
		for n < len(log) && log[n].Segment == segment {
			pieces, n = append(pieces, log[n].piece), n+1
		}
		if err := f.file(fmt.Sprintf("%s%010d", logPrefix, segment), pieces); err != nil {
			return err
		}
		log = log[n:]
	}
	return errors.Join(syncDir(logDir), syncDir(f.dir))
}

// file writes a file, which must not exist, and forces it to the device.
func (f *fetcher) file(name string, pieces []piece) (err error) {
	w, err := os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, p := range pieces {
		b, err := f.v.fetch(f.ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		f.r.Objects++
		f.r.Bytes += int64(len(b))
		f.progress("backup", f.r.Bytes, f.total)
	}
	return w.Sync()
}
