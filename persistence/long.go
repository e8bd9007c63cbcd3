package persistence

import (
	"math/bits"
	"runtime"
	"sync"
)

// Long transactions. A script may run for seconds, and touches keys that nobody knew
// of when it began. It is a long transaction: it locks more shards while it holds
// some, and there is one at a time.
//
// Two rules keep it and the others from waiting for each other. A transaction that
// finds a shard in the hands of the long one gives back what it has locked, and waits
// for the end of the long one with empty hands. And the long one never keeps a shard
// that another transaction is already waiting for: it lets it go first. So a waiting
// transaction waits for short ones alone, which take shards in index order and
// therefore end.
//
// A wait for a long transaction ends early when the transaction is overdue, so that
// clients get an error in place of silence.

// long is the long transaction of a store.
type long struct {
	mu      sync.Mutex
	ended   sync.Cond // or became overdue; its L is &mu
	active  bool      // guarded by mu
	overdue bool      // guarded by mu
	waits   int       // those in wait; guarded by mu
}

// begin starts the long transaction.
func (l *long) begin() {
	l.mu.Lock()
	l.active, l.overdue = true, false
	l.mu.Unlock()
}

// end ends it; its shards are unlocked.
func (l *long) end() {
	l.mu.Lock()
	l.active, l.overdue = false, false
	l.wakeLocked()
	l.mu.Unlock()
}

func (l *long) wakeLocked() {
	if l.waits > 0 {
		l.ended.Broadcast()
	}
}

// wait waits for the end of the long transaction. It returns false as soon as that is
// overdue, unless the caller is patient.
func (l *long) wait(patient bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits++
	defer func() { l.waits-- }()
	for l.active && (patient || !l.overdue) {
		l.ended.Wait()
	}
	return !l.active
}

// Overdue has those that wait for the long transaction stop waiting.
func (s *Store) Overdue() {
	l := &s.long
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active {
		l.overdue = true
		l.wakeLocked()
	}
}

// lock takes the shards in index order, which is what keeps two transactions from
// waiting for each other. It returns false, with nothing locked, if a long
// transaction has one of them and is overdue; a patient caller waits for its end.
func (s *Store) lock(set *Shards, patient bool) bool {
	for {
		failed := s.lockUntil(set)
		if failed < 0 {
			return true
		}
		for i := range failed {
			if set[i>>6]&(1<<(i&63)) != 0 {
				s.shards[i].mu.Unlock()
			}
		}
		if !s.long.wait(patient) {
			return false
		}
	}
}

// lockUntil locks the shards up to the first that a long transaction has, and returns
// its index, or -1.
func (s *Store) lockUntil(set *Shards) (failed int) {
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			i := w<<6 | bits.TrailingZeros64(word)
			if sh := &s.shards[i]; !sh.mu.TryLock() && !sh.await() {
				return i
			}
		}
	}
	return -1
}

// await locks a shard that is taken, unless a long transaction has it.
func (sh *shard) await() bool {
	sh.queue.Add(1)
	defer sh.queue.Add(-1)
	if sh.long.Load() {
		return false
	}
	sh.mu.Lock()
	return true
}

// lockFree locks a shard for background work, which leaves shards of a long transaction,
// and memory that is torn, for another time.
func (s *Store) lockFree(sh *shard) bool {
	if !sh.mu.TryLock() && !sh.await() {
		return false
	}
	return s.soundLocked(sh)
}

// lockSound locks a shard for background work, unless memory is torn.
func (s *Store) lockSound(sh *shard) bool {
	sh.mu.Lock()
	return s.soundLocked(sh)
}

// soundLocked unlocks a shard if memory is torn.
func (s *Store) soundLocked(sh *shard) bool {
	if s.remaking.torn.Load() {
		sh.mu.Unlock()
		return false
	}
	return true
}

// lockShard locks a shard for a look at it. It returns false if a long transaction has it
// and is overdue, or memory is torn.
func (s *Store) lockShard(sh *shard) bool {
	for !s.lockFree(sh) {
		if s.remaking.torn.Load() || !s.long.wait(false) {
			return false
		}
	}
	return true
}

// lockLong locks a shard for the long transaction, after those that wait for it. From
// the moment that long is set no others begin to.
func (sh *shard) lockLong() {
	sh.long.Store(true)
	for {
		sh.mu.Lock()
		if sh.queue.Load() == 0 {
			return
		}
		sh.mu.Unlock()
		runtime.Gosched()
	}
}

// LockLong is Lock for a long transaction, which may call Extend. The caller sees to it
// that there is one at a time.
func (tx *Tx) LockLong(set *Shards, now int64) {
	for {
		tx.long = true
		tx.s.long.begin()
		tx.startAt(now)
		tx.extend(set)
		if tx.s.remaking.sound() {
			return
		}
		held := tx.locked
		tx.locked, tx.long = Shards{}, false
		tx.s.endLong(&held)
		tx.s.remaking.wait()
	}
}

// Extend locks more shards for a long transaction. Until it has one, its member of a group
// may cease to lead. It panics if memory was torn meanwhile: the transaction can neither wait, as
// it holds shards, nor go on.
func (tx *Tx) Extend(set *Shards) {
	tx.extend(set)
	if !tx.s.remaking.sound() {
		panic(errTorn)
	}
}

func (tx *Tx) extend(set *Shards) {
	first := tx.locked == Shards{}
	for w, word := range set {
		for word &^= tx.locked[w]; word != 0; word &= word - 1 {
			tx.s.shards[w<<6|bits.TrailingZeros64(word)].lockLong()
		}
		tx.locked[w] |= set[w]
	}
	if m := tx.s.member; m != nil && first && tx.locked != (Shards{}) {
		m.enter(tx)
	}
}

// endLong ends a long transaction, which holds the shards of set.
func (s *Store) endLong(set *Shards) {
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			s.shards[w<<6|bits.TrailingZeros64(word)].long.Store(false)
		}
	}
	s.unlock(set)
	s.long.end()
}
