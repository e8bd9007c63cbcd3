package snapshot

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/wal"
)

// Copies that are complete are listed and removed; of one that could not be made nothing is left, and what a crash left is swept.
func TestCopiesAreWholeOrGone(t *testing.T) {
	c := Copies{FS: vfs.NewMem()}
	write := func(dir string) error {
		if err := c.FS.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		disktest.WriteFile(t, c.FS, c.FS.PathJoin(dir, wal.MarkName), []byte("mark"))
		return nil
	}
	if err := errors.Join(c.FS.MkdirAll("snaps", 0o700), c.Make("snaps/a", nil, write), c.Make("snaps/b", someOrigin(), write)); err != nil {
		t.Fatal(err)
	}
	if err := c.Make("snaps/a", nil, write); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one of that name: %v", err)
	}
	full := errors.New("full")
	if err := c.Make("snaps/c", nil, func(dir string) error { return errors.Join(write(dir), full) }); !errors.Is(err, full) {
		t.Errorf("one that cannot be written: %v", err)
	}
	if names, err := c.FS.List("snaps"); err != nil || len(names) != 2 {
		t.Errorf("left are %q, %v", names, err)
	}
	found, err := c.List("snaps")
	if err != nil || len(found) != 2 || found[0].Name != "a" || found[0].Origin != nil || found[1].Origin == nil || found[0].Bytes != 4 {
		t.Errorf("listed %+v, %v", found, err)
	}
	if err := errors.Join(c.Remove("snaps/a"), write("snaps/d.part"), c.Sweep("snaps"), c.Sweep("missing")); err != nil {
		t.Error(err)
	}
	if err := c.Remove("snaps/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}
	if names, err := c.FS.List("snaps"); err != nil || len(names) != 1 {
		t.Errorf("left are %q, %v", names, err)
	}
}
