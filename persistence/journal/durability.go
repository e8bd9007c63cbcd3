package journal

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"
)

// ErrClosed is returned by calls that need the disk after the store was closed.
var ErrClosed = errors.New("persistence: store is closed")

// ErrAbandoned is returned for records that were given up.
var ErrAbandoned = errors.New("journal: the record was given up")

// Durability is up to which record the device has them. Init must be called before anything else.
//
// Where records can be given up, their numbers are used again. So what waits for one
// does so by its position, which has the number in its lower bits and above them which
// time it was given. The earlier of two times is the greater number: the greatest of
// some positions is reached only if all are.
type Durability struct {
	time   atomic.Uint64 // upper bits of positions; 0 if no record can be given up
	mu     sync.Mutex
	moved  sync.Cond // broadcast when anything below changes
	synced uint64    // last record that is on the device
	force  uint64    // up to which records are awaited
	err    error     // why the last attempt failed
	closed error     // why none will come, nil as long as some may
	calls  []call    // that are due when a position is reached, or is not to be

	failed atomic.Bool // err is set: read by every write
}

// call is what NotifySynced was asked for.
type call struct {
	position uint64
	f        func(error)
	err      error // for f, when it is due
}

// Init makes the zero value ready for use.
func (d *Durability) Init() { d.moved.L = &d.mu }

const (
	numberBits = 48
	numberMask = 1<<numberBits - 1
)

// Record returns the number of the record at a position.
func Record(position uint64) uint64 { return position & numberMask }

// Branch makes the zero value ready for records that can be given up.
func (d *Durability) Branch() {
	d.Init()
	d.time.Store(^uint64(numberMask))
}

// Time is the upper bits of the positions of records made now.
func (d *Durability) Time() uint64 { return d.time.Load() }

// Abandon gives up the records that are not synced, after Branch: their positions are
// not reached any more, and whatever waits for them gets ErrAbandoned. There are 65,534
// times before a position is used again.
func (d *Durability) Abandon() {
	d.mu.Lock()
	if next := d.time.Load() - 1<<numberBits; next != 0 {
		d.time.Store(next)
	} else {
		d.time.Store(^uint64(numberMask))
	}
	d.force = 0
	d.unlockMoved()
}

// Restart is Abandon for all records, also those that are synced: their numbers begin anew.
func (d *Durability) Restart() {
	d.mu.Lock()
	d.synced = 0
	d.setLocked(nil)
	d.mu.Unlock()
	d.Abandon()
}

// Confirmed reports whether the record at a position is on the device.
func (d *Durability) Confirmed(position uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.currently(position) && d.reachedLocked(position)
}

// reachedLocked reports that the device has a record with the number of a position, be it of now or not.
func (d *Durability) reachedLocked(position uint64) bool { return Record(position) <= d.synced }

// currently reports that a position is of now, or that of no record.
func (d *Durability) currently(position uint64) bool {
	return position == 0 || position&^numberMask == d.time.Load()
}

// Advance records that the records up to one are on the device. It ends a failure.
func (d *Durability) Advance(synced uint64) {
	d.mu.Lock()
	d.synced = max(d.synced, synced)
	d.setLocked(nil)
	d.unlockMoved()
}

// Recover ends a failure.
func (d *Durability) Recover() {
	if d.failed.Load() {
		d.Advance(0)
	}
}

// unlockMoved unlocks mu after a change, and tells of it whoever waits.
func (d *Durability) unlockMoved() {
	var room [4]call // enough for most: a loop has one call at a time
	due, rest := room[:0], d.calls[:0]
	for _, c := range d.calls {
		if over, err := d.endLocked(c.position); over {
			c.err = err
			due = append(due, c)
		} else {
			rest = append(rest, c)
		}
	}
	clear(d.calls[len(rest):])
	d.calls = rest
	d.mu.Unlock()
	d.moved.Broadcast()
	for _, c := range due {
		c.f(c.err)
	}
}

// endLocked reports whether a wait for a position is over, and with which error.
func (d *Durability) endLocked(position uint64) (over bool, err error) {
	switch {
	case !d.currently(position):
		return true, ErrAbandoned
	case d.reachedLocked(position):
		return true, nil
	}
	err = d.failureLocked()
	return err != nil, err
}

// failureLocked returns why nothing more is reached now, nil if that is not so.
func (d *Durability) failureLocked() error { return cmp.Or(d.err, d.closed) }

func (d *Durability) setLocked(err error) {
	d.err = err
	d.failed.Store(err != nil)
}

// Fail records that an attempt to write or to sync failed: waiting goroutines
// get the error.
func (d *Durability) Fail(err error) {
	d.mu.Lock()
	d.setLocked(err)
	d.unlockMoved()
}

// Close records that no record will be written any more: waiting goroutines
// get the error.
func (d *Durability) Close(err error) {
	d.mu.Lock()
	d.closed = err
	d.unlockMoved()
}

// Due reports whether records are awaited.
func (d *Durability) Due() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.force > d.synced
}

// WaitSynced waits until records up to a position are on the device. If they are not
// yet, it calls wake, which must not call d. It returns the error of an attempt that
// failed, or Close's, or ErrAbandoned.
func (d *Durability) WaitSynced(position uint64, wake func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forceLocked(position, wake)
	for {
		if over, err := d.endLocked(position); over {
			return err
		}
		d.moved.Wait()
	}
}

// NotifySynced is WaitSynced for those that cannot wait: f is called with the error, once. That
// may be before it returns, and by any goroutine that tells d of something. f must not wait.
func (d *Durability) NotifySynced(position uint64, wake func(), f func(error)) {
	d.mu.Lock()
	d.forceLocked(position, wake)
	over, err := d.endLocked(position)
	if !over {
		d.calls = append(d.calls, call{position: position, f: f})
	}
	d.mu.Unlock()
	if over {
		f(err)
	}
}

// forceLocked has Due report that a position is awaited, and calls wake, unless the position is reached or
// never will be.
func (d *Durability) forceLocked(position uint64, wake func()) {
	if d.currently(position) && !d.reachedLocked(position) {
		d.force = max(d.force, Record(position))
		wake()
	}
}

// WaitRecord is WaitSynced for a record by its number, whatever it is the number of by then.
func (d *Durability) WaitRecord(lsn uint64, wake func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.synced >= lsn {
		return nil
	}
	d.force = max(d.force, lsn)
	for wake(); d.synced < lsn; d.moved.Wait() {
		if err := d.failureLocked(); err != nil {
			return err
		}
	}
	return nil
}

// Request has Due report that records up to lsn are awaited, and does not wait.
func (d *Durability) Request(lsn uint64) {
	d.mu.Lock()
	d.force = max(d.force, lsn)
	d.mu.Unlock()
}

// Synced returns the number of the last record that is on the device.
func (d *Durability) Synced() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.synced
}

// Resume records, before anything else happens, that records up to lsn are on
// the device.
func (d *Durability) Resume(lsn uint64) { d.synced = lsn }

// Err returns why the last attempt failed, nil if it did not. Without a failure it
// takes no lock.
func (d *Durability) Err() error {
	if !d.failed.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}
