package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestModulesAgreeOnVersions: a module that wants another version of what vigil is made of makes the go tool compile vigil again for it,
// and its tests try something that nobody runs.
func TestModulesAgreeOnVersions(t *testing.T) {
	const root = "../.."
	wanted := wantedVersions(t, root)
	modules := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root { // the modules of tools are apart
			return fs.SkipDir
		}
		dir := filepath.Dir(path)
		if entry.Name() != "go.mod" || dir == root {
			return nil
		}
		versions := wantedVersions(t, dir)
		if versions["github.com/vigildb/vigil"] == "" {
			return nil // it runs the server as a program, as the tests of the chart do
		}
		modules++
		for module, version := range versions {
			if want, shared := wanted[module]; shared && version != want {
				t.Errorf("%s wants %s %s, the root %s: raise the lower one, then go mod tidy", path, module, version, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if modules < 5 || len(wanted) < 20 {
		t.Errorf("%d modules beside the root, which wants %d others: are they read?", modules, len(wanted))
	}
}

// wantedVersions returns the version of each module that the go.mod of a folder requires.
func wantedVersions(t *testing.T, dir string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^(?:require)?\s+([^\s(]+) (v\S+)`).FindAllSubmatch(text, -1) {
		versions[string(line[1])] = string(line[2])
	}
	return versions
}
