package disktest

import (
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// ErrDisk is the error of an operation that FailAt fails.
var ErrDisk = errors.New("the disk fails")

// FailAt is an injector that fails one operation of a disk. It is for one goroutine.
type FailAt struct {
	Left   int        // operations up to that one
	Writes bool       // only what changes the disk counts
	Op     errorfs.Op // that failed
}

// MaybeError is called before each operation.
func (f *FailAt) MaybeError(op errorfs.Op) error {
	if f.Writes && op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	if f.Left--; f.Left != 0 {
		return nil
	}
	f.Op = op
	return ErrDisk
}

func (f *FailAt) String() string { return "failing at one operation" }
