package commits

import (
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/journal"
)

// Under SyncAlways a reply must not show anything that a crash can undo: the
// reply of a read waits for the newest record of the keys that it has read, as
// the reply of a write waits for its own record. Absent keys count, because their
// deletion is a record too, and so do keys that a command read and did not
// change.
//
// The newest record is not stored for each key but for each of seenSlots classes
// of hashes: two keys of one class wait for each other's records, which are being
// written to the device anyway. A class belongs to one shard, whose lock guards
// it.

// seenSlots is the number of classes: 512 KiB, few enough to stay in cache and
// many enough that two keys are rarely in the same class.
const (
	seenBits  = 16
	seenSlots = 1 << seenBits
)

func seenSlot(hash uint64) uint16 { return uint16(hash >> (64 - seenBits)) }

// Seen has for each class the newest record that changed a key of it.
type Seen struct {
	newest []uint64 // by class; each guarded by the lock of its shard
	// floor is the newest record that changed keys of every class: one that
	// remapped databases, or was written under another policy.
	floor atomic.Uint64
	// unsynced is more precise while the disk cannot be written; otherwise it is
	// nil.
	unsynced atomic.Pointer[unsyncedKeys]
}

// Raise sets the floor to lsn at least.
func (n *Seen) Raise(lsn uint64) {
	for {
		old := n.floor.Load()
		if old >= lsn || n.floor.CompareAndSwap(old, lsn) {
			return
		}
	}
}

// Forget forgets all records: their numbers are known no more. All shards are locked.
func (n *Seen) Forget() {
	clear(n.newest)
	n.floor.Store(0)
}

// keptClasses is the number of classes for which Reads keep room between
// commands.
const keptClasses = 1 << 10

// Reads are the reads of a transaction that its replies have to wait for.
type Reads struct {
	Always bool // SyncAlways was in force at Begin: Key is to be called

	of      *Commits
	newest  uint64   // record of the keys read since Begin
	classes []uint16 // of the keys read since the last record
}

// Reads returns those of a new transaction.
func (s *Commits) Reads() Reads { return Reads{of: s} }

// Begin forgets what was read.
func (r *Reads) Begin() {
	r.Always = r.of.Policy() == journal.SyncAlways
	r.newest = 0
	if r.classes = r.classes[:0]; cap(r.classes) > keptClasses {
		r.classes = nil
	}
}

// Key notes that a key is read. The lock of its shard is held.
func (r *Reads) Key(hash uint64) {
	at := seenSlot(hash)
	r.classes = append(r.classes, at)
	lsn := r.of.Seen.newest[at]
	if lsn <= r.newest {
		return
	}
	if d := r.of.Seen.unsynced.Load(); d == nil || !d.excludes(hash, lsn) {
		r.newest = lsn
	}
}

// All notes that whole databases are read.
func (r *Reads) All() {
	if r.Always {
		r.newest = r.of.Journal.Newest()
	}
}

// Newest is the number of the newest record on which the keys that were read since Begin may depend, those of the transaction
// not counted. ok is false under other policies than SyncAlways, where no reply waits for it.
func (r *Reads) Newest() (lsn uint64, ok bool) {
	if !r.Always || planted == hastyReader {
		return 0, false
	}
	return max(r.newest, r.of.Seen.floor.Load()), true
}

// Changed notes that record lsn changed keys that were read since the
// previous record. The policy is asked after the record has its
// number: if it changes to SyncAlways later, SetPolicy raises the floor above
// that number.
func (r *Reads) Changed(lsn uint64, everything bool) {
	switch {
	case r.of.Policy() != journal.SyncAlways:
	case everything || !r.Always: // the keys were not noted
		r.of.Seen.Raise(lsn)
	default:
		for _, at := range r.classes {
			r.of.Seen.newest[at] = lsn
		}
	}
	r.classes = r.classes[:0]
}

// Evicted is Reads.Changed for a key that was evicted. The lock of its shard is
// held. Expired keys need no note: after a crash they are expired again.
func (s *Commits) Evicted(hash, lsn uint64) {
	if s.Policy() == journal.SyncAlways {
		s.Seen.newest[seenSlot(hash)] = lsn
	}
}
