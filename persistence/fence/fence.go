// Package fence disconnects a database from its disk after a failure of that
// disk, as a cluster fences a node off.
//
// The one idea: after a failed write the contents of the disk are unknown, and a
// database that continues to write makes it worse. Pebble reacts by ending the
// process: depending on the file it panics, calls Fatalf, or retries endlessly,
// partly in goroutines of its own where a panic cannot be recovered. A fence hides
// such failures from it. The first operation that fails in the directory makes the
// fence fall: the disk stays as it is at this moment, exactly as if the process
// had been killed, and the database behind the fence continues in memory. Its
// writes and syncs succeed without effect, and tables that it writes from then on
// are kept in memory, so that it can still be read; these are not larger than its
// memtables were. The owner is notified first, trusts no success from then on, and
// reopens the directory, behind a new fence, when the disk works again. This
// relies only on recovery after a crash, which has to work and is tested anyway.
//
// It also corrects an order of operations in Pebble that is safe only on most file
// systems: the name of a new manifest is synced to the device before a marker
// refers to it, and an old marker is removed only when the new one is durable.
//
// Failures to read are passed on, and so is everything outside of the directory: a
// snapshot that cannot be written is no concern of the store's. Only the failed sync
// of a directory has to be asked for, with SyncError.
package fence

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrFallen is returned if a database behind a fallen fence has to give up what
// it is doing: a table that was begun on the disk, or a compaction.
var ErrFallen = errors.New("fence: cut off from the disk")

// ErrHeld is returned if a compaction has to give up a table because compactions are held.
var ErrHeld = errors.New("fence: compactions are held")

// heldTime is how long a held compaction waits before it gives up: it is begun again at once.
const heldTime = time.Second

// FS is a fenced directory of a file system. Its methods are safe for concurrent
// use.
type FS struct {
	vfs.FS // the disk
	dir    string

	// gate is held for reading by each operation that changes the disk: once it
	// can be locked after the fall, nothing changes it any more.
	gate     sync.RWMutex
	memory   *vfs.MemFS    // what is written after the fall, by base name
	opened   atomic.Bool   // see Opened
	released chan struct{} // closed by Release
	held     func() bool   // compactions are held; nil: never

	cause   atomic.Pointer[error] // why it has fallen
	changes atomic.Uint64

	mu struct {
		sync.Mutex
		told  func(error)         // is called when it falls
		fresh []string            // tables that no manifest on the disk can mention
		hold  bool                // removals are put off
		held  []string            // those that were
		stale []string            // markers to be removed when the directory is on the device
		open  map[vfs.File]string // the names of files

		unsynced map[string]error // by directory elsewhere
	}
}

// New fences the directory dir of inner.
func New(inner vfs.FS, dir string) *FS {
	f := &FS{FS: inner, dir: inner.PathJoin(dir), memory: vfs.NewMem(), released: make(chan struct{})}
	f.mu.open, f.mu.unsynced = map[vfs.File]string{}, map[string]error{}
	return f
}

// Err returns why the fence has fallen, nil while it stands.
func (f *FS) Err() error {
	if p := f.cause.Load(); p != nil {
		return *p
	}
	return nil
}

// Adopt sets the owner, which is notified when the fence falls, before the
// operation that failed returns. If it has fallen already, the error says why.
func (f *FS) Adopt(owner func(error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.told = owner
	return f.Err()
}

// Fall makes the fence fall, for a reason found elsewhere. Only the first one
// counts.
func (f *FS) Fall(cause error) {
	if !f.cause.CompareAndSwap(nil, &cause) {
		return
	}
	f.mu.Lock()
	told := f.mu.told
	f.mu.Unlock()
	if told != nil {
		told(cause)
	}
}

// Drain waits until a fallen fence's last operation on the disk is over: what
// was under way when it fell.
func (f *FS) Drain() {
	f.gate.Lock()
	defer f.gate.Unlock()
}

// Opened blocks compactions behind a fallen fence from now on: they would copy the
// disk into memory, and one that fails is begun again at once. Before that they fail,
// since a database that is being opened waits for them.
func (f *FS) Opened() { f.opened.Store(true) }

// Release ends the wait of compactions that are held up. The database is about to be
// closed.
func (f *FS) Release() { close(f.released) }

// HoldCompactions has compactions that write tables fail as long as held reports so: they would take the
// last room of a disk. Those that only delete tables go on. It is called before the database is opened.
func (f *FS) HoldCompactions(held func() bool) { f.held = held }

// holds reports whether a table is one of a compaction that is held, after a while.
func (f *FS) holds(name string, category vfs.DiskWriteCategory) bool {
	if f.held == nil || !isTable(name) || category != compaction || f.Err() != nil || !f.held() {
		return false
	}
	if f.opened.Load() {
		wait := time.NewTimer(heldTime)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-f.released:
		}
	}
	return true
}

// Changes counts the operations that have changed the disk, which distinguishes
// a slow disk from one that hangs.
func (f *FS) Changes() uint64 { return f.changes.Load() }

// HoldRemovals postpones the removal of files until Settle: another instance
// still reads them.
func (f *FS) HoldRemovals() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.hold = true
}

// Settle performs the postponed removals. A file that cannot be removed is
// found by the next opening.
func (f *FS) Settle() {
	f.mu.Lock()
	held := f.mu.held
	f.mu.held, f.mu.hold = nil, false
	f.mu.Unlock()
	for _, name := range held {
		if f.Err() == nil {
			_ = f.FS.Remove(name)
		}
	}
}

// Discard removes the tables of a database that is discarded: it could not be
// opened, and what it takes of a full disk the next attempt needs.
func (f *FS) Discard() {
	f.Drain()
	f.mu.Lock()
	fresh := f.mu.fresh
	f.mu.fresh = nil
	f.mu.Unlock()
	for _, name := range fresh {
		_ = f.FS.Remove(name)
	}
}

// CloseFiles closes what is still open in a directory, and the directory: Pebble
// forgets some of the files that it could not read or write.
func (f *FS) CloseFiles(dir string) {
	dir = f.PathJoin(dir)
	f.mu.Lock()
	defer f.mu.Unlock()
	for inner, name := range f.mu.open {
		if f.PathJoin(name) == dir || f.PathDir(name) == dir {
			_ = inner.Close()
			delete(f.mu.open, inner)
		}
	}
}

// SyncError returns, once, why the sync of a directory elsewhere, or of one that it
// is in, has failed.
func (f *FS) SyncError(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for name, err := range f.mu.unsynced {
		if strings.HasPrefix(f.PathJoin(dir), f.PathJoin(name)) {
			errs = append(errs, fmt.Errorf("sync %s: %w", name, err))
			delete(f.mu.unsynced, name)
		}
	}
	return errors.Join(errs...)
}

// remember notes a file that is open.
func (f *FS) remember(inner vfs.File, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.open[inner] = name
}

func (f *FS) closed(inner vfs.File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.mu.open, inner)
}

// enter lets an operation through to the disk, unless the fence has fallen. If
// it returns true, leave must be called.
func (f *FS) enter() bool {
	f.gate.RLock()
	if f.cause.Load() != nil {
		f.gate.RUnlock()
		return false
	}
	return true
}

// leave ends an operation on the disk and makes the fence fall if it failed. The
// gate stays closed until the owner knows.
func (f *FS) leave(op, name string, err error) {
	defer f.gate.RUnlock()
	f.changes.Add(1)
	if err != nil {
		f.Fall(fmt.Errorf("%s %s: %w", op, f.PathBase(name), err))
	}
}

// inside reports whether a file is in the directory, or is the directory.
func (f *FS) inside(name string) bool {
	return f.PathJoin(name) == f.dir || f.PathDir(name) == f.dir
}

// kept is the name that a file has in memory.
func (f *FS) kept(name string) string { return "/" + f.PathBase(name) }

func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }

// compaction is the category of the tables that compactions write.
const compaction = "pebble-compaction"

// isMarker is for the files whose names say which manifest and format are
// current.
func isMarker(base string) bool { return strings.HasPrefix(base, "marker.") }

func isManifest(base string) bool { return strings.HasPrefix(base, "MANIFEST-") }

// note remembers that a table was made, until a manifest could mention it.
func (f *FS) note(name string) {
	if !isTable(name) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.fresh = append(f.mu.fresh, name)
}

// mentioned forgets the tables that may be in the manifest from now on.
func (f *FS) mentioned() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.fresh = nil
}
