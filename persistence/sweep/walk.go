package sweep

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
)

// An expired key is deleted when it is next used. The cycle finds expired keys that
// are not used: it follows the index of what is on disk, and walks the tables that
// have keys with an expiry, a part at each call. It also deletes expired fields.

const (
	// Costs in slots looked at, one of which takes about 4 ns: the budget is
	// counted rather than timed, for this package reads no clock.
	slotsPerMicro = 250
	costOfExpired = 100
	costOfLock    = 25
	holdExpired   = 200 // keys expired in one hold of a lock
)

// Cycle deletes keys, and fields of values in memory, that have expired at now
// (unix ms) and returns the number of keys. It stops after about budget, a quarter
// being reserved for what is in memory, or when it has visited everything once, and continues from there at the next call. A member of a group that does not
// lead it deletes nothing.
func (s *Sweeper) Cycle(now int64, budget time.Duration) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := budget.Microseconds() * slotsPerMicro
	expired, cost, err := s.sweepLists(now, left-left/4)
	if err != nil {
		s.operator.Error("expire", fmt.Errorf("expire keys on disk: %w", err))
	}
	left -= cost
	if s.host.Defers() {
		return expired // by the leader's records
	}
	dbs := len(s.keyspace.Phys)
	visited := 0
	for visited <= format.ShardCount*dbs && left > 0 {
		n, cost, done := s.Walk(now, left)
		expired += n
		left -= cost
		if done {
			visited++
			s.cursor = 0
			if s.db++; s.db >= dbs {
				s.db, s.shard = 0, (s.shard+1)%format.ShardCount
				left -= costOfLock
			}
		}
	}
	if visited <= format.ShardCount*dbs {
		s.Capped.Add(1)
	}
	return expired
}

// Walk goes on in the table at hand, and looks at about left slots at most. It is the step of a cycle, whose lock is held.
func (s *Sweeper) Walk(now, left int64) (expired int, cost int64, done bool) {
	sh := &s.keyspace.Shard[s.shard]
	if !s.keyspace.LockFree(sh) {
		return 0, 1, true
	}
	defer s.keyspace.UnlockShard(sh)
	t := sh.Tables[s.db]
	if s.host.Defers() || t == nil || t.Expiring == 0 && t.TimedParts() == 0 {
		return 0, 1, true
	}
	if n := s.expireFields(t, s.db, now, holdExpired); n > 0 {
		return 0, 1 + expiredCost(n), false
	}
	if t.Expiring == 0 {
		return 0, 1, true
	}
	if s.cursor == 0 {
		if t.NextExpiry > now {
			return 0, 1, true
		}
		s.walked, s.next = t, math.MaxInt64
		t.NewExpiry = math.MaxInt64
	}
	limit := min(left, writeback.HoldSlots)
	looked := int64(0)
	defer func() { s.Looked.Add(looked) }()
	for i := t.Seek(max(s.cursor, uint64(s.shard)<<56)); i < t.Places(); {
		if cost >= limit || expired >= holdExpired {
			s.cursor = t.HashAt(i)
			if s.cursor != 0 {
				return expired, cost + expiredCost(expired), false
			}
		}
		cost++
		meta := t.Meta(i)
		if meta&keyspace.HasExpiry == 0 {
			i++
			continue
		}
		looked++
		if expire := t.Expire(meta); expire > now {
			s.next = min(s.next, expire)
			i++
			continue
		}
		s.expireSlot(t, s.db, i)
		expired++
		if t.Meta(i)&keyspace.Tombstone != 0 {
			i++
		}
	}
	if s.walked == t { // no flush or swap came between
		t.NextExpiry = min(s.next, t.NewExpiry)
	}
	s.walked = nil
	return expired, cost + expiredCost(expired), true
}

func expiredCost(n int) int64 { return int64(n) * costOfExpired }

// expireSlot deletes the expired key at slot i.
func (s *Sweeper) expireSlot(t *keyspace.Table, db, i int) {
	key := slices.Clone(t.Key(t.Meta(i)))
	s.Delete(t, i, key)
	s.host.Expired(db, key)
}

// Delete deletes the key at slot i with a record of its own, whose number it returns. The lock of the shard is held, and no
// transaction has the key open.
func (s *Sweeper) Delete(t *keyspace.Table, i int, key []byte) (lsn uint64) {
	t.Erase(i)
	return s.host.Journal(deletion(t, key), nil, nil)
}

// deletion is the record of it.
func deletion(t *keyspace.Table, key []byte) []byte {
	var rec structures.Change
	format.RecordKey(&rec, t.Phys, key)
	rec.Op(format.OpDelete, 0)
	return rec.Encoded()
}
