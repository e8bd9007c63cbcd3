package persistence

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
)

// An expired key is deleted when it is next used. The cycle finds expired keys that
// are not used: it follows the index of what is on disk, and walks the tables that
// have keys with an expiry, a part at each call. It also deletes expired fields.

// sweeper is the position at which the cycle continues.
type sweeper struct {
	mu     sync.Mutex // one cycle at a time; guards all below
	shard  int
	db     int
	cursor uint64
	walked *keyspace.Table // that the cursor is in, and has been since its start; else nil
	next   int64           // the first expiry of the keys walked over

	lists listSweeper
}

const (
	// Costs in slots looked at, one of which takes about 4 ns: the budget is
	// counted rather than timed, for this package reads no clock.
	slotsPerMicro = 250
	costOfExpired = 100
	costOfLock    = 25
	holdExpired   = 200 // keys expired in one hold of a lock
)

// ExpireCycle deletes keys, and fields of values in memory, that have expired at now
// (unix ms) and returns the number of keys. It stops after about budget, a quarter
// of which is reserved for what is in memory, or when it has visited everything
// once, and continues from there at the next call. A member of a group that does not
// lead it deletes nothing.
func (s *Store) ExpireCycle(now int64, budget time.Duration) int {
	w := &s.sweeper
	w.mu.Lock()
	defer w.mu.Unlock()
	left := budget.Microseconds() * slotsPerMicro
	expired, cost, err := s.sweepLists(&w.lists, now, left-left/4)
	if err != nil && !w.lists.logged {
		s.opts.Logf(LevelError, "expire keys on disk: %v", err)
	}
	w.lists.logged = err != nil
	left -= cost
	if s.keepsExpired() {
		return expired // by the leader's records
	}
	dbs := s.Databases()
	visited := 0
	for visited <= format.ShardCount*dbs && left > 0 {
		n, cost, done := s.expireSome(w, now, left)
		expired += n
		left -= cost
		if done {
			visited++
			w.cursor = 0
			if w.db++; w.db >= dbs {
				w.db, w.shard = 0, (w.shard+1)%format.ShardCount
				left -= costOfLock
			}
		}
	}
	if visited <= format.ShardCount*dbs {
		s.stats.expiryCapped.Add(1)
	}
	return expired
}

// expireSome continues in the table at w.
func (s *Store) expireSome(w *sweeper, now, left int64) (expired int, cost int64, done bool) {
	sh := &s.keyspace.Shard[w.shard]
	if !s.keyspace.LockFree(sh) {
		return 0, 1, true
	}
	defer s.keyspace.UnlockShard(sh)
	t := sh.Tables[w.db]
	if s.keepsExpired() || t == nil || t.Expiring == 0 && t.TimedParts() == 0 {
		return 0, 1, true
	}
	if n := s.expireFields(t, w.db, now, holdExpired); n > 0 {
		return 0, 1 + expiredCost(n), false
	}
	if t.Expiring == 0 {
		return 0, 1, true
	}
	if w.cursor == 0 {
		if t.NextExpiry > now {
			return 0, 1, true
		}
		w.walked, w.next = t, math.MaxInt64
		t.NewExpiry = math.MaxInt64
	}
	limit := min(left, writeback.HoldSlots)
	looked := int64(0)
	defer func() { s.stats.expiryLooked.Add(looked) }()
	for i := t.Seek(max(w.cursor, uint64(w.shard)<<56)); i < t.Places(); {
		if cost >= limit || expired >= holdExpired {
			w.cursor = t.HashAt(i)
			if w.cursor != 0 {
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
			w.next = min(w.next, expire)
			i++
			continue
		}
		s.expireSlot(t, w.db, i)
		expired++
		if t.Meta(i)&keyspace.Tombstone != 0 {
			i++
		}
	}
	if w.walked == t { // no flush or swap came between
		t.NextExpiry = min(w.next, t.NewExpiry)
	}
	w.walked = nil
	return expired, cost + expiredCost(expired), true
}

func expiredCost(n int) int64 { return int64(n) * costOfExpired }

// expireSlot deletes the expired key at slot i.
func (s *Store) expireSlot(t *keyspace.Table, db, i int) {
	key := slices.Clone(t.Key(t.Meta(i)))
	s.deleteInBackground(t, i, key)
	s.stats.expired.Add(1)
	if s.opts.OnEvent != nil {
		s.opts.OnEvent(EventExpired, db, key)
	}
}

// deleteInBackground deletes the key at slot i with a record of its own. The lock
// of the shard is held, and no transaction has the key open.
func (s *Store) deleteInBackground(t *keyspace.Table, i int, key []byte) (lsn uint64) {
	var rec structures.Change
	rec.Op(format.OpKey, 2)
	rec.Uint(uint64(t.Phys))
	rec.Bytes(key)
	rec.Op(format.OpDelete, 0)
	t.Erase(i)
	return s.append(rec.Encoded(), 0, nil)
}
