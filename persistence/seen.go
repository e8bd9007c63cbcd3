package persistence

import "sync/atomic"

// Under SyncAlways a reply must not tell of anything that a crash can undo: the
// reply of a read waits for the newest record of the keys that it met, as that of
// a write waits for its own. Absent keys count, for their deletion is a record
// too, and so do keys that a command looked at and left alone.
//
// The newest record is not kept for each key but for each of seenSlots classes of
// hashes: two keys of one class wait for each other's records, which are on their
// way to the device anyhow. A class lies within one shard, whose lock guards it.

// seenSlots is the number of classes: 512 KiB, so few that they stay in cache and
// so many that keys seldom meet.
const (
	seenBits  = 16
	seenSlots = 1 << seenBits
)

func seenSlot(hash uint64) uint16 { return uint16(hash >> (64 - seenBits)) }

// seen tells for each class the newest record that changed a key of it.
type seen struct {
	newest []uint64 // by class; each guarded by the lock of its shard
	// floor is the newest record that changed keys of every class: one that gave
	// databases other contents, or was made while another policy was in force.
	floor atomic.Uint64
	// doubt tells more exactly while the disk cannot be written; else it is nil.
	doubt atomic.Pointer[doubt]
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

// keptMet is how many classes a transaction keeps room for between commands.
const keptMet = 1 << 10

// meetNothing begins with Lock.
func (tx *Tx) meetNothing() {
	tx.always = SyncPolicy(tx.s.sync.Load()) == SyncAlways
	tx.seen = 0
	if tx.met = tx.met[:0]; cap(tx.met) > keptMet {
		tx.met = nil
	}
}

// meet notes that the transaction looks at a key. The lock of its shard is held.
func (tx *Tx) meet(hash uint64) {
	at := seenSlot(hash)
	tx.met = append(tx.met, at)
	lsn := tx.s.seen.newest[at]
	if lsn <= tx.seen {
		return
	}
	if d := tx.s.seen.doubt.Load(); d == nil || !d.excludes(hash, lsn) {
		tx.seen = lsn
	}
}

// meetAll notes that the transaction looks at whole databases.
func (tx *Tx) meetAll() {
	if tx.always {
		tx.seen = tx.s.journal.Newest()
	}
}

// Seen is the number of the newest record that what the transaction has looked at
// since Lock may depend on, its own records apart. Under another policy than
// SyncAlways, where nobody waits for it, it is 0.
func (tx *Tx) Seen() uint64 {
	if !tx.always || planted == hastyReader {
		return 0
	}
	return max(tx.seen, tx.s.seen.floor.Load())
}

// noteChanged tells that record lsn changed keys that the transaction met since
// the record before. The policy is asked after the record has its number: if it
// changes to SyncAlways later, SetSync raises the floor above that number.
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
// held. Of expired keys no note is taken: after a crash they are expired again.
func (s *Store) noteEvicted(hash, lsn uint64) {
	if SyncPolicy(s.sync.Load()) == SyncAlways {
		s.seen.newest[seenSlot(hash)] = lsn
	}
}
