package commits

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/files"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/reserve"
	"github.com/vigildb/vigil/persistence/tasks"
)

// Passes are the passes of the writeback, which the replacement of Pebble waits for.
type Passes interface {
	Lock()
	Unlock()
	// Rebase goes on with another instance. It is called locked.
	Rebase(db *pebble.DB) error
	// Grown is told that the log has got longer.
	Grown()
}

// Pacer says how fast writers may go.
type Pacer interface {
	// Delay is how long a writer is to wait now.
	Delay() time.Duration
	// Hasten asks for what writers wait for.
	Hasten()
}

// Group is the group of the store.
type Group interface {
	// Pulled reports that the engine asks for what is journalled, and is told of the end of a round by Attend.
	Pulled() bool
	Attend()
	// AwaitForce waits until the log of the group has a record on the device, which is committed.
	AwaitForce(lsn uint64) error
}

// Operator is the log that an operator reads. Warn and Error leave out what was said of the same kind a short time ago.
type Operator interface {
	Debugf(format string, args ...any)
	Warnf(format string, args ...any)
	Errorf(format string, args ...any)
	Warn(kind string, err error)
	Error(kind string, err error)
}

// Config is what Commits work on. All of it belongs to the store.
type Config struct {
	Files    *files.Files
	Reserve  *reserve.Reserve
	Passes   Passes
	Pacer    Pacer
	Operator Operator
	Elapsed  func() time.Duration // by a clock that is never set
	Hash     func(key []byte) uint64
	LockAll  func() (unlock func()) // locks all shards
	Done     <-chan struct{}        // ends waits of writers
}

// Commits are what was recorded, and how far it has got.
type Commits struct {
	Config
	Journal journal.Journal
	Durable journal.Durability
	Length  journal.Log // of the journal on disk
	Seen    Seen

	group    Group // nil if the store is alone
	policy   atomic.Int32
	syncTime meanTime
	// work is the task that writes the journal; nil until the data is loaded.
	work atomic.Pointer[tasks.Work]
}

// Init prepares for records.
func (s *Commits) Init(c Config) {
	s.Config = c
	s.Journal.Init()
	s.Durable.Init()
	s.Seen.newest = make([]uint64, seenSlots)
}

// Join makes the store that of a member of a group.
func (s *Commits) Join(g Group) { s.group = g }

// Serve says that the data is loaded and records are moved by work.
func (s *Commits) Serve(work *tasks.Work) { s.work.Store(work) }

// Policy returns when the journal is forced to the device.
func (s *Commits) Policy() journal.SyncPolicy { return journal.SyncPolicy(s.policy.Load()) }

// SetPolicy changes that from the next record on.
func (s *Commits) SetPolicy(p journal.SyncPolicy) {
	s.policy.Store(int32(p))
	if p == journal.SyncAlways {
		s.Seen.Raise(s.Journal.Newest())
	}
	s.Journal.SetEager(p == journal.SyncAlways)
}

// WaitDurable waits until the record with this number, and all before it, are on
// the device, or in a group committed. Under SyncAlways the journal is on its way there
// already; under the other policies the call forces it. The error is that of the attempt
// that failed, and the record may or may not survive then.
func (s *Commits) WaitDurable(lsn uint64) error {
	if planted == skippedSync {
		return nil
	}
	return s.Durable.WaitSynced(lsn, s.Journal.SignalNow)
}

// NotifyDurable is WaitDurable for those that cannot wait: f is called with the error, once, at once or
// by another goroutine. It must not wait.
func (s *Commits) NotifyDurable(lsn uint64, f func(error)) {
	if planted == skippedSync {
		f(nil)
		return
	}
	s.Durable.NotifySynced(lsn, s.Journal.Signal, f)
}

// Confirmed reports whether WaitDurable would return at once, without an error.
func (s *Commits) Confirmed(lsn uint64) bool { return s.Durable.Confirmed(lsn) }

// Newest returns the position of the newest record.
func (s *Commits) Newest() uint64 { return s.Journal.Newest() | s.Durable.Time() }

// RequestSync asks for the journal up to a record to be forced to the device.
func (s *Commits) RequestSync(lsn uint64) {
	s.Durable.Request(lsn)
	s.Journal.Signal()
}

// AwaitRecord waits until a record is on the device, or in a group committed. The record has to be one that is not given up: in a
// group it is of the leadership of now.
func (s *Commits) AwaitRecord(lsn uint64) error {
	return s.Durable.WaitRecord(lsn, s.Journal.SignalNow)
}

// AwaitSync waits until the device has the journal up to a record: what is written to the
// object store must not be ahead of it. In a group it waits for the commit first.
func (s *Commits) AwaitSync(lsn uint64) error {
	if planted == hastyValues {
		return nil
	}
	if err := s.Durable.WaitRecord(lsn, s.Journal.SignalNow); err != nil {
		return err
	}
	if s.group == nil {
		return nil
	}
	return s.group.AwaitForce(lsn)
}

// Synced is the number of the last record that is on the device, or in a group committed.
func (s *Commits) Synced() uint64 { return s.Durable.Synced() }

// Unsynced is the number of changes that the device does not have, or in a group that are not committed.
func (s *Commits) Unsynced() uint64 {
	synced := s.Synced() // first: the newest is not behind it
	return s.Journal.Newest() - synced
}
