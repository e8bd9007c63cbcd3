package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/offsite"
	"github.com/vigildb/vigil/server/offsite/s3"
)

// openBackupTarget returns what opens targets with the credentials of the configuration.
func openBackupTarget(config *conf.Config) offsite.Opener {
	return func(target string) (offsite.Target, error) {
		if !s3.IsBucket(target) {
			return offsite.OpenFolder(target)
		}
		b := config.Settings().Backup
		return s3.Open(target, s3.Options{Endpoint: b.S3Endpoint, Region: b.S3Region, AccessKey: b.S3AccessKey, SecretKey: b.S3SecretKey,
			PathStyle: b.S3PathStyle, Getenv: os.Getenv})
	}
}

// backupMode is what the command line asks for about backups that have left the machine.
type backupMode struct {
	check  string // target to be checked
	until  time.Time
	backup string // name of the one to be restored
}

// isBackupMode reports that an argument is one of the options.
func isBackupMode(name string) bool {
	return name == "--check-backup" || name == "--until" || name == "--backup"
}

func (m *backupMode) option(name, value string) (err error) {
	switch name {
	case "--check-backup":
		m.check = value
	case "--backup":
		m.backup = value
	case "--until":
		if m.until, err = offsite.ParseUntil(value); err != nil {
			return fmt.Errorf("--until %s: %w", value, err)
		}
	}
	return nil
}

// fits refuses options that belong to others.
func (m *backupMode) fits(all *modes) error {
	chosen := m.backup != "" || !m.until.IsZero()
	switch {
	case m.check != "" && (all.check || all.snapshot != "" || chosen):
		return errors.New("--check-backup: nothing else at the same time")
	case chosen && all.snapshot == "":
		return errors.New("--until and --backup say what --restore restores")
	case chosen && !isBackup(all.snapshot):
		return fmt.Errorf("--until and --backup: %s is a snapshot, and not the target of backups", all.snapshot)
	}
	return nil
}

// isBackup reports that what is to be restored is a target of backups, and not a snapshot.
func isBackup(from string) bool {
	if offsite.IsURL(from) {
		return true
	}
	_, err := os.Stat(filepath.Join(from, offsite.MarkerName))
	return err == nil
}

// withoutDir takes the directory out of a command line, and reports that what is left says no more than how a target is reached.
func withoutDir(args []string) (dir string, rest []string, only bool) {
	only = true
	for i := 0; i < len(args); i++ {
		if args[i] == "--dir" && i+1 < len(args) {
			dir, i = args[i+1], i+1
			continue
		}
		if i+1 < len(args) && strings.HasPrefix(args[i], "--backup-") {
			rest, i = append(rest, args[i], args[i+1]), i+1
			continue
		}
		rest, only = append(rest, args[i]), false
	}
	return dir, rest, only && dir != ""
}

// restoreBackup makes a store of a backup in dir. The status is that of restore.
func restoreBackup(m *modes, config *conf.Config, dir string, out, errOut io.Writer) (r *check.Report, err error) {
	from := m.snapshot
	if !offsite.IsURL(from) {
		if from, err = filepath.Abs(from); err != nil {
			return nil, &exitStatus{statusNotRun, err}
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, &exitStatus{statusNotRun, err}
	}
	target, key, err := openBackups(from, config)
	if err != nil {
		return nil, &exitStatus{statusNotRun, err}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	show := newProgress(errOut).show
	o := offsite.RestoreOptions{Target: target, Key: key, Dir: dir, Backup: m.backups.backup, Until: m.backups.until, Progress: show,
		Complete: func(dir string, record uint64) (err error) {
			r, err = persistence.Complete(persistence.Options{Dir: dir}, record, show)
			return err
		}}
	done, err := offsite.Restore(ctx, o)
	if r != nil {
		writeReport(out, r)
	}
	switch {
	case errors.Is(err, persistence.ErrDamaged) || errors.Is(err, offsite.ErrDamaged) || errors.Is(err, offsite.ErrIncomplete):
		return r, &exitStatus{statusDamaged, fmt.Errorf("restore %s: %w", offsite.Shown(from), err)}
	case err != nil:
		return r, &exitStatus{statusNotRun, fmt.Errorf("restore %s: %w", offsite.Shown(from), err)}
	}
	writeRestored(out, &done, m.backups.until)
	return r, nil
}

// writeRestored says what a store was made of, and which moment it is as of.
func writeRestored(out io.Writer, r *offsite.Restored, until time.Time) {
	fmt.Fprintf(out, "backup %s: %d bytes in %d objects\n", r.Backup, r.Bytes, r.Objects)
	switch {
	case until.IsZero():
		fmt.Fprintf(out, "as of %s, the end of the log\n", r.Through.Format(time.RFC3339))
	case until.After(r.Through):
		fmt.Fprintf(out, "as of record %d of %s; the log at the target ends at %s\n", r.Record, r.At.Format(time.RFC3339), r.Through.Format(time.RFC3339))
	default:
		fmt.Fprintf(out, "as of record %d, the last of %s\n", r.Record, r.At.Format(time.RFC3339))
	}
}

// openBackups opens a target and reads the key.
func openBackups(from string, config *conf.Config) (t offsite.Target, key []byte, err error) {
	if file := config.Settings().Backup.KeyFile; file != "" {
		if key, err = offsite.ReadKey(file); err != nil {
			return nil, nil, err
		}
	}
	t, err = openBackupTarget(config)(from)
	return t, key, err
}

// checkBackups reads all that is at a target.
func checkBackups(from string, config *conf.Config, out, errOut io.Writer) error {
	if !offsite.IsURL(from) {
		abs, err := filepath.Abs(from)
		if err != nil {
			return &exitStatus{statusNotRun, err}
		}
		from = abs
	}
	target, key, err := openBackups(from, config)
	if err != nil {
		return &exitStatus{statusNotRun, err}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := offsite.Check(ctx, target, key, newProgress(errOut).show)
	if err != nil {
		return &exitStatus{statusNotRun, fmt.Errorf("check %s: %w", offsite.Shown(from), err)}
	}
	for _, b := range c.Backups {
		fmt.Fprintf(out, "backup %s: %d bytes, restorable until %s\n", b.Name, b.Bytes, b.Through.Format(time.RFC3339))
	}
	fmt.Fprintf(out, "objects: %d, %d bytes\n", c.Objects, c.Bytes)
	for _, d := range c.Damage {
		fmt.Fprintf(out, "DAMAGED: %s\n", d)
	}
	if len(c.Damage) > 0 {
		return &exitStatus{code: statusDamaged}
	}
	fmt.Fprintln(out, "sound")
	return nil
}
