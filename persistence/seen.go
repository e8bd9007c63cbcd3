package persistence

import "sync/atomic"

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

// seen has for each class the newest record that changed a key of it.
type seen struct {
	newest []uint64 // by class; each guarded by the lock of its shard
	// floor is the newest record that changed keys of every class: one that
	// remapped databases, or was written under another policy.
	floor atomic.Uint64
	// unsynced is more precise while the disk cannot be written; otherwise it is
	// nil.
	unsynced atomic.Pointer[unsyncedKeys]
}

// raise sets the floor to lsn at least.
func (n *seen) raise(lsn uint64) {
	for {
		old := n.floor.Load()
		if old >= lsn || n.floor.CompareAndSwap(old, lsn) {
			return
		}
	}
}

// keptMet is the number of classes for which a transaction keeps room between
// commands.
const keptMet = 1 << 10

// meetNothing is called by Lock.
func (tx *Tx) meetNothing() {
	tx.always = SyncPolicy(tx.s.sync.Load()) == SyncAlways
	tx.seen = 0
	if tx.met = tx.met[:0]; cap(tx.met) > keptMet {
		tx.met = nil
	}
}

// meet notes that the transaction reads a key. The lock of its shard is held.
func (tx *Tx) meet(hash uint64) {
	at := seenSlot(hash)
	tx.met = append(tx.met, at)
	lsn := tx.s.seen.newest[at]
	if lsn <= tx.seen {
		return
	}
	if d := tx.s.seen.unsynced.Load(); d == nil || !d.excludes(hash, lsn) {
		tx.seen = lsn
	}
}

// meetAll notes that the transaction reads whole databases.
func (tx *Tx) meetAll() {
	if tx.always {
		tx.seen = tx.s.journal.Newest()
	}
}

// Seen is the number of the newest record on which the keys that the transaction
// has read since Lock may depend, its own records not counted. Under other
// policies than SyncAlways, where no reply waits for it, it is 0.
func (tx *Tx) Seen() uint64 {
	if !tx.always || planted == hastyReader {
		return 0
	}
	return max(tx.seen, tx.s.seen.floor.Load()) | tx.time
}

// noteChanged notes that record lsn changed keys that the transaction has read
// since the previous record. The policy is asked after the record has its
// number: if it changes to SyncAlways later, SetSync raises the floor above
// that number.
func (tx *Tx) noteChanged(lsn uint64, everything bool) {
	switch {
	case SyncPolicy(tx.s.sync.Load()) != SyncAlways:
	case everything || !tx.always: // the keys were not noted
		tx.s.seen.raise(lsn)
	default:
		for _, at := range tx.met {
			tx.s.seen.newest[at] = lsn
		}
	}
	tx.met = tx.met[:0]
}

// noteEvicted is noteChanged for a key that was evicted. The lock of its shard is
// held. Expired keys need no note: after a crash they are expired again.
func (s *Store) noteEvicted(hash, lsn uint64) {
	if SyncPolicy(s.sync.Load()) == SyncAlways {
		s.seen.newest[seenSlot(hash)] = lsn
	}
}
