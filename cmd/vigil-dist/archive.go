package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What belongs to the programs besides them.
const (
	packaging        = "cmd/vigil-server/packaging"
	sessionPackaging = "cmd/vigil-session/packaging"
)

// entry is a file of an archive.
type entry struct {
	name string
	mode fs.FileMode
	text []byte
}

// archive makes the programs for a target and puts them into out with what
// belongs to them: a zip file for Windows, else a compressed tar file. All is in one
// folder.
func (rel *release) archive(out, target string) error {
	system, arch, ok := strings.Cut(target, "/")
	if !ok {
		return fmt.Errorf("want GOOS/GOARCH")
	}
	folder := fmt.Sprintf("vigil-%s-%s-%s", rel.version, system, arch)
	entries, err := rel.contents(folder, system, arch)
	if err != nil {
		return err
	}
	write, suffix := writeTar, ".tar.gz"
	if system == "windows" {
		write, suffix = writeZip, ".zip"
	}
	path := filepath.Join(out, folder+suffix)
	return replaceFile(path, func(w io.Writer) error { return write(w, entries, rel.date) })
}

// contents are the files of an archive, below folder.
func (rel *release) contents(folder, system, arch string) ([]entry, error) {
	dir, err := os.MkdirTemp("", "vigil-dist")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binaries, err := rel.build(dir, system, arch)
	if err != nil {
		return nil, err
	}
	var entries []entry
	add := func(path string, mode fs.FileMode) error {
		text, err := os.ReadFile(path)
		entries = append(entries, entry{folder + "/" + filepath.Base(path), mode, text})
		return err
	}
	for _, path := range binaries {
		if err := add(path, 0o755); err != nil {
			return nil, err
		}
	}
	others := []string{"README.md", "CHANGELOG.md", "LICENSE", packaging + "/vigil.conf", packaging + "/vigil-server.8",
		"cmd/vigil-session/session.toml", sessionPackaging + "/vigil-session.8"}
	if system == "linux" {
		others = append(others, packaging+"/vigil.service", packaging+"/vigil.socket",
			sessionPackaging+"/vigil-session.service", sessionPackaging+"/vigil-session.default")
	}
	for _, path := range others {
		if err := add(path, 0o644); err != nil {
			return nil, err
		}
	}
	terms, err := licences(system, arch)
	return append(entries, entry{folder + "/LICENSES.txt", 0o644, terms}), err
}

func writeTar(w io.Writer, entries []entry, date time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(compressed)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode), Size: int64(len(e.text)),
			ModTime: date, Uname: "root", Gname: "root", Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.text); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func writeZip(w io.Writer, entries []entry, date time.Time) error {
	z := zip.NewWriter(w)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: date}
		h.SetMode(e.mode)
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.text); err != nil {
			return err
		}
	}
	return z.Close()
}

// writeSums writes SHA256SUMS for the archives and packages in dir, in the form
// that sha256sum -c reads.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir) // in order
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".gz", ".zip", ".deb":
		default:
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		f.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sum.Sum(nil), e.Name())
	}
	return replaceFile(filepath.Join(dir, "SHA256SUMS"), func(w io.Writer) error {
		_, err := io.WriteString(w, lines.String())
		return err
	})
}

// replaceFile writes a file that is there as a whole or not at all: what is
// released must not be half of a run that was broken off.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".vigil-dist-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the renaming, when there is nothing to remove
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
