package sim

import (
	"path"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

// disk is the disk of one life of the server: a file system in memory that loses
// what was not synced in a crash, and whose operations fail or wait if asked to.
type disk struct {
	mem    *disktest.Disk
	memory *disktest.Memory // of files that the server has mapped

	mu    sync.Mutex
	fault fault         // what fails; guarded by mu
	held  chan struct{} // closed when syncs may go on; nil: they may; guarded by mu
	until int           // changes of files of one kind up to the crash, 0 for none; guarded by mu
	files string        // that kind; guarded by mu
	what  crashing      // guarded by mu
	dead  *image        // the disk at the crash; guarded by mu
	log   uint64        // a digest of what was done to Pebble's log; guarded by mu
	ends  bool          // a sync of Pebble's log has begun and not ended, so that all before it is written; guarded by mu
}

// fault is a way in which a disk fails.
type fault int

const (
	noFault fault = iota
	diskFull
	badSync
	badWrite
	badDirectory // files cannot be made, renamed or removed
)

var faultNames = [...]string{"no fault", "full disk", "failing syncs", "failing writes", "failing directory"}

// error is what an operation meets with.
func (f fault) error(kind errorfs.OpKind) error {
	switch kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		if f == badSync {
			return syscall.EIO
		}
	case errorfs.OpFileWrite, errorfs.OpFilePreallocate:
		if f == diskFull {
			return syscall.ENOSPC
		}
		if f == badWrite {
			return syscall.EIO
		}
	case errorfs.OpCreate, errorfs.OpReuseForWrite, errorfs.OpMkdirAll, errorfs.OpLink:
		if f == diskFull {
			return syscall.ENOSPC
		}
		if f == badDirectory {
			return syscall.EIO
		}
	case errorfs.OpRename, errorfs.OpRemove, errorfs.OpRemoveAll:
		if f == badDirectory {
			return syscall.EIO
		}
	}
	return nil
}

func isSync(kind errorfs.OpKind) bool {
	return kind == errorfs.OpFileSync || kind == errorfs.OpFileSyncData || kind == errorfs.OpFileSyncTo
}

// changes reports whether a crash may come before an operation. Writes are left out,
// since Pebble cuts the same bytes into more or fewer of them: what an image loses
// of them comes to the same. So are removals, which Pebble makes when it has time.
func changes(kind errorfs.OpKind) bool {
	switch kind {
	case errorfs.OpCreate, errorfs.OpReuseForWrite, errorfs.OpLink, errorfs.OpRename:
		return true
	}
	return isSync(kind)
}

// Kinds of files.
const (
	logFile   = "log"
	tableFile = "table"
	otherFile = "other"
)

func fileKind(name string) string {
	switch path.Ext(name) {
	case ".log":
		return logFile
	case ".sst":
		return tableFile
	}
	return otherFile
}

// fs is the file system that the server is given.
func (d *disk) fs() vfs.FS { return errorfs.Wrap(d.mem, d) }

// MaybeError is called before each operation.
func (d *disk) MaybeError(op errorfs.Op) error {
	d.mu.Lock()
	if changes(op.Kind) {
		kind := fileKind(op.Path)
		if kind == logFile {
			d.log = d.log*31 + uint64(op.Kind) + 1
			d.ends = d.ends || isSync(op.Kind)
		}
		if d.until > 0 && kind == d.files {
			if d.until--; d.until == 0 {
				d.crashLocked(d.what)
			}
		}
	}
	err, held := d.fault.error(op.Kind), d.held
	if held == nil {
		d.ends = false
	}
	d.mu.Unlock()
	if held != nil && isSync(op.Kind) {
		<-held
	}
	return err
}

// String names the disk in errors.
func (d *disk) String() string { return "simulated disk" }

// setFault makes operations fail from now on, or no more.
func (d *disk) setFault(f fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = f
}

// sick reports whether operations fail.
func (d *disk) sick() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fault != noFault
}

// digest stands for what was done to Pebble's log so far.
func (d *disk) digest() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log
}

// holdSyncs makes syncs wait until releaseSyncs.
func (d *disk) holdSyncs() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		d.held = make(chan struct{})
	}
}

func (d *disk) holding() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held != nil
}

func (d *disk) releaseSyncs() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		close(d.held)
		d.held, d.ends = nil, false
	}
}

// crashBefore lets a crash come before the n-th change from now on of a file of
// one kind. Kinds are counted by themselves, since Pebble writes them from
// different goroutines, whose order no seed decides.
func (d *disk) crashBefore(n int, kind string, what crashing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until, d.files, d.what = n, kind, what
}

// crashed returns what a crash has left, nil if there was none.
func (d *disk) crashed() *image {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// crash is a crash now, unless there was one.
func (d *disk) crash(what crashing) *image {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead == nil {
		d.crashLocked(what)
	}
	return d.dead
}

func (d *disk) crashLocked(what crashing) {
	var memory *disktest.Memory
	if what == death {
		memory = d.memory.Clone() // first: what is freed meanwhile is on the disk
	}
	d.dead = d.imageLocked()
	d.dead.memory = memory
}

func (d *disk) imageLocked() *image {
	im := &image{
		synced: d.mem.CrashClone(vfs.CrashCloneCfg{}),
		whole:  cloneWhole(d.mem),
	}
	if !d.ends {
		im.endLogs()
	}
	return im
}
