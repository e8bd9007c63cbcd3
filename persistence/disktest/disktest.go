// Package disktest has the disk on which tests of what survives a crash are run.
package disktest

import (
	"errors"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Disk is a crashable file system in memory that can be cloned amid operations of
// other goroutines. MemFS itself takes a lock for reading twice in Link, Lock and
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

// DeathClone returns the disk as the death of the process leaves it, whose machine goes on: the files in a directory have all that was
// written to them. Of the others as much as after a crash is there: what Pebble has written by then depends on its goroutines.
func (d *Disk) DeathClone(dir string, cfg vfs.CrashCloneCfg) *Disk {
	whole := d.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))}) // first: the log is not cut any more
	c := d.CrashClone(cfg)
	if err := errors.Join(c.RemoveAll(dir), c.MkdirAll(dir, 0o700)); err != nil {
		panic(err)
	}
	names, _ := whole.List(dir) // it may not be there
	for _, name := range names {
		if err := vfs.CopyAcrossFS(whole, whole.PathJoin(dir, name), c, c.PathJoin(dir, name)); err != nil {
			panic(err)
		}
	}
	for _, path := range []string{dir, c.PathDir(dir)} {
		f, err := c.OpenDir(path)
		if err != nil {
			panic(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			panic(err)
		}
	}
	return c
}
