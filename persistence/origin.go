package persistence

import (
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/format"
)

// A store can have the data of a master that sends its changes as a stream. What was applied of that is said in the
// records that have the effects, so that it is neither ahead of them nor behind after a crash; the meta says it of the records
// that were cut off the journal.

// Replicated says whose data a store has; see [format.Replicated].
type Replicated = format.Replicated

// origin is whose data the store has.
type origin struct {
	mu  sync.Mutex
	now Replicated // guarded by mu
	lsn uint64     // record that says so; guarded by mu

	incomplete atomic.Bool // now is Incomplete()
}

// Incomplete is said of the data of a group while that of a master goes into it; see [format.Incomplete].
func Incomplete() Replicated { return format.Incomplete() }

// Incomplete reports that the store has a part of a master's data, which nobody may see.
func (s *Store) Incomplete() bool { return s.origin.incomplete.Load() }

// Replicated returns whose data the store has.
func (s *Store) Replicated() Replicated {
	r, _ := s.origin.get()
	return r
}

// ReplicatedAt is Replicated with the record that says so; 0: none.
func (s *Store) ReplicatedAt() (r Replicated, lsn uint64) { return s.origin.get() }

func (o *origin) get() (r Replicated, lsn uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now, o.lsn
}

func (o *origin) set(r Replicated, lsn uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.setLocked(r, lsn)
}

func (o *origin) setLocked(r Replicated, lsn uint64) {
	o.now, o.lsn = r, lsn
	o.incomplete.Store(r == Incomplete())
}

// arrival is where the record under construction leads to, if it says so.
type arrival struct {
	said   bool
	offset int64
	db     int
	whole  *Replicated // all of it; nil: the rest is as before
}

// Arrived says that the data is what the stream makes of it up to an offset, behind which the database db is selected. It is
// recorded if something changes until the next Commit, which is at once if anything else was changed.
func (tx *Tx) Arrived(offset int64, db int) {
	tx.rec.arrives = arrival{said: true, offset: offset, db: db}
}

// SetReplicated says whose data this is from the next Commit on.
func (tx *Tx) SetReplicated(r Replicated) {
	if tx.placer.Err != nil {
		return
	}
	tx.rec.arrives, tx.changed = arrival{said: true, whole: &r}, true
}

// arrival adds to the record where it leads to.
func (r *record) arrival() {
	a := &r.arrives
	switch {
	case !a.said:
	case a.whole != nil:
		format.RecordReplicated(&r.Change, a.whole)
	case r.Len() > 0:
		format.RecordOffset(&r.Change, a.offset, a.db)
	default:
		a.said = false
	}
}

// arrived notes where the record that was appended leads to. The shards are still locked, so that a transaction that locked all of them
// one after the other knows it of all records before.
func (r *record) arrived(lsn uint64) {
	a := &r.arrives
	if !a.said {
		return
	}
	o := &r.s.origin
	o.mu.Lock()
	defer o.mu.Unlock()
	next := o.now
	if a.whole != nil {
		next = *a.whole
	} else {
		next.Offset, next.DB = a.offset, a.db
	}
	o.setLocked(next, lsn)
	*a = arrival{}
}

// SetFollowing says whether a master decides what expires: what is over then only looks absent, and stays until the master deletes
// it. Nothing is evicted either.
func (s *Store) SetFollowing(follows bool) { s.following.Store(follows) }

// keepsExpired reports whether another server decides what expires.
func (s *Store) keepsExpired() bool { return s.following.Load() || s.member.Follows() }

// KeepsExpired reports whether keys, and parts of values, that are over look absent and are not deleted.
func (tx *Tx) KeepsExpired() bool { return tx.KeepExpired || tx.follows || tx.keeps }

// DropExpired has the transaction delete what is over until Unlock, although a master decides that.
func (tx *Tx) DropExpired() { tx.keeps = false }
