package persistence

import (
	"math/bits"

	"github.com/vigildb/vigil/persistence/keyspace"
)

// Overdue has those that wait for the long transaction stop waiting.
func (s *Store) Overdue() { s.keyspace.Long.SetOverdue() }

// LockLong is Lock for a long transaction, which may call Extend. The caller sees to it
// that there is one at a time.
func (tx *Tx) LockLong(set *Shards, now int64) {
	for {
		tx.long = true
		tx.s.keyspace.Long.Begin()
		tx.startAt(now)
		tx.extend(set)
		if tx.s.keyspace.Tear.Sound() {
			return
		}
		held := tx.locked
		tx.locked, tx.long = Shards{}, false
		tx.s.keyspace.EndLong(&held)
		tx.s.keyspace.Tear.Wait()
	}
}

// Extend locks more shards for a long transaction. Until it has one, its member of a group
// may cease to lead. It panics if memory was torn meanwhile: the transaction can neither wait, as
// it holds shards, nor go on.
func (tx *Tx) Extend(set *Shards) {
	tx.extend(set)
	if !tx.s.keyspace.Tear.Sound() {
		panic(keyspace.ErrTorn)
	}
}

func (tx *Tx) extend(set *Shards) {
	first := tx.locked == Shards{}
	for w, word := range set {
		for word &^= tx.locked[w]; word != 0; word &= word - 1 {
			tx.s.keyspace.Shard[w<<6|bits.TrailingZeros64(word)].LockLong()
		}
		tx.locked[w] |= set[w]
	}
	if first && tx.locked != (Shards{}) {
		tx.enter()
	}
}
