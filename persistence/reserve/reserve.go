// Package reserve keeps a file of some megabytes on the disk of a store, and watches how full that is.
//
// On a full disk even a deletion has to be written before it frees anything. So the store gives the file up when the disk is
// full. From then on it is tight: it accepts changes that only free room, and is as it was when there is room for the file
// again. The file says nothing of the state: a store that finds neither the file nor room for it is tight from the start, as
// after a kill -9.
package reserve

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/lsm"
)

const (
	// Name is that of the file.
	Name = "vigil-reserve"
	// Most and least bound the size of the file, and part is which part of the
	// disk it is in between. Opening Pebble takes as much as its log holds, and deletions are journalled beside that.
	Most, least, part = openBytes + 8<<20, 2 << 20, 8
	// openBytes is the room without which a start gives up the file at once: what Pebble's log
	// holds is written to tables. That of a store of a commit before holds up to four memtables.
	openBytes = 4 * lsm.MostMemTable
	// Period is how often the disk is looked at.
	Period = time.Second
	// fullPercent is how full the disk is when that is worth a warning, and easePercent when the next
	// one may come.
	fullPercent, easePercent = 95, 93
)

// Log is where a reserve writes what an operator should know. Warn and Error leave out what was said of the same kind
// a short time ago.
type Log interface {
	Warnf(format string, args ...any)
	Warn(kind string, err error)
	Error(kind string, err error)
}

// Reserve is the file, and what is known of the space on its disk. Its methods are safe for concurrent use.
type Reserve struct {
	fs   vfs.FS
	dir  string
	size int64 // at most
	log  Log

	tight atomic.Bool // the file is given up
	freed atomic.Bool // something was deleted since the last pass of a tight store
	ample atomic.Bool // that pass has succeeded: compactions of a tight store may write what it left
	avail atomic.Uint64
	total atomic.Uint64

	mu     sync.Mutex // held while the file is written or removed
	held   bool       // guarded by mu
	warned bool       // that the disk is nearly full; guarded by mu
}

// Init prepares for a directory. size bounds the bytes of the file; there is none if it is not above 0.
func (r *Reserve) Init(fs vfs.FS, dir string, size int64, log Log) {
	r.fs, r.dir, r.size, r.log = fs, dir, size, log
}

// Tight reports whether only changes that free room may be made.
func (r *Reserve) Tight() bool { return r.tight.Load() }

// Freed notes that something is about to be deleted.
func (r *Reserve) Freed() { r.freed.Store(true) }

// HasFreed reports whether something was deleted since Passed.
func (r *Reserve) HasFreed() bool { return r.freed.Load() }

// Passes notes that what was deleted until now is about to be written.
func (r *Reserve) Passes() { r.freed.Store(false) }

// Passed notes that it was: compactions may use the room that it left.
func (r *Reserve) Passed() { r.ample.Store(true) }

// Holds reports whether compactions are to leave the rest of the disk to deletions.
func (r *Reserve) Holds() bool { return r.tight.Load() && !r.ample.Load() }

// Space returns how many bytes are free on the disk for this process, and how many it has; both 0 if
// that is not known.
func (r *Reserve) Space() (free, total uint64) { return r.avail.Load(), r.total.Load() }

// Look asks the file system for its space.
func (r *Reserve) Look() (usage vfs.DiskUsage, known bool) {
	usage, err := r.fs.GetDiskUsage(r.dir)
	if err != nil || usage.TotalBytes == 0 {
		return usage, false
	}
	r.avail.Store(usage.AvailBytes)
	r.total.Store(usage.TotalBytes)
	return usage, true
}

// bytes is the size of the file on a disk.
func (r *Reserve) bytes(total uint64) uint64 {
	return min(max(total/part, least), uint64(r.size))
}

// Open looks at the disk before the store is opened. The directory is locked.
func (r *Reserve) Open() {
	usage, known := r.Look()
	if r.size <= 0 || !known {
		return
	}
	size := r.bytes(usage.TotalBytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := r.fs.Stat(r.path())
	r.held = err == nil && uint64(info.Size()) >= size
	switch {
	case r.held && usage.AvailBytes < openBytes:
		r.giveUpLocked()
	case !r.held && usage.AvailBytes < size:
		r.log.Warnf("%s: only deletions are accepted until there is room", r.fullness())
		r.tight.Store(true)
	}
}

func (r *Reserve) path() string { return path.Join(r.dir, Name) }

// fullness says how full the disk is.
func (r *Reserve) fullness() string {
	free, total := r.Space()
	return fmt.Sprintf("the disk of %s is full: %d of %d bytes are free", r.dir, free, total)
}

// GiveUp removes the file, if there is one, so that the disk can be written for deletions.
func (r *Reserve) GiveUp() {
	r.ample.Store(false)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held {
		r.giveUpLocked()
	}
}

// Held reports whether there is a file to be given up.
func (r *Reserve) Held() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

func (r *Reserve) giveUpLocked() {
	r.Look()
	r.ample.Store(false)
	r.tight.Store(true) // before anybody can take the room
	if err := r.fs.Remove(r.path()); err != nil {
		r.log.Error("reserve", fmt.Errorf("give up the reserve: %w", err))
		return
	}
	r.held = false
	r.log.Warnf("%s. The reserve is given up: DEL, UNLINK, GETDEL, FLUSHDB and FLUSHALL are accepted, "+
		"and other writes are refused until there is room", r.fullness())
}

// Watch looks at the disk, warns, and takes the file if there is room and the disk can be written.
func (r *Reserve) Watch(writable func() bool) {
	usage, known := r.Look()
	if !known {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnLocked(usage)
	size := r.bytes(usage.TotalBytes)
	if r.held || r.size <= 0 || usage.AvailBytes < 2*size || !writable() {
		return
	}
	if err := r.write(size); err != nil {
		_ = r.fs.Remove(r.path()) // what there is of it is of no use
		r.log.Warn("reserve", fmt.Errorf("take the reserve: %w", err))
		return
	}
	r.held = true
	if r.tight.Swap(false) {
		r.log.Warnf("the disk has room again: the reserve of %d bytes is taken, and writes are accepted", size)
	}
}

// warnLocked logs once that the disk is nearly full, and when it is not any more.
func (r *Reserve) warnLocked(usage vfs.DiskUsage) {
	used := usage.TotalBytes - min(usage.AvailBytes, usage.TotalBytes)
	percent := used * 100 / usage.TotalBytes
	switch {
	case !r.warned && percent >= fullPercent:
		r.warned = true
		r.log.Warnf("the disk of %s is %d%% full: %d of %d bytes are free, and writes are refused when it is full",
			r.dir, percent, usage.AvailBytes, usage.TotalBytes)
	case r.warned && percent < easePercent:
		r.warned = false
		r.log.Warnf("the disk of %s is %d%% full now: %d of %d bytes are free", r.dir, percent, usage.AvailBytes, usage.TotalBytes)
	}
}

// write writes the file. Its bytes are random: a file system that compresses would keep less
// free for others.
func (r *Reserve) write(size uint64) error {
	f, err := r.fs.Create(r.path(), "vigil")
	if err != nil {
		return err
	}
	var seed [32]byte
	noise, block := rand.NewChaCha8(seed), make([]byte, 1<<20)
	for done := uint64(0); done < size && err == nil; done += uint64(len(block)) {
		_, _ = noise.Read(block) // which never fails
		_, err = f.Write(block[:min(uint64(len(block)), size-done)])
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return fence.SyncDir(r.fs, r.dir)
}
