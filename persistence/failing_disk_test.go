package persistence

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// diskFault is how an operation of a failing disk fails.
type diskFault int

const (
	faultFull  diskFault = iota // ENOSPC from whatever takes room; a write may be done in part
	faultEIO                    // EIO from everything, reads too
	faultRead                   // EIO from reads
	faultSync                   // EIO from syncs
	faultAfter                  // EIO from changes, which are done nevertheless
	faultKinds
)

func (f diskFault) String() string {
	return [...]string{"ENOSPC", "EIO", "failed read", "failed sync", "EIO after the fact"}[f]
}

// failingDisk is a file system whose k-th operation fails, or all from the k-th
// on, until it is healed.
type failingDisk struct {
	vfs.FS
	fault diskFault
	only  bool // the k-th alone

	mu   sync.Mutex
	k    int // operations until it fails; negative never
	ops  int
	hits int
	open map[*failingFile]opened
	r    *rand.Rand
}

func newFailingDisk(inner vfs.FS, fault diskFault, k int, only bool) *failingDisk {
	return &failingDisk{FS: inner, fault: fault, k: k, only: only, open: map[*failingFile]opened{}, r: rand.New(rand.NewPCG(uint64(k), 9))}
}

// arm makes the k-th operation from now on fail.
func (d *failingDisk) arm(k int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.k = d.ops + k
}

func (d *failingDisk) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.k = -1
}

// mend heals the disk and reads all of it. A read that comes while Pebble itself opens a
// file gets the error of that, even if the disk is healed before it gets it.
func (d *failingDisk) mend(t testing.TB, s *Store) {
	t.Helper()
	d.heal()
	limit := time.After(10 * time.Second)
	for {
		it, err := s.files.Disk.DB.NewIter(nil)
		if err == nil {
			for it.First(); it.Valid(); it.Next() {
			}
			err = it.Close()
		}
		if err == nil {
			return
		}
		select {
		case <-limit:
			t.Fatalf("the disk is healed: %v", err)
		default:
			runtime.Gosched()
		}
	}
}

// count returns how many operations there were and how many failed.
func (d *failingDisk) count() (ops, hits int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops, d.hits
}

// lasts reports that reads fail from now on.
func (d *failingDisk) lasts() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.only && d.hits > 0 && d.k >= 0
}

// opKind is a kind of operations that a fault may be for.
type opKind int

const (
	opRead opKind = iota
	opGrow        // takes room
	opSync
	opShrink
)

// next counts an operation and returns its error, if it is to fail.
func (d *failingDisk) next(kind opKind) (error, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops++
	if d.k < 0 || d.ops < d.k || d.only && d.hits > 0 {
		return nil, false
	}
	err := error(syscall.EIO)
	switch d.fault {
	case faultFull:
		if err = syscall.ENOSPC; kind != opGrow {
			return nil, false
		}
	case faultRead:
		if kind != opRead {
			return nil, false
		}
	case faultSync:
		if kind != opSync {
			return nil, false
		}
	case faultAfter:
		if kind == opRead {
			return nil, false
		}
	}
	d.hits++
	return err, d.fault == faultAfter
}

// do does an operation, unless it is to fail.
func (d *failingDisk) do(kind opKind, op func() error) error {
	fail, after := d.next(kind)
	if fail == nil {
		return op()
	}
	if after {
		_ = op()
	}
	return fail
}

// openFile is do for what opens a file. One that an error comes with is closed.
func (d *failingDisk) openFile(kind opKind, name string, op func() (vfs.File, error)) (vfs.File, error) {
	var f vfs.File
	err := d.do(kind, func() (err error) {
		f, err = op()
		return err
	})
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	file := &failingFile{File: f, d: d}
	d.open[file] = newOpened(name)
	return file, nil
}

// opened is a file that is open, and the calls that opened it. Their names are asked for when a test fails: stacks of text for each
// file took a twentieth of the time of some tests.
type opened struct {
	name string
	by   []uintptr
}

func newOpened(name string) opened {
	o := opened{name, make([]uintptr, 40)}
	o.by = o.by[:runtime.Callers(2, o.by)]
	return o
}

func (o opened) String() string {
	text := o.name
	for frames, more := runtime.CallersFrames(o.by), len(o.by) > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		text += fmt.Sprintf("\n%s\n\t%s:%d", f.Function, f.File, f.Line)
	}
	return text
}

func (d *failingDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.openFile(opGrow, name, func() (vfs.File, error) { return d.FS.Create(name, c) })
}

func (d *failingDisk) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	return d.openFile(opRead, name, func() (vfs.File, error) { return d.FS.Open(name, o...) })
}

func (d *failingDisk) OpenDir(name string) (vfs.File, error) {
	return d.openFile(opRead, name, func() (vfs.File, error) { return d.FS.OpenDir(name) })
}

func (d *failingDisk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.openFile(opGrow, name, func() (vfs.File, error) { return d.FS.ReuseForWrite(old, name, c) })
}

func (d *failingDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return d.openFile(opGrow, name, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, c, o...) })
}

func (d *failingDisk) Link(old, name string) error {
	return d.do(opGrow, func() error { return d.FS.Link(old, name) })
}

func (d *failingDisk) Rename(old, name string) error {
	return d.do(opGrow, func() error { return d.FS.Rename(old, name) })
}

func (d *failingDisk) MkdirAll(name string, perm os.FileMode) error {
	return d.do(opGrow, func() error { return d.FS.MkdirAll(name, perm) })
}

func (d *failingDisk) Remove(name string) error {
	return d.do(opShrink, func() error { return d.FS.Remove(name) })
}

func (d *failingDisk) List(name string) (names []string, err error) {
	err = d.do(opRead, func() error {
		names, err = d.FS.List(name)
		return err
	})
	return names, err
}

func (d *failingDisk) Stat(name string) (info vfs.FileInfo, err error) {
	err = d.do(opRead, func() error {
		info, err = d.FS.Stat(name)
		return err
	})
	return info, err
}

func (d *failingDisk) Lock(name string) (c io.Closer, err error) {
	err = d.do(opGrow, func() error {
		c, err = d.FS.Lock(name)
		return err
	})
	if err != nil && c != nil {
		c.Close()
		c = nil
	}
	return c, err
}

func (d *failingDisk) Unwrap() vfs.FS { return d.FS }

// failingFile is a file of a failing disk.
type failingFile struct {
	vfs.File
	d *failingDisk
}

func (f *failingFile) Write(p []byte) (n int, err error) {
	fail, after := f.d.next(opGrow)
	switch {
	case fail == nil:
		return f.File.Write(p)
	case after:
		n, _ = f.File.Write(p)
	case f.d.fault == faultFull:
		f.d.mu.Lock()
		n = f.d.r.IntN(len(p) + 1)
		f.d.mu.Unlock()
		n, _ = f.File.Write(append([]byte(nil), p[:n]...))
	}
	return n, fail
}

func (f *failingFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.d.do(opGrow, func() error {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *failingFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.d.do(opRead, func() error {
		n, err = f.File.ReadAt(p, off)
		return err
	})
	return n, err
}

func (f *failingFile) Read(p []byte) (n int, err error) {
	err = f.d.do(opRead, func() error {
		n, err = f.File.Read(p)
		return err
	})
	return n, err
}

func (f *failingFile) Sync() error     { return f.d.do(opSync, f.File.Sync) }
func (f *failingFile) SyncData() error { return f.d.do(opSync, f.File.SyncData) }

func (f *failingFile) SyncTo(length int64) (full bool, err error) {
	err = f.d.do(opSync, func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

func (f *failingFile) Close() error {
	f.d.mu.Lock()
	delete(f.d.open, f)
	f.d.mu.Unlock()
	fail, _ := f.d.next(opShrink)
	if err := f.File.Close(); fail == nil {
		return err
	}
	return fail
}
