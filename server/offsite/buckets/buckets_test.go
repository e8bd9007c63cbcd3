package buckets

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
)

const target = "s3://bucket/backups/one"

// fill writes some keys, with values of 1 KiB that say plain.
func fill(t *testing.T, p *process, prefix string, n int) {
	t.Helper()
	for i := range n {
		p.do(t, fmt.Sprintf("SET %s%d plain-%s", prefix, i, strings.Repeat("v", 1024)))
	}
}

func gone(t *testing.T, path string) {
	t.Helper()
	for _, path := range []string{path, path + ".part"} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", path, err)
		}
	}
}

// keyFile makes a key.
func keyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(strings.Repeat("5a", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// digest of what a directory has.
func digest(t *testing.T, dir string) string {
	t.Helper()
	p := launch(t, "--dir", dir)
	defer p.stop(t)
	return p.do(t, "DEBUG DIGEST")
}

func TestRestoreToAMomentFromAnEncryptedBucket(t *testing.T) {
	b, dir, key := newBucket(t), t.TempDir(), keyFile(t)
	p := launch(t, b.flags("--dir", dir, "--backup-target", target, "--backup-log-interval", "1", "--backup-key-file", key)...)
	fill(t, p, "a", 50)
	p.wait(t, "is complete")
	fill(t, p, "b", 50)
	want := p.do(t, "DEBUG DIGEST")
	moment := time.Now().Add(2 * time.Second).Unix() // more than a second from now, in which the newest record is looked at
	p.until(t, "restorable-until", moment+1)
	p.do(t, "DEL a1 b1")
	fill(t, p, "c", 20)
	last := p.do(t, "DEBUG DIGEST")
	p.until(t, "restorable-until", time.Now().Unix()+2)
	p.do(t, "VIGIL.BACKUP NOW")
	p.until(t, "last-time", moment+1)
	p.kill()

	for until, want := range map[string]string{fmt.Sprint(moment): want, "": last} {
		restored := filepath.Join(t.TempDir(), "new")
		args := b.flags("--restore", target, "--dir", restored, "--backup-key-file", key)
		if until != "" {
			args = append(args, "--until", until)
		}
		status, out := run(t, args...)
		if status != 0 || !strings.Contains(out, "sound") || !strings.Contains(out, "restored: start the server with --dir "+restored) {
			t.Fatalf("until %q: status %d\n%s", until, status, out)
		}
		if got := digest(t, restored); got != want {
			t.Errorf("until %q: digest %s, want %s\n%s", until, got, want, out)
		}
	}
	if status, out := run(t, b.flags("--check-backup", target, "--backup-key-file", key)...); status != 0 || !strings.Contains(out, "sound") {
		t.Errorf("check: status %d\n%s", status, out)
	}
	restored := filepath.Join(t.TempDir(), "new")
	if status, out := run(t, b.flags("--restore", target, "--dir", restored)...); status != 2 || !strings.Contains(out, "are encrypted") {
		t.Errorf("without the key: status %d\n%s", status, out)
	}
	gone(t, restored)
	damage(t, b, restored, key)
}

// damage changes an object that shows no content, and restores.
func damage(t *testing.T, b *bucket, dir, key string) {
	t.Helper()
	list, err := b.memory.ListBucket("bucket", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, o := range list.Contents {
		found, err := b.memory.GetObject("bucket", o.Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(found.Contents)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "plain-") {
			t.Errorf("%s shows what is in it", o.Key)
		}
		if strings.Contains(o.Key, "/objects/") {
			content[len(content)/2] ^= 1
			if _, err := b.memory.PutObject("bucket", o.Key, map[string]string{}, strings.NewReader(string(content)), int64(len(content)), nil); err != nil {
				t.Fatal(err)
			}
			changed++
		}
	}
	if status, out := run(t, b.flags("--restore", target, "--dir", dir, "--backup-key-file", key)...); changed == 0 || status != 1 || !strings.Contains(out, "cannot be decrypted") {
		t.Errorf("%d objects are damaged: status %d\n%s", changed, status, out)
	}
	gone(t, dir)
	if status, out := run(t, b.flags("--check-backup", target, "--backup-key-file", key)...); status != 1 || strings.Count(out, "DAMAGED") != changed {
		t.Errorf("check with %d damaged objects: status %d\n%s", changed, status, out)
	}
}

func TestLinksThatAreCutAndAFullBucketDelayABackup(t *testing.T) {
	b, dir := newBucket(t), t.TempDir()
	b.full.Store(true)
	p := launch(t, b.flags("--dir", dir, "--backup-target", target, "--backup-log-interval", "1")...)
	fill(t, p, "a", 20)
	p.wait(t, "XMinioStorageFull")
	if got := p.do(t, "VIGIL.BACKUP STATUS"); !strings.Contains(got, "minimum free drive threshold") {
		t.Errorf("STATUS: %s", got)
	}
	fill(t, p, "b", 20)
	b.full.Store(false)
	b.cut.Store(4)
	p.do(t, "VIGIL.BACKUP NOW")
	p.until(t, "last-time", 1)
	want := p.do(t, "DEBUG DIGEST")
	p.until(t, "restorable-until", time.Now().Unix()+1)
	p.stop(t)
	restored := filepath.Join(t.TempDir(), "new")
	if status, out := run(t, b.flags("--restore", target, "--dir", restored)...); status != 0 {
		t.Fatalf("status %d\n%s", status, out)
	}
	if got := digest(t, restored); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestWrongCredentialsAreNamed(t *testing.T) {
	b, dir := newBucket(t), t.TempDir()
	wrong := []string{"--backup-s3-endpoint", b.URL, "--backup-s3-access-key", "nobody", "--backup-s3-secret-key", "x"}
	p := launch(t, append(wrong, "--dir", dir, "--backup-target", target)...)
	p.wait(t, "backup to s3://bucket/backups/one: .*InvalidAccessKeyId")
	if got := p.do(t, "SET k v"); got != "OK" {
		t.Errorf("SET: %s", got)
	}
	restored := filepath.Join(t.TempDir(), "new")
	if status, out := run(t, append(wrong, "--restore", target, "--dir", restored)...); status != 2 || !strings.Contains(out, "InvalidAccessKeyId") {
		t.Errorf("restore: status %d\n%s", status, out)
	}
	gone(t, restored)
	if status, out := run(t, "--restore", target, "--dir", restored); status != 2 || !strings.Contains(out, "there are no credentials") {
		t.Errorf("without credentials: status %d\n%s", status, out)
	}
	if status, out := run(t, b.flags("--restore", "s3://nobucket/x", "--dir", restored)...); status != 2 || !strings.Contains(out, "NoSuchBucket") {
		t.Errorf("without a bucket: status %d\n%s", status, out)
	}
	gone(t, restored)
}

// TestKillsAmidABackupAndARestore kills the server while an object is on its way, and the restore likewise. Meanwhile clients write.
func TestKillsAmidABackupAndARestore(t *testing.T) {
	b, dir := newBucket(t), t.TempDir()
	flags := b.flags("--dir", dir, "--backup-target", target, "--backup-log-interval", "1", "--appendfsync", "always")
	p := launch(t, flags...)
	fill(t, p, "a", 30)
	b.hold("PUT")
	b.came(t)
	fill(t, p, "b", 30) // the bucket is as slow as can be, and nobody waits for it
	if got := p.do(t, "VIGIL.BACKUP NOW"); !strings.Contains(got, "already under way") && got != "Backup started" {
		t.Errorf("NOW: %s", got)
	}
	p.kill()
	b.release("PUT")
	p = launch(t, flags...)
	p.wait(t, "is complete")
	fill(t, p, "c", 30)
	b.hold("PUT")
	b.came(t)
	p.stop(t) // an upload that hangs does not hold the end up
	b.release("PUT")
	p = launch(t, flags...)
	want := p.do(t, "DEBUG DIGEST")
	p.until(t, "restorable-until", time.Now().Unix()+1)
	p.kill()
	if _, err := os.Stat(filepath.Join(dir, "backup", "state")); err != nil {
		t.Error(err)
	}

	restored := filepath.Join(t.TempDir(), "new")
	args := b.flags("--restore", target, "--dir", restored)
	b.hold("GET")
	r := start(t, args...)
	b.came(t)
	r.kill()
	if _, err := os.Stat(restored); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a kill the directory is there: %v", err)
	}
	b.release("GET")
	if status, out := run(t, args...); status != 0 {
		t.Fatalf("status %d\n%s", status, out)
	}
	if got := digest(t, restored); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	if status, out := run(t, args...); status != 2 || !strings.Contains(out, "not empty") {
		t.Errorf("again: status %d\n%s", status, out)
	}
}
