package keyspace

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

// Long is the long transaction of a store.
type Long struct {
	mu      sync.Mutex
	ended   sync.Cond // or became overdue; its L is &mu
	active  bool      // guarded by mu
	overdue bool      // guarded by mu
	waits   int       // those in wait; guarded by mu
}

// Begin starts the long transaction.
func (l *Long) Begin() {
	l.mu.Lock()
	l.active, l.overdue = true, false
	l.mu.Unlock()
}

// end ends it; its shards are unlocked.
func (l *Long) end() {
	l.mu.Lock()
	l.active, l.overdue = false, false
	l.wakeLocked()
	l.mu.Unlock()
}

func (l *Long) wakeLocked() {
	if l.waits > 0 {
		l.ended.Broadcast()
	}
}

// wait waits for the end of the long transaction. It returns false as soon as that is
// overdue, unless the caller is patient.
func (l *Long) wait(patient bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits++
	defer func() { l.waits-- }()
	for l.active && (patient || !l.overdue) {
		l.ended.Wait()
	}
	return !l.active
}

// SetOverdue has those that wait for the long transaction stop waiting.
func (l *Long) SetOverdue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active {
		l.overdue = true
		l.wakeLocked()
	}
}

// Lock takes the shards in index order, which is what keeps two transactions from
// waiting for each other. It returns false, with nothing locked, if a long
// transaction has one of them and is overdue; a patient caller waits for its end.
func (s *Keyspace) Lock(set *Shards, patient bool) bool {
	for {
		failed := s.lockUntil(set)
		if failed < 0 {
			return true
		}
		for i := range failed {
			if set[i>>6]&(1<<(i&63)) != 0 {
				s.Shard[i].Mu.Unlock()
			}
		}
		if !s.Long.wait(patient) {
			return false
		}
	}
}

// LockAll locks all shards, and returns what unlocks them.
func (s *Keyspace) LockAll() (unlock func()) {
	var set Shards
	set.AddAll()
	s.Lock(&set, true)
	return func() { s.Unlock(&set) }
}

// lockUntil locks the shards up to the first that a long transaction has, and returns
// its index, or -1.
func (s *Keyspace) lockUntil(set *Shards) (failed int) {
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			i := w<<6 | bits.TrailingZeros64(word)
			if sh := &s.Shard[i]; !sh.Mu.TryLock() && !sh.await() {
				return i
			}
		}
	}
	return -1
}

// await locks a shard that is taken, unless a long transaction has it.
func (sh *Shard) await() bool {
	sh.queue.Add(1)
	defer sh.queue.Add(-1)
	if sh.long.Load() {
		return false
	}
	sh.Mu.Lock()
	return true
}

// LockFree locks a shard for background work, which leaves shards of a long transaction,
// and memory that is torn, for another time.
func (s *Keyspace) LockFree(sh *Shard) bool {
	if !sh.Mu.TryLock() && !sh.await() {
		return false
	}
	return s.soundLocked(sh)
}

// LockSound locks a shard for background work, unless memory is torn.
func (s *Keyspace) LockSound(sh *Shard) bool {
	sh.Mu.Lock()
	return s.soundLocked(sh)
}

// soundLocked unlocks a shard if memory is torn.
func (s *Keyspace) soundLocked(sh *Shard) bool {
	if s.Tear.Torn() {
		sh.Mu.Unlock()
		return false
	}
	return true
}

// LockShard locks a shard for a look at it. It returns false if a long transaction has it
// and is overdue, or memory is torn.
func (s *Keyspace) LockShard(sh *Shard) bool {
	for !s.LockFree(sh) {
		if s.Tear.Torn() || !s.Long.wait(false) {
			return false
		}
	}
	return true
}

// LockLong locks a shard for the long transaction, after those that wait for it. From
// the moment that long is set no others begin to.
func (sh *Shard) LockLong() {
	sh.long.Store(true)
	for {
		sh.Mu.Lock()
		if sh.queue.Load() == 0 {
			return
		}
		sh.Mu.Unlock()
		runtime.Gosched()
	}
}

// EndLong ends a long transaction, which holds the shards of set.
func (s *Keyspace) EndLong(set *Shards) {
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			s.Shard[w<<6|bits.TrailingZeros64(word)].long.Store(false)
		}
	}
	s.Unlock(set)
	s.Long.end()
}

// Wanted reports that a long transaction has the shard, or others wait for it.
func (sh *Shard) Wanted() bool { return sh.queue.Load() != 0 || sh.long.Load() }
