// Package disktest has the disk on which tests of what survives a crash are run.
package disktest

import (
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Disk is a crashable file system in memory of which a clone may be made amid operations
// of other goroutines. MemFS itself takes a lock for reading twice in Link, Lock and
// ReuseForWrite, and hangs if a clone comes to wait for that lock in between.
type Disk struct {
	*vfs.MemFS
	twice sync.Mutex // held by what takes the lock twice, and by clones
}

// New returns an empty disk.
func New() *Disk { return &Disk{MemFS: vfs.NewCrashableMem()} }

// CrashClone returns the disk as a crash would leave it.
func (d *Disk) CrashClone(cfg vfs.CrashCloneCfg) *Disk {
	d.twice.Lock()
	defer d.twice.Unlock()
	return &Disk{MemFS: d.MemFS.CrashClone(cfg)}
}

// Link gives a file a second name.
func (d *Disk) Link(from, to string) error {
	d.twice.Lock()
	defer d.twice.Unlock()
	return d.MemFS.Link(from, to)
}

// Lock makes the file of a lock.
func (d *Disk) Lock(name string) (io.Closer, error) {
	d.twice.Lock()
	defer d.twice.Unlock()
	return d.MemFS.Lock(name)
}

// ReuseForWrite renames a file and opens it to be written.
func (d *Disk) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	d.twice.Lock()
	defer d.twice.Unlock()
	return d.MemFS.ReuseForWrite(from, to, category)
}
