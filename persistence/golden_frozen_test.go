package persistence

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

// format2Sum is the checksum of all stores in format 2 that are in testdata. No version can write them any more, so it never
// changes.
const format2Sum = "f3416d122cdcacbacc6181909eb0db416d5a27c22091b8d8fc119364bddb40ec"

// goldenFiles calls f with the count files of the golden stores in a format.
func goldenFiles(t *testing.T, format string, count int, f func(path string, b []byte)) {
	t.Helper()
	stores, err := filepath.Glob(filepath.Join("testdata", format+"*"))
	if err != nil || len(stores) != count {
		t.Fatalf("%d stores in testdata are in %s, want %d, error %v: %q", len(stores), format, count, err, stores)
	}
	for _, store := range stores {
		if err := filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			f(filepath.ToSlash(path), b)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// What the version before has written is what is opened.
func TestStoresOfFormat2AreUnchanged(t *testing.T) {
	sum := sha256.New()
	goldenFiles(t, "format2", 6, func(path string, b []byte) {
		fmt.Fprintf(sum, "%s %d\n", path, len(b))
		sum.Write(b)
	})
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != format2Sum {
		t.Errorf("the stores in format 2 have the checksum %s, want %s", got, format2Sum)
	}
}

// A type whose values no store in testdata has could change what it writes, and no test would see it.
func TestGoldenStoresHaveEveryType(t *testing.T) {
	dirs, err := filepath.Glob("testdata/format3*")
	if err != nil {
		t.Fatal(err)
	}
	stored := map[structures.Kind]bool{}
	for _, golden := range dirs {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(golden)); err != nil {
			t.Fatal(err)
		}
		s := openGolden(t, dir)
		it, err := s.files.Disk.DB.NewIter(&pebble.IterOptions{LowerBound: format.AppendGroup(nil, format.PrefixHead), UpperBound: format.AppendGroupEnd(nil, format.PrefixHead)})
		if err != nil {
			t.Fatal(err)
		}
		for it.First(); it.Valid(); it.Next() {
			h, err := format.DecodeHead(it.Value())
			if err != nil {
				t.Fatal(err)
			}
			stored[h.Kind] = true
		}
		if err := it.Close(); err != nil {
			t.Error(err)
		}
		closeStore(t, s)
	}
	for _, row := range types.All() {
		if !stored[row.Kind] {
			t.Errorf("%s: no store in testdata has one; golden_sketches_test.go is an example of a test that writes a store", row.Name)
		}
	}
}

// A store in testdata has of the files of its log what was written, not the length that they get for what is to come.
func TestGoldenStoresHaveWhatWasWritten(t *testing.T) {
	segments := 0
	goldenFiles(t, "format3", 10, func(path string, b []byte) {
		if strings.Contains(path, "/log/") {
			segments++
			if len(b) == 0 || bytes.HasSuffix(b, []byte{0}) {
				t.Errorf("%s ends with what was not written, after %d bytes", path, len(bytes.TrimRight(b, "\x00")))
			}
		}
		if len(b) > 512<<10 {
			t.Errorf("%s has %d bytes", path, len(b))
		}
	})
	if segments < 6 {
		t.Errorf("%d files of logs, want one or more for each store", segments)
	}
}
