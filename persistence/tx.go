package persistence

import (
	"math"

	"github.com/vigildb/vigil/persistence/commits"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/slots"
)

// Shards is a set of shards. The zero value is empty.
type Shards = keyspace.Shards

// Tx reads and changes keys whose shards it holds. A client has one and uses it
// for all its commands:
//
//	tx.Lock(&shards, now); tx.Select(db); ...; lsn := tx.Commit(); tx.Unlock()
//
// Reading an expired key deletes it, so readers commit too. A Tx is not safe for
// concurrent use. Touching a key whose shard is not locked panics.
type Tx struct {
	// OnChange, if set, is called for each key that changes, under the locks.
	// key is valid only during the call.
	OnChange func(db int, key []byte)
	// NoTouch keeps reads from refreshing the time of last use.
	NoTouch bool
	// KeepExpired makes expired keys look absent without deleting them, for
	// commands that only read while nothing may change (CLIENT PAUSE). Under it
	// no key may be made.
	KeepExpired bool

	s      *Store
	db     int
	now    int64
	locked Shards
	long   bool // see LockLong

	expected  []keyHash // of the keys that the call names
	lastFound int       // in expected

	rec     record
	changed bool             // rec holds more than expiries
	growing bool             // rec changes a large value
	large   bool             // the last record changed one
	flushed []uint32         // physical databases that lost their name in rec
	open    []*keyspace.Edit // edits since the last Commit
	spare   []*keyspace.Edit
	placer  slots.Placer

	follows bool   // the store is a member that does not lead
	keeps   bool   // a master decides what expires
	time    uint64 // upper bits of positions, see journal.Durability

	reads commits.Reads
}

// NewTx returns a transaction that holds nothing.
func (s *Store) NewTx() *Tx {
	return &Tx{s: s, rec: record{s: s}, reads: s.commits.Reads(), placer: slots.New(&s.keyspace, &s.writer, &s.uses, operatorLog{s}.unreadable, s.seed())}
}

// Lock locks the shards in set. now, unix time in ms, is the time for every
// expiry until Unlock. It returns false, and nothing is locked, if a long transaction
// has one of the shards and is overdue.
func (tx *Tx) Lock(set *Shards, now int64) bool {
	if !tx.take(set, false) {
		return false
	}
	tx.startAt(now)
	return true
}

// take locks the shards in set when memory is sound. It returns false if a long transaction
// has one of them and is overdue; a patient caller waits for its end.
func (tx *Tx) take(set *Shards, patient bool) bool {
	for tx.s.keyspace.Lock(set, patient) {
		if tx.s.keyspace.Tear.Sound() {
			tx.locked = *set
			return true
		}
		tx.s.keyspace.Release(set)
		tx.s.keyspace.Tear.Wait()
	}
	return false
}

// startAt prepares for reading and writing at a time.
func (tx *Tx) startAt(now int64) {
	tx.now = now
	tx.reads.Begin()
	tx.placer.Clock = tx.s.uses.ClockAt(now)
	tx.keeps = tx.s.following.Load()
	tx.placer.Err = tx.s.keyspace.Tear.Failure()
	tx.enter()
}

// enter notes how the member is of a group when the transaction begins.
func (tx *Tx) enter() {
	if m := tx.s.member; m != nil {
		tx.follows, tx.time = m.Follows(), tx.s.commits.Durable.Time()
		if err := m.Broken(); err != nil {
			tx.placer.Err = err
		}
	}
}

// Writable reports whether the transaction may change anything, which one of a member
// that does not lead its group may not: Commit panics then.
func (tx *Tx) Writable() bool { return !tx.follows }

// Holds reports whether the shard of a key is locked.
func (tx *Tx) Holds(key []byte) bool { return tx.locked.Has(tx.hash(key)) }

// Unlock releases the shards. It panics if there are changes that Commit has not
// sealed; keys that were only found to be expired are sealed by it.
func (tx *Tx) Unlock() {
	if tx.changed || len(tx.open) > 0 {
		panic("persistence: Unlock with uncommitted changes")
	}
	if tx.rec.Len() > 0 {
		tx.Commit()
	}
	tx.placer.Compact()
	tx.placer.Err = nil
	tx.forgetHashes()
	set := tx.locked
	tx.locked = Shards{}
	if tx.long {
		tx.long = false
		tx.s.keyspace.EndLong(&set)
		return
	}
	tx.s.keyspace.Unlock(&set)
}

// SeeExpired makes expired keys visible until end is called.
func (tx *Tx) SeeExpired() (end func()) {
	now := tx.now
	tx.now = math.MinInt64
	return func() { tx.now = now }
}

// CountExpiredFields adds fields to Stats.ExpiredFields that the caller has deleted since
// their time had come.
func (tx *Tx) CountExpiredFields(n int) { tx.s.stats.expiredFields.Add(int64(n)) }

// Select makes db the logical database of the calls that follow.
func (tx *Tx) Select(db int) { tx.db = db }

// in selects a database until back is called.
func (tx *Tx) in(db int) (back func()) {
	from := tx.db
	tx.db = db
	return func() { tx.db = from }
}

// DB is the selected database.
func (tx *Tx) DB() int { return tx.db }

// Now is the time given to Lock.
func (tx *Tx) Now() int64 { return tx.now }

// Err returns the first failure to read the disk since Lock or Commit. From then
// on all keys are reported as missing and nothing changes any more: a write in
// place of a value that cannot be read would destroy it. The caller returns an
// error instead of the reply.
func (tx *Tx) Err() error { return tx.placer.Err }

// maxKeptRecord is the memory a Tx keeps for records between commands.
const maxKeptRecord = 64 << 10

// Commit seals what changed since the last Commit into one record and returns its
// number, for WaitDurable and Confirmed, or 0 if the only changes are the deletions of expired keys: these are
// expired after a crash too, so no reply has to wait for the record. Edited values
// that became empty are removed. The locks stay held.
func (tx *Tx) Commit() (lsn uint64) {
	tx.seal()
	changed := tx.changed
	tx.large, tx.growing = tx.growing, false
	tx.placer.Err = tx.s.keyspace.Tear.Failure()
	tx.changed, tx.rec.hasLast = false, false
	tx.rec.arrival()
	if tx.rec.Len() == 0 {
		return 0
	}
	if tx.follows {
		panic("persistence: change by a member that does not lead")
	}
	flags := byte(0)
	if tx.rec.apart {
		flags, tx.rec.apart = format.ChunkApart, false
	}
	lsn = tx.rec.append(flags)
	tx.rec.arrived(lsn)
	if changed {
		tx.reads.Changed(lsn, flags&format.ChunkApart != 0)
	}
	if len(tx.flushed) > 0 {
		tx.s.purger.Databases(tx.flushed, lsn)
		tx.flushed = tx.flushed[:0]
	}
	tx.rec.Reset(maxKeptRecord)
	if !changed {
		return 0
	}
	return lsn | tx.time
}

// Seen is the position of the newest record on which the keys that the transaction
// has read since Lock may depend, its own records not counted. Under other
// policies than SyncAlways, where no reply waits for it, it is 0.
func (tx *Tx) Seen() uint64 {
	lsn, ok := tx.reads.Newest()
	if !ok {
		return 0
	}
	return lsn | tx.time
}

// Heavy reports that the client of the last record is to wait until it is on the device. It was so big
// that one client alone could make what waits for the disk any amount, or the death of the process
// would take it: the tail had no room for it, or for one before it.
func (tx *Tx) Heavy() bool { return tx.rec.heavy }

// RecordBytes is the length of the record so far.
func (tx *Tx) RecordBytes() int { return tx.rec.size() }

// Large reports that the last record changed a large value, whose client is to wait if
// that is done faster than the disk takes it: see [Store.Pace].
func (tx *Tx) Large() bool { return tx.large }

// locate returns the table of key and its slot: a live key, a tombstone, or -1
// if there is nothing in memory or on disk. An expired key is deleted first,
// and so is an edited value that became empty.
func (tx *Tx) locate(hash uint64, key []byte) (*keyspace.Table, int) {
	if !tx.locked.Has(hash) {
		panic("persistence: key used without the lock of its shard")
	}
	if tx.reads.Always {
		tx.reads.Key(hash)
	}
	t := tx.s.keyspace.Table(format.ShardOf(hash), tx.db)
	i := t.Find(hash, key)
	if tx.placer.Err != nil {
		return t, -1
	}
	if i < 0 {
		if t.Resident {
			return t, -1
		}
		var err error
		if _, i, err = tx.s.heads.Fault(t, hash, key, tx.placer.Fresh()); err != nil {
			tx.placer.Fail(err)
		}
		if i < 0 {
			return t, -1
		}
	}
	meta := t.Meta(i)
	if meta&(keyspace.HasExpiry|keyspace.IsObject) == 0 {
		return t, i
	}
	if meta&keyspace.HasExpiry != 0 && t.Expire(meta) <= tx.now {
		if tx.KeepsExpired() {
			return t, -1
		}
		return t, tx.expired(t, i, hash, key)
	}
	if o := t.Object(meta); o != nil && o.Edit != nil && o.Edit.Recorded() {
		if tx.settle(o.Edit) {
			return t, t.Find(hash, key)
		}
	}
	return t, i
}

// find is locate for callers that want live keys only.
func (tx *Tx) find(hash uint64, key []byte) (t *keyspace.Table, i int, ok bool) {
	t, i = tx.locate(hash, key)
	if i < 0 {
		return t, i, false
	}
	meta := t.Meta(i)
	if meta&keyspace.Tombstone != 0 {
		return t, i, false
	}
	if meta&keyspace.IsObject != 0 {
		if e := t.Object(meta).Edit; e != nil && e.Fresh && !e.Recorded() {
			return t, i, false
		}
	}
	return t, i, true
}

// readAt is find for commands that use the value.
func (tx *Tx) readAt(hash uint64, key []byte) (t *keyspace.Table, i int, ok bool) {
	t, i, ok = tx.find(hash, key)
	if ok && !tx.NoTouch && !tx.s.uses.LRM.Load() {
		tx.placer.Touch(t, i)
	}
	return t, i, ok
}

// expired deletes the expired key at slot i, and returns its slot after that: a
// tombstone or -1.
func (tx *Tx) expired(t *keyspace.Table, i int, hash uint64, key []byte) int {
	if o := t.Object(t.Meta(i)); o != nil && o.Edit != nil {
		tx.settle(o.Edit)
		if i = t.Find(hash, key); i < 0 || t.Meta(i)&keyspace.Tombstone != 0 {
			return i
		}
	}
	tx.rec.about(t, key)
	tx.rec.Op(format.OpDelete, 0)
	t.Detach(i)
	t.Erase(i)
	tx.s.stats.expired.Add(1)
	tx.s.opts.event(EventExpired, tx.db, key)
	if tx.OnChange != nil {
		tx.OnChange(tx.db, key)
	}
	return t.Find(hash, key)
}

// note records that the caller changed key.
func (tx *Tx) note(key []byte) {
	tx.changed = true
	if tx.OnChange != nil {
		tx.OnChange(tx.db, key)
	}
}
