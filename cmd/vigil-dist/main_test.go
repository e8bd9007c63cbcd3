package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
)

var (
	commitDate = time.Unix(1795352532, 0).UTC()
	sample     = []entry{{"vigil-1/vigil-server", 0o755, []byte("program")}, {"vigil-1/README.md", 0o644, []byte("text")}}
)

func TestArchivesAreTheSameEachTime(t *testing.T) {
	for name, write := range map[string]func(io.Writer, []entry, time.Time) error{"tar": writeTar, "zip": writeZip} {
		var first, second bytes.Buffer
		if err := errors.Join(write(&first, sample, commitDate), write(&second, sample, commitDate)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two archives of the same files differ", name)
		}
	}
}

func TestTarHoldsFilesWithModeAndDateOfTheCommit(t *testing.T) {
	var b bytes.Buffer
	if err := writeTar(&b, sample, commitDate); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	if !z.ModTime.IsZero() {
		t.Errorf("the compressed file has the time %v", z.ModTime)
	}
	r := tar.NewReader(z)
	for _, want := range sample {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || h.Name != want.name || h.FileInfo().Mode() != want.mode || !h.ModTime.Equal(commitDate) || !bytes.Equal(text, want.text) {
			t.Errorf("got %+v with %q, %v; want %s, %v, %v", h, text, err, want.name, want.mode, commitDate)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("behind the last file: %v", err)
	}
}

func TestZipHoldsFilesWithModeAndDateOfTheCommit(t *testing.T) {
	var b bytes.Buffer
	if err := writeZip(&b, sample, commitDate); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(r.File) != len(sample) {
		t.Fatalf("%v, %v", r, err)
	}
	for i, f := range r.File {
		if f.Name != sample[i].name || f.Mode() != sample[i].mode || !f.Modified.Equal(commitDate) {
			t.Errorf("got %s, %v, %v; want %s, %v, %v", f.Name, f.Mode(), f.Modified, sample[i].name, sample[i].mode, commitDate)
		}
	}
}

func TestVersionGrowsWithEachCommitAndIsPlainAtItsTag(t *testing.T) {
	const commit = "0123456789abcdef"
	for _, c := range []struct {
		tags []string
		want string
	}{
		{nil, commands.Version + "+git20261122.130212.01234567"},
		{[]string{"v9.9.9"}, commands.Version + "+git20261122.130212.01234567"},
		{[]string{"other", "v" + commands.Version}, commands.Version},
	} {
		if got := versionAt(commit, commitDate, c.tags); got != c.want {
			t.Errorf("with tags %q: got %s, want %s", c.tags, got, c.want)
		}
	}
}

func TestSumsCoverWhatIsReleasedAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.tar.gz", "a.deb", "c.zip", "notes.txt", ".vigil-dist-1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	want := ""
	for _, name := range []string{"a.deb", "b.tar.gz", "c.zip"} {
		want += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(name)), name)
	}
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestWriteThatFailsLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("disk full")
	err := replaceFile(path, func(w io.Writer) error { io.WriteString(w, "ne"); return broken })
	text, _ := os.ReadFile(path)
	left, _ := os.ReadDir(dir)
	if !errors.Is(err, broken) || string(text) != "old" || len(left) != 1 {
		t.Errorf("got %v, %q and %d files; want the old file alone", err, text, len(left))
	}
}

func TestModuleWithoutALicenceIsAnError(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	if err := appendLicence(&b, "m v1", dir); err == nil {
		t.Error("a module without a licence was taken")
	}
	if err := os.WriteFile(filepath.Join(dir, "License.md"), []byte("terms\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := appendLicence(&b, "m v1", dir); err != nil || b.String() != "==== m v1: License.md\n\nterms\n\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
