package offsite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// filled is a rig with two backups and log behind each.
func filled(t *testing.T, key bool) *rig {
	t.Helper()
	r := newRig(t, Plan{Every: time.Hour, LogEvery: time.Second})
	if key {
		r.encrypt()
	}
	for i := range 24 {
		r.model.write(t)
		if i == 14 {
			r.model.trim(t)
			_ = r.Now()
		}
		r.tick()
	}
	if s := r.Status(); s.Error != "" || len(s.Backups) != 2 {
		t.Fatalf("%+v", s)
	}
	return r
}

// TestDamageIsFound removes, cuts, and changes a byte of, each object in turn: a restore either has everything or fails, and leaves
// nothing, and the check finds all that any restore needs.
func TestDamageIsFound(t *testing.T) {
	for _, key := range []bool{false, true} {
		r := filled(t, key)
		for name, whole := range r.bucket.objects {
			for what, damaged := range map[string][]byte{"missing": nil, "cut": whole[:len(whole)-1], "empty": {}, "changed": changed(whole, len(whole)/2)} {
				if r.bucket.objects[name] = damaged; damaged == nil {
					delete(r.bucket.objects, name)
				}
				got, _, err := r.restore(noTime)
				lastStep := strings.HasPrefix(name, logPrefix) && damaged == nil // the end of the log looks like that too
				if err == nil && got != r.model.record && !lastStep && !strings.HasPrefix(name, backupPrefix) {
					t.Errorf("key %v: %s is %s: restored record %d of %d", key, name, what, got, r.model.record)
				}
				c, failed := Check(context.Background(), r.bucket, r.key, func(string, int64, int64) {})
				if err != nil && failed == nil && len(c.Damage) == 0 {
					t.Errorf("key %v: %s is %s: %v, and the check finds nothing", key, name, what, err)
				}
				if strings.HasPrefix(name, objectPrefix) && len(c.Damage) == 0 {
					t.Errorf("key %v: %s is %s, and the check finds nothing", key, name, what)
				}
			}
			r.bucket.objects[name] = whole
		}
		if got, _, err := r.restore(noTime); err != nil || got != r.model.record {
			t.Errorf("key %v: undamaged: record %d of %d, %v", key, got, r.model.record, err)
		}
	}
}

func changed(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0x10
	return b
}

// TestSealedObjectDoesNotStandForAnother swaps two objects of one length, and two manifests.
func TestSealedObjectDoesNotStandForAnother(t *testing.T) {
	r := filled(t, true)
	for _, prefix := range []string{objectPrefix, backupPrefix} {
		names := []string{}
		for name := range r.bucket.objects {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		a, b := names[0], names[1]
		o := r.bucket.objects
		o[a], o[b] = o[b], o[a]
		c, err := Check(context.Background(), r.bucket, r.key, func(string, int64, int64) {})
		if err != nil || len(c.Damage) < 1 {
			t.Errorf("%s and %s: %v, %q", a, b, err, c.Damage)
		}
		o[a], o[b] = o[b], o[a]
	}
}

func TestWrongKeyIsRefused(t *testing.T) {
	plainRig, sealed := filled(t, false), filled(t, true)
	key := sealed.key
	for _, c := range []struct {
		r    *rig
		key  []byte
		want string
	}{{sealed, nil, "are encrypted"}, {sealed, bytes.Repeat([]byte{8}, KeyBytes), "another key"}, {plainRig, key, "are not encrypted"}} {
		c.r.key = c.key
		if _, _, err := c.r.restore(noTime); !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	for _, b := range sealed.bucket.objects {
		if bytes.Contains(b, []byte("table 1")) || bytes.Contains(b, key) {
			t.Error("an object shows what is in it")
		}
	}
}

func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	hex := strings.Repeat("0a", KeyBytes)
	for content, good := range map[string]bool{strings.Repeat("k", 32): true, hex: true, hex + "\n": true, hex + "0a": false, hex[2:]: false, "": false, strings.Repeat("k", 33): false} {
		path := filepath.Join(dir, "key")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if key, err := ReadKey(path); (err == nil) != good || good && len(key) != KeyBytes {
			t.Errorf("%q: %d bytes, %v", content, len(key), err)
		}
	}
}

func TestRestoreChoosesAndRefuses(t *testing.T) {
	r := filled(t, false)
	backups := r.Status().Backups
	if _, _, err := r.restore(backups[0].Made.Add(-time.Second)); err == nil || !strings.Contains(err.Error(), "no backup is as old as") {
		t.Errorf("before the first backup: %v", err)
	}
	if got, done, err := r.restore(r.now.Add(time.Hour)); err != nil || got != r.model.record || done.Through.After(r.now) {
		t.Errorf("in the future: record %d, %+v, %v", got, done, err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := RestoreOptions{Target: r.bucket, Dir: full, Complete: func(string, uint64) error { return nil }, Progress: func(string, int64, int64) {}}
	if _, err := Restore(context.Background(), o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("into a directory with files: %v", err)
	}
	o.Dir, o.Backup = filepath.Join(full, "new"), "20200101T000000.000Z"
	if _, err := Restore(context.Background(), o); err == nil || !strings.Contains(err.Error(), backups[1].Name) {
		t.Errorf("a backup that is not there: %v", err)
	}
	o.Backup = backups[0].Name
	if done, err := Restore(context.Background(), o); err != nil || done.Backup != backups[0].Name {
		t.Errorf("the first backup: %+v, %v", done, err)
	}
	o.Dir, o.Target, o.Backup = filepath.Join(full, "other"), &bucketRig{objects: map[string][]byte{}}, ""
	if _, err := Restore(context.Background(), o); !errors.Is(err, errNoBackup) {
		t.Errorf("an empty target: %v", err)
	}
	failing := errors.New("no")
	o.Target, o.Complete = r.bucket, func(string, uint64) error { return failing }
	if _, err := Restore(context.Background(), o); !errors.Is(err, failing) {
		t.Errorf("a store that cannot be completed: %v", err)
	}
	if _, err := os.Stat(o.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

// TestHostileManifestWritesNothingOutside: whoever can write to the bucket, without a key, may say what files are called.
func TestHostileManifestWritesNothingOutside(t *testing.T) {
	good := piece{strings.Repeat("ab", 32), 3}
	for _, m := range []manifest{
		{Files: []file{{"../x", 3, []piece{good}}}}, {Files: []file{{"/x", 3, []piece{good}}}}, {Files: []file{{"a/x", 3, []piece{good}}}},
		{Files: []file{{"log/../../x", 3, []piece{good}}}}, {Files: []file{{"", 3, []piece{good}}}}, {Files: []file{{"x", 4, []piece{good}}}},
		{Files: []file{{"x", 3, []piece{{"../../etc/passwd", 3}}}}}, {Files: []file{{"x", -1, nil}}}, {Files: []file{{"x", 1 << 40, []piece{{good.Name, 1 << 40}}}}},
		{Log: []logPiece{{1, 5, good}}}, {Log: []logPiece{{1, 0, good}, {1, 4, good}}}, {Log: []logPiece{{1, 0, good}, {3, 0, good}}}, {Log: []logPiece{{1, 0, piece{"x", 1}}}},
	} {
		if m.Format = formatNumber; m.valid() == nil {
			t.Errorf("%+v is accepted", m)
		}
	}
	fine := manifest{Format: formatNumber, Files: []file{{"x", 3, []piece{good}}, {"log/0000000001", 0, nil}}, Log: []logPiece{{7, 0, good}, {7, 3, good}, {8, 0, good}}}
	if err := fine.valid(); err != nil {
		t.Error(err)
	}
}

func TestFolderIsATarget(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	for _, name := range []string{"relative/path", "file://host/x", "ftp://x/y", "s3:///x", "s3://u:p@b/x", "s3://b/x?y"} {
		if err := ValidTarget(name); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	target, err := OpenFolder("file://" + filepath.Join(dir, "t"))
	if err != nil {
		t.Fatal(err)
	}
	list := func(prefix string) (names []string) {
		if err := target.List(ctx, prefix, func(name string, size int64) error { names = append(names, fmt.Sprint(name, " ", size)); return nil }); err != nil {
			t.Error(err)
		}
		return names
	}
	if _, err := target.Get(ctx, "a/b"); !errors.Is(err, fs.ErrNotExist) || len(list("a/")) != 0 {
		t.Errorf("nothing is there: %v, %q", err, list("a/"))
	}
	if err := errors.Join(target.Put(ctx, "a/b", []byte("x")), target.Put(ctx, "a/b", []byte("yz")), target.Put(ctx, "a/c", nil)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "t", "a", "d"+unfinished), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := target.Get(ctx, "a/b"); string(b) != "yz" || err != nil || fmt.Sprint(list("a/")) != "[a/b 2 a/c 0]" {
		t.Errorf("%q, %v, %q", b, err, list("a/"))
	}
	if err := errors.Join(target.Delete(ctx, "a/b"), target.Delete(ctx, "a/b")); err != nil || fmt.Sprint(list("a/")) != "[a/c 0]" {
		t.Errorf("%v, %q", err, list("a/"))
	}
}

func TestSchedulesAndMoments(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "90": 90 * time.Second, "90s": 90 * time.Second, "5m": 5 * time.Minute, "6h": 6 * time.Hour, "2d": 48 * time.Hour,
		"hourly": time.Hour, "Daily": 24 * time.Hour, "weekly": 168 * time.Hour, "": -1, "-1": -1, "x": -1, "1y": -1, "1.5h": -1, "h": -1, "99999999999": -1} {
		if got, err := ParseEvery(text); (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	want := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, text := range []string{"2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00", "2026-01-02 03:04:05", "2026-01-02T03:04:05", "1767323045"} {
		if got, err := ParseUntil(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "yesterday", "2026-13-01T00:00:00Z", "-5"} {
		if got, err := ParseUntil(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
