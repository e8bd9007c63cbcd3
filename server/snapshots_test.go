package server

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
)

// snapshotRig is a server with a directory.
func snapshotRig(t *testing.T, directives ...string) (r *rig, dir string) {
	t.Helper()
	dir = t.TempDir()
	return newRig(t, func(o *Options) {
		o.InMemory, o.Dir, o.Config = false, dir, testConfig(t, directives...)
	}), dir
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestDeletingASnapshotTouchesNothingElse asks for the deletion of what lies
// elsewhere.
func TestDeletingASnapshotTouchesNothingElse(t *testing.T) {
	r, dir := snapshotRig(t)
	c := r.dial()
	c.do("VIGIL.SNAPSHOT", "CREATE", "a")
	other := filepath.Join(dir, "snapshots", "notes")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"..", "../snapshots/a", dir, "a/.", "notes", "a.part", "./a"} {
		got := c.do("VIGIL.SNAPSHOT", "DELETE", name)
		if got != "(error) "+string(commands.ErrSnapshotName) && got != "(error) "+string(commands.ErrNoSnapshot) {
			t.Errorf("DELETE %s: %s", name, got)
		}
	}
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("there are %q", got)
	}
}

func TestUnfinishedSnapshotsAreNotListedAndGoAtTheNextStart(t *testing.T) {
	r, dir := snapshotRig(t)
	c := r.dial()
	c.do("VIGIL.SNAPSHOT", "CREATE", "whole")
	left := filepath.Join(dir, "snapshots", "cut.part")
	if err := os.CopyFS(left, os.DirFS(filepath.Join(dir, "snapshots", "whole"))); err != nil {
		t.Fatal(err)
	}
	if got := c.do("VIGIL.SNAPSHOT", "LIST"); strings.Contains(got, "cut") || !strings.Contains(got, "whole") {
		t.Errorf("LIST: %s", got)
	}
	if err := r.srv.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	newRig(t, onDisk(dir))
	if got := names(t, dir); len(got) != 1 || got[0] != "whole" {
		t.Errorf("after the next start there are %q", got)
	}
}

func TestSavePointsKeepTheNewestSnapshots(t *testing.T) {
	for keep, want := range map[string]int{"2": 2, "1": 1, "0": 5} {
		r, dir := snapshotRig(t, "--save", "10 1", "--snapshot-keep", keep)
		c := r.dial()
		c.do("VIGIL.SNAPSHOT", "CREATE", "mine")
		for i := range 5 {
			c.do("SET", "k", fmt.Sprint(i))
			r.clock.advance(12 * time.Second)
			r.waitForSave()
		}
		got := names(t, dir)
		if len(got) != want+1 || got[len(got)-1] != "mine" {
			t.Errorf("snapshot-keep %s: there are %q", keep, got)
		}
		if info := c.do("INFO", "persistence"); !strings.Contains(info, "rdb_changes_since_last_save:0") {
			t.Errorf("INFO: %s", info)
		}
		if ago := r.clock.Now().Unix() - r.srv.snapshots.Status().Last; ago < 0 || ago >= 12 { // since the last SET
			t.Errorf("LASTSAVE was %d s ago", ago)
		}
	}
}

// waitForSave returns when no snapshot is under way in the background.
func (r *rig) waitForSave() {
	r.until("no snapshot is under way", func() bool { return !r.srv.snapshots.Status().Running })
}

func TestFailedSavePointWaitsBeforeItTriesAgain(t *testing.T) {
	r, dir := snapshotRig(t, "--save", "1 1")
	if err := os.WriteFile(filepath.Join(dir, "snapshots"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := r.dial()
	c.do("SET", "k", "v")
	tries := map[int64]bool{}
	for range 24 {
		r.clock.advance(500 * time.Millisecond)
		r.waitForSave()
		if at := r.srv.snapshots.Status().Tried; at > 0 {
			tries[at] = true
		}
	}
	if n := len(tries); n < 2 || n > 3 {
		t.Errorf("%d attempts in 12 s, want one in 5 s", n)
	}
	if got := c.do("INFO", "persistence"); !strings.Contains(got, "rdb_last_bgsave_status:err") {
		t.Errorf("INFO: %s", got)
	}
}

// TestSnapshotCanBeCopiedWhileTheServerRuns: what a snapshot holds does not
// change, whatever the server does.
func TestSnapshotCanBeCopiedWhileTheServerRuns(t *testing.T) {
	r, dir := snapshotRig(t)
	c := r.dial()
	for i := range 500 {
		c.do("SET", fmt.Sprintf("k%d", i), strings.Repeat("v", 1000))
	}
	c.do("VIGIL.SNAPSHOT", "CREATE", "a")
	from := filepath.Join(dir, "snapshots", "a")
	before := contentsOf(t, from)
	for round := range 5 {
		for i := range 500 {
			c.do("SET", fmt.Sprintf("k%d", i), strings.Repeat("w", 1000+round))
		}
		if err := r.srv.store.Passes().Materialise(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.do("FLUSHALL")
		if after := contentsOf(t, from); after != before {
			t.Fatalf("the snapshot changed from\n%s\nto\n%s", before, after)
		}
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if report, err := Check(to, func(string, int64, int64) {}); err != nil || !report.Sound() {
		t.Errorf("the copy: %v, %+v", err, report)
	}
	copied := newRig(t, onDisk(to))
	if got := copied.dial().do("GET", "k499"); got != `"`+strings.Repeat("v", 1000)+`"` && got != strings.Repeat("v", 1000) {
		t.Errorf("GET from the copy: %.20s", got)
	}
}

// contentsOf is the names, sizes and checksums of the files in a directory.
func contentsOf(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		lines = append(lines, fmt.Sprintf("%s %d %x", path, len(b), hashOf(b)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func hashOf(b []byte) (h uint64) {
	for _, c := range b {
		h = h*1099511628211 ^ uint64(c)
	}
	return h
}

func TestSnapshotsAreForTheirOwnerAlone(t *testing.T) {
	r, dir := snapshotRig(t)
	r.dial().do("VIGIL.SNAPSHOT", "CREATE", "a")
	for _, d := range []string{"snapshots", "snapshots/a"} {
		info, err := os.Stat(filepath.Join(dir, d))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", d, info.Mode(), err)
		}
	}
}
