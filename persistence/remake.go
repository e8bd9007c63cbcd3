package persistence

import (
	"errors"
	"sync"
	"sync/atomic"
)

// A handler that panics leaves a transaction of which nothing may stay, although it has
// changed values in their places. Memory cannot be put back, so it is made anew of the
// disk, as at Open: the journal has everything but this transaction (ADR 0083).
//
// Until that is done memory is torn. This is noted under the locks of the transaction, and
// these are released: others may wait for them with locks of their own, or in a pass. So
// whoever locks a shard looks whether memory is torn, and if so gives the shard back:
// transactions wait, background work ends. Those that the torn values cannot matter to,
// because they hold other shards already, go on to their ends.

// errTorn is why background work ends while memory is torn.
var errTorn = errors.New("persistence: memory is being made anew")

// remaking is what is known of memory that is torn.
type remaking struct {
	torn   atomic.Bool
	failed atomic.Pointer[error] // of the last attempt, nil while there is none

	work  sync.Mutex // of who makes memory anew
	mu    sync.Mutex
	ended sync.Cond // an attempt has ended; its L is &mu
}

func (r *remaking) init() { r.ended.L = &r.mu }

// sound reports that transactions need not wait: memory is as it should be, or cannot be
// made anew for now, so that they get an error.
func (r *remaking) sound() bool { return !r.torn.Load() || r.failed.Load() != nil }

// failure returns why memory cannot be used, nil if it can.
func (r *remaking) failure() error {
	if err := r.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// tear notes that memory is torn. A lock of what is torn is held.
func (r *remaking) tear() { r.torn.Store(true) }

// over ends an attempt.
func (r *remaking) over(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed.Store(&err)
	} else {
		r.failed.Store(nil)
		r.torn.Store(false)
	}
	r.ended.Broadcast()
}

// wait waits until transactions need not wait.
func (r *remaking) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.sound() {
		r.ended.Wait()
	}
}

// Leaver is a Replicator that ends the leadership of a term, when the store cannot keep what it has in
// memory: Follow is called then.
type Leaver interface {
	Leave(term uint64)
}

var errNoLeaver = errors.New("persistence: the engine cannot end its leadership")

// remake makes torn memory anew, and returns when that is done or has failed. The caller holds no lock.
func (s *Store) remake() {
	r := &s.remaking
	r.work.Lock()
	defer r.work.Unlock()
	if !r.torn.Load() {
		return // by another one
	}
	if s.member != nil {
		s.member.leave()
		return
	}
	err := s.remakeAlone()
	if err != nil {
		s.report(LevelError, "remake", err)
	}
	r.over(err)
}

// leave ends the leadership, in which the journal has records that are not committed and may
// not be lost, and waits for Follow, which makes memory anew of what is committed.
func (m *Member) leave() {
	r := &m.s.remaking
	l, ok := m.replicator.(Leaver)
	if !ok {
		r.over(errNoLeaver)
		return
	}
	m.mu.Lock()
	term := m.term
	m.mu.Unlock()
	l.Leave(term)
	r.wait()
}

// remakeAlone makes memory anew of the disk and the whole journal.
func (s *Store) remakeAlone() error {
	defer s.holdStill()()
	newest := s.journal.Newest()
	if err := s.awaitSync(newest); err != nil {
		return err
	}
	if err := s.forgetPass(); err != nil {
		return err
	}
	s.forgetMemory()
	s.seen.raise(newest) // which keys the records are about is forgotten
	if err := s.recall(); err != nil {
		return err
	}
	s.catalog.Tell()
	s.warmer.restart()
	return nil
}

// Abandon gives up what was changed since the last Commit. It reports whether there was
// anything: then memory was made anew of the disk, which takes as long as Open, and others may
// have had the shards meanwhile, which the transaction holds afterwards as before. The
// deletion of expired keys is no change.
func (tx *Tx) Abandon() bool {
	if !tx.changed && len(tx.open) == 0 {
		tx.err = nil // a page that could not be read may have been the cause
		tx.Commit()
		return false
	}
	s, set, long := tx.s, tx.locked, tx.long
	s.remaking.tear()
	tx.forget()
	tx.locked, tx.long = Shards{}, false
	if long {
		s.endLong(&set)
	} else {
		s.unlock(&set)
	}
	s.remake()
	if long {
		tx.LockLong(&set, tx.now)
	} else {
		tx.take(&set, true)
		tx.startAt(tx.now)
	}
	return true
}

// forget drops all that the transaction has of its changes, and of values.
func (tx *Tx) forget() {
	tx.rec.Reset(maxKeptRecord)
	tx.told.reset()
	clear(tx.big)
	tx.big, tx.referred, tx.loan = tx.big[:0], 0, nil
	tx.changed, tx.growing, tx.hasLast, tx.apart = false, false, false, false
	tx.flushed, tx.open, tx.spare, tx.paged, tx.loose = nil, nil, nil, nil, nil
	tx.err, tx.arrives = nil, arrival{}
}
