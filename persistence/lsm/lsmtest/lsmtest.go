// Package lsmtest opens an instance of Pebble for tests of what lies above it.
package lsmtest

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/lsm"
)

// Dir is the directory of an instance.
const Dir = "db"

// Open opens an instance in Dir of a file system, which the end of the test closes. Reads of disk wait until that, at most.
func Open(t testing.TB, fs vfs.FS, disk *lsm.Disk) {
	t.Helper()
	f := fence.New(fs, Dir)
	db, err := lsm.Open(Dir, lsm.Options(f, disktest.Silent{}), f, func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	disk.Init(t.Context().Done())
	disk.SetFence(f)
	disk.DB = db
	t.Cleanup(func() {
		if err := lsm.Close(Dir, db, f); err != nil {
			t.Error(err)
		}
	})
}
