package server

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/info"
	"github.com/vigildb/vigil/server/offsite"
)

// backups are copies of the store that leave the machine. What makes them knows the store as backedUp and nothing else of the server.
type backups struct {
	srv      *Server
	archiver *offsite.Archiver // nil without a target
}

// open makes the archiver, which begins its work when the data is loaded.
func (bk *backups) open() {
	set := bk.srv.settings()
	switch b := set.conf.Backup; {
	case b.Target == "":
		return
	case bk.srv.opts.InMemory:
		bk.srv.logf(logWarning, "backup-target is ignored: data is kept in memory only")
		return
	default:
		open := bk.srv.opts.OpenBackupTarget
		if open == nil {
			open = offsite.OpenFolder
		}
		bk.archiver = offsite.New(offsite.Options{Store: backedUp{bk.srv, bk.srv.store.Backup()}, Dir: set.dir, Target: b.Target, Open: open,
			KeyFile: b.KeyFile, Version: Version, Now: bk.srv.clock.Now, Random: rand.Reader, Logf: bk.srv.report})
	}
}

// tick lets the archiver do what is due. It is called about once a second.
func (bk *backups) tick() {
	if bk.archiver == nil {
		return
	}
	b := bk.srv.settings().conf.Backup
	plan := offsite.Plan{Every: b.Every, LogEvery: b.LogEvery, Keep: b.Keep, KeepFor: b.KeepFor}
	if bk.srv.store.Member() != nil {
		plan.LogEvery = 0 // entries of its log may be replaced by others
	}
	bk.archiver.Tick(plan)
}

func (bk *backups) close() {
	if bk.archiver != nil {
		bk.archiver.Close()
	}
}

// backedUp is the store as the archiver sees it.
type backedUp struct {
	srv *Server
	persistence.Backup
}

// Copy implements offsite.Source.
func (b backedUp) Copy(dir string) error { return b.srv.snapshots.CopyTo(dir) }

// Log implements offsite.Source.
func (b backedUp) Log() (dir string, segments []offsite.Segment) {
	dir, list := b.Backup.Log()
	for _, s := range list {
		segments = append(segments, offsite.Segment{Number: s.Number, Name: s.Name, Bytes: s.Bytes})
	}
	return dir, segments
}

// StartBackup asks for a backup.
func (h host) StartBackup() error {
	c := h.srv.backups.archiver
	if c == nil {
		return commands.ErrNoBackups
	}
	if err := c.Now(); errors.Is(err, offsite.ErrRunning) {
		return commands.ErrBackupInProgress
	} else if err != nil {
		return err
	}
	return nil
}

// Backups lists the backups that the archiver knows.
func (h host) Backups() ([]admin.Backup, error) {
	if h.srv.backups.archiver == nil {
		return nil, commands.ErrNoBackups
	}
	var list []admin.Backup
	for _, b := range h.srv.backups.archiver.Status().Backups {
		list = append(list, admin.Backup{Name: b.Name, Made: b.Made.Unix(), Through: b.Through.Unix(), Bytes: b.Bytes})
	}
	return list, nil
}

// BackupStatus says how backups go.
func (h host) BackupStatus() (admin.BackupStatus, error) {
	if h.srv.backups.archiver == nil {
		return admin.BackupStatus{}, commands.ErrNoBackups
	}
	s := h.srv.backups.archiver.Status()
	r := admin.BackupStatus{Target: s.Target, Encrypted: s.Encrypted, Work: s.Work, Done: s.Done, Total: s.Total, Last: unixOrZero(s.Last),
		Seconds: -1, Bytes: s.Bytes, Uploaded: s.Uploaded, Through: unixOrZero(s.Restorable()), Failures: s.Failures, Error: s.Error}
	if s.Took > 0 {
		r.Seconds = int64(s.Took / time.Second)
	}
	return r, nil
}

// unixOrZero is 0 for no time.
func unixOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// infoBackups shows what is to be watched of backups. The fields are there without a target too, as 0.
func infoBackups(t *info.Text, s *session) {
	b := admin.BackupStatus{Seconds: -1}
	if s.srv.backups.archiver != nil {
		b, _ = host{s.srv}.BackupStatus()
	}
	now := s.srv.clock.Now().Unix()
	age := func(unix int64) int64 {
		if unix == 0 {
			return -1
		}
		return max(0, now-unix)
	}
	info.Field(t, "vigil_backup_enabled", info.Number(s.srv.backups.archiver != nil))
	info.Field(t, "vigil_backup_in_progress", info.Number(b.Work == "backup"))
	info.Field(t, "vigil_backup_last_time", b.Last)
	info.Field(t, "vigil_backup_last_age_sec", age(b.Last))
	info.Field(t, "vigil_backup_last_time_sec", b.Seconds)
	info.Field(t, "vigil_backup_last_size", b.Bytes)
	info.Field(t, "vigil_backup_last_uploaded", b.Uploaded)
	info.Field(t, "vigil_backup_last_status", info.Status(b.Error != ""))
	info.Field(t, "vigil_backup_failures", b.Failures)
	info.Field(t, "vigil_backup_restorable_until", b.Through)
	info.Field(t, "vigil_backup_restorable_age_sec", age(b.Through))
}
