package lsm

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/fence"
)

// Disk is the instance of Pebble in use with its fence. After a failure another one replaces it.
type Disk struct {
	// DB is replaced by Replace, with all locks held under which it is used: a caller that has no lock of
	// that kind takes RLock.
	DB    *pebble.DB
	mu    sync.RWMutex
	fence atomic.Pointer[fence.FS] // between DB and the disk
	lag   lag
	done  <-chan struct{}
}

// Init prepares for use until done is closed.
func (d *Disk) Init(done <-chan struct{}) {
	d.lag.ended, d.done = make(chan struct{}, 1), done
}

// Fence returns the fence of the instance.
func (d *Disk) Fence() *fence.FS { return d.fence.Load() }

// SetFence makes f the fence of an instance that is about to be opened.
func (d *Disk) SetFence(f *fence.FS) { d.fence.Store(f) }

// RLock keeps the instance from being replaced.
func (d *Disk) RLock() { d.mu.RLock() }

// RUnlock ends RLock.
func (d *Disk) RUnlock() { d.mu.RUnlock() }

// Replace replaces the instance, while lock has locked what its other users have, and returns the former one. There
// are no readers meanwhile.
func (d *Disk) Replace(db *pebble.DB, f *fence.FS, lock func() (unlock func())) (former *pebble.DB) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer lock()()
	former, d.DB = d.DB, db
	d.fence.Store(f)
	return former
}

// Err returns why the instance no longer writes. Callers look at it after a write, because behind a
// fallen fence every write succeeds.
func (d *Disk) Err() error { return d.fence.Load().Err() }

// Change calls do, which changes something. It returns an error if the instance did not write it.
func (d *Disk) Change(do func(db *pebble.DB) error) error {
	f := d.fence.Load()
	if err := f.Err(); err != nil {
		return err
	}
	return errors.Join(Guard(f, func() error { return do(d.DB) }), f.Err())
}

// Apply commits a batch and closes it. The batch cannot be used again if that
// fails.
func (d *Disk) Apply(b *pebble.Batch, mode *pebble.WriteOptions) error {
	if err := d.Err(); err != nil {
		return err
	}
	d.Pace()
	if err := d.Change(func(*pebble.DB) error { return b.Commit(mode) }); err != nil {
		return err
	}
	return b.Close()
}

// SyncLog forces Pebble's log to the device.
func (d *Disk) SyncLog() error {
	return d.Change(func(db *pebble.DB) error { return db.LogData(nil, pebble.Sync) })
}

// Flush makes Pebble write what it holds in memory to tables; flushed is closed
// when it has.
func (d *Disk) Flush() (flushed <-chan struct{}, err error) {
	err = d.Change(func(db *pebble.DB) (err error) {
		flushed, err = db.AsyncFlush()
		return err
	})
	return flushed, err
}

// lag is the compaction lag.
type lag struct {
	flushed atomic.Bool   // there may be more to compact than at the last look
	ended   chan struct{} // capacity 1: one token says that a compaction ended
}

const (
	// lagBound is the number of sorted runs in level 0, each of which every read
	// has to look into, from which writes wait for compactions.
	lagBound = 32
	// lagWait is how long one batch waits at most.
	lagWait = time.Second
)

// Flushed notes that a flush has ended.
func (d *Disk) Flushed() { d.lag.flushed.Store(true) }

// Compacted notes that a compaction has ended.
func (d *Disk) Compacted() {
	select {
	case d.lag.ended <- struct{}{}:
	default:
	}
}

// Pace makes a batch wait for compactions that lag behind. Pebble's own way
// waits within the commit until they have caught up, which they never do on a
// disk that has become full or unreadable.
func (d *Disk) Pace() {
	if !d.lag.flushed.Swap(false) || d.DB.Metrics().Levels[0].Sublevels < lagBound {
		return
	}
	d.lag.flushed.Store(true)
	wait := time.NewTimer(lagWait)
	defer wait.Stop()
	select {
	case <-d.lag.ended:
	case <-wait.C:
	case <-d.done:
	}
}
