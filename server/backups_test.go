package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/offsite"
)

// backupRig is a server with a target for backups.
func backupRig(t *testing.T, directives ...string) (r *rig, target string) {
	t.Helper()
	target = filepath.Join(t.TempDir(), "target")
	r, _ = snapshotRig(t, append([]string{"--backup-target", target, "--appendfsync", "always", "--backup-log-interval", "1"}, directives...)...)
	return r, target
}

// seconds lets some seconds pass, and waits for the uploads that they begin.
func (r *rig) seconds(n int) {
	for range n {
		r.clock.advance(time.Second)
		r.srv.backups.archiver.Await()
	}
}

// restored returns a server with what a target had until a time.
func restored(t *testing.T, target string, until time.Time) *rig {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new")
	folder, err := offsite.OpenFolder(target)
	if err != nil {
		t.Fatal(err)
	}
	_, err = offsite.Restore(context.Background(), offsite.RestoreOptions{Target: folder, Dir: dir, Until: until,
		Complete: func(dir string, record uint64) error {
			_, err := persistence.Complete(persistence.Options{Dir: dir}, record, func(string, int64, int64) {})
			return err
		}, Progress: func(string, int64, int64) {}})
	if err != nil {
		t.Fatalf("restore as of %v: %v", until, err)
	}
	return newRig(t, onDisk(dir))
}

// TestRestoreHasTheDigestOfTheMoment writes values of several kinds between backups, some of which are stored under their own keys before
// the next one, and restores as of some seconds.
func TestRestoreHasTheDigestOfTheMoment(t *testing.T) {
	r, target := backupRig(t, "--backup-schedule", "8s")
	c := r.dial()
	r.seconds(3)
	digests := map[time.Time]string{}
	for i := range 20 {
		c.do("SET", fmt.Sprint("s", i%5), strings.Repeat("v", 100*i))
		c.do("RPUSH", "l", fmt.Sprint(i))
		c.do("ZADD", "z", fmt.Sprint(i), fmt.Sprint("m", i%7))
		c.do("HSET", "h", fmt.Sprint("f", i), "x")
		if i%4 == 0 {
			c.do("DEL", "s1")
			c.do("DEBUG", "RELOAD") // stores all under their own keys
		}
		r.seconds(1)
		digests[r.clock.Now()] = c.do("DEBUG", "DIGEST")
	}
	if n := len(r.srv.backups.archiver.Status().Backups); n < 3 {
		t.Fatalf("%d backups", n)
	}
	n := 0
	for at, want := range digests {
		if n++; n%4 > 0 {
			continue // one of many
		}
		if got := restored(t, target, at).dial().do("DEBUG", "DIGEST"); got != want {
			t.Errorf("as of %v: digest %s, want %s", at, got, want)
		}
	}
}

func TestBackupCommands(t *testing.T) {
	r, target := backupRig(t, "--backup-schedule", "0", "--backup-log-interval", "0")
	c := r.dial()
	c.do("SET", "k", "v")
	r.seconds(2)
	c.want("VIGIL.BACKUP LIST", "[]")
	if got := c.do("INFO", "persistence"); !strings.Contains(got, `vigil_backup_enabled:1\r\n`) || !strings.Contains(got, `vigil_backup_last_age_sec:-1\r\n`) {
		t.Errorf("INFO before the first: %s", got)
	}
	c.want("VIGIL.BACKUP NOW", "Backup started")
	c.want("VIGIL.BACKUP NOW", "(error) ERR a backup is already under way")
	r.seconds(1)
	if got := c.do("VIGIL.BACKUP", "LIST"); strings.Count(got, `"name"`) != 1 {
		t.Errorf("LIST: %s", got)
	}
	if got := c.do("VIGIL.BACKUP", "STATUS"); !strings.Contains(got, fmt.Sprintf("%q", target)) || !strings.Contains(got, `"last-error" ""`) {
		t.Errorf("STATUS: %s", got)
	}
	r.clock.advance(7 * time.Second)
	got := c.do("INFO", "persistence")
	for _, want := range []string{`vigil_backup_last_age_sec:7\r\n`, `vigil_backup_last_status:ok\r\n`, `vigil_backup_failures:0\r\n`} {
		if !strings.Contains(got, want) {
			t.Errorf("INFO lacks %s: %s", want, got)
		}
	}
	if !r.log.has("is complete") {
		t.Errorf("log: %q", r.log.all())
	}
	if err := os.RemoveAll(target); err != nil {
		t.Fatal(err)
	}
	c.want("VIGIL.BACKUP NOW", "Backup started")
	r.seconds(1)
	if got := c.do("INFO", "persistence"); !strings.Contains(got, `vigil_backup_last_status:err\r\n`) || !strings.Contains(got, `vigil_backup_failures:1\r\n`) {
		t.Errorf("INFO after a failure: %s", got)
	}
	c.want("SET k w", "OK")
}

// TestBackupsNeedAClientOfS3 that the program opens: without one a bucket is an error, and the server goes on.
func TestBackupsNeedAClientOfS3(t *testing.T) {
	r, _ := snapshotRig(t, "--backup-target", "s3://bucket/a")
	c := r.dial()
	r.seconds(1)
	if got := c.do("VIGIL.BACKUP", "STATUS"); !strings.Contains(got, "want s3://") && !strings.Contains(got, "absolute path") {
		t.Errorf("STATUS: %s", got)
	}
	c.want("SET k v", "OK")
}

// TestCopyOfABackupThatWasCutShortGoes: it takes room as tables change.
func TestCopyOfABackupThatWasCutShortGoes(t *testing.T) {
	r, _ := backupRig(t)
	left := filepath.Join(r.srv.settings().dir, "backup", "copy")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	r.seconds(1)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}
