package persistence

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/structures"
)

// A key whose time is over is deleted when it is next looked at. The cycle finds
// those that nobody looks at: it walks the tables that have such keys, a piece at
// each call, and more slowly the disk. It also deletes fields whose time is over.

// sweeper is where the cycle goes on.
type sweeper struct {
	mu     sync.Mutex // one cycle at a time; guards all below
	shard  int
	db     int
	cursor uint64

	disk []byte // head key to go on with; empty: start over
}

const (
	// Costs in slots looked at, one of which takes about 4 ns: the budget is
	// counted rather than timed, for this package reads no clock.
	slotsPerMicro = 250
	costOfExpired = 100
	costOfLock    = 25
	costOfHead    = 100
	holdExpired   = 200 // keys expired in one hold of a lock
	sweepHeads    = 200 // heads on disk looked at in one call
)

// ExpireCycle deletes keys, and fields of values in memory, whose time is over at
// now (unix ms) and returns how many keys. It stops after about budget, or when it has seen everything once, and goes
// on from there at the next call.
func (s *Store) ExpireCycle(now int64, budget time.Duration) (expired int) {
	w := &s.sweeper
	w.mu.Lock()
	defer w.mu.Unlock()
	left := budget.Microseconds() * slotsPerMicro
	dbs := s.Databases()
	for visited := 0; visited <= shardCount*dbs && left > 0; {
		n, cost, done := s.expireSome(w, now, left)
		expired += n
		left -= cost
		if done {
			visited++
			w.cursor = 0
			if w.db++; w.db >= dbs {
				w.db, w.shard = 0, (w.shard+1)%shardCount
				left -= costOfLock
			}
		}
	}
	if left > costOfHead*sweepHeads {
		n, err := s.sweepDisk(w, now)
		if err != nil {
			s.opts.Logf(LevelError, "expire keys on disk: %v", err)
		}
		expired += n
	}
	return expired
}

// expireSome goes on in the table that w stands at.
func (s *Store) expireSome(w *sweeper, now, left int64) (expired int, cost int64, done bool) {
	sh := &s.shards[w.shard]
	sh.mu.Lock()
	defer s.unlockShard(sh)
	t := sh.tables[w.db]
	if t == nil || t.ttls == 0 && len(t.timed) == 0 {
		return 0, 1, true
	}
	if n := s.expireFields(t, w.db, now, holdExpired); n > 0 {
		return 0, 1 + expiredCost(n), false
	}
	if t.ttls == 0 {
		return 0, 1, true
	}
	limit := min(left, holdSlots)
	for i := t.seek(max(w.cursor, uint64(w.shard)<<56)); i < len(t.slots); {
		if cost >= limit || expired >= holdExpired {
			w.cursor = t.slots[i].hash
			if w.cursor != 0 {
				return expired, cost + expiredCost(expired), false
			}
		}
		cost++
		meta := t.slots[i].meta
		if meta&metaTTL == 0 || t.expire(meta) > now {
			i++
			continue
		}
		s.expireSlot(t, w.db, i)
		expired++
		if t.slots[i].meta&metaTombstone != 0 {
			i++
		}
	}
	return expired, cost + expiredCost(expired), true
}

func expiredCost(n int) int64 { return int64(n) * costOfExpired }

// expireSlot deletes the key at slot i, whose time is over.
func (s *Store) expireSlot(t *table, db, i int) {
	key := slices.Clone(t.key(t.slots[i].meta))
	s.deleteInBackground(t, i, key)
	s.stats.expired.Add(1)
	if s.opts.OnEvent != nil {
		s.opts.OnEvent(EventExpired, db, key)
	}
}

// deleteInBackground deletes the key at slot i with a record of its own. The lock
// of the shard is held, and no transaction has the key open.
func (s *Store) deleteInBackground(t *table, i int, key []byte) (lsn uint64) {
	var rec structures.Change
	rec.Op(opKey, 2)
	rec.Uint(uint64(t.phys))
	rec.Bytes(key)
	rec.Op(opDelete, 0)
	t.erase(i)
	return s.journal.append(rec.Encoded(), 0)
}

// sweepDisk looks at the next heads on disk whose tables are not resident and
// expires what is due.
func (s *Store) sweepDisk(w *sweeper, now int64) (expired int, err error) {
	if s.stats.cold(s) == 0 {
		return 0, nil
	}
	low := w.disk
	if len(low) == 0 {
		low = appendGroup(nil, prefixHead)
	}
	due, err := s.dueOnDisk(w, low, now)
	if err != nil {
		return 0, err
	}
	for _, k := range due {
		ok, err := s.expireHead(k, now)
		if err != nil {
			return expired, err
		}
		if ok {
			expired++
		}
	}
	return expired, nil
}

// dueOnDisk returns the keys of the next heads that are due.
func (s *Store) dueOnDisk(w *sweeper, low []byte, now int64) (due [][]byte, err error) {
	s.disk.RLock()
	defer s.disk.RUnlock()
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: appendGroupEnd(nil, prefixHead)})
	if err != nil {
		return nil, err
	}
	n := 0
	for it.First(); it.Valid() && n < sweepHeads; it.Next() {
		n++
		h, err := decodeHead(it.Value())
		if err != nil {
			return nil, errors.Join(err, it.Close())
		}
		if h.expire != 0 && h.expire <= now {
			due = append(due, bytes.Clone(it.Key()))
		}
	}
	w.disk = w.disk[:0]
	if it.Valid() {
		w.disk = append(w.disk, it.Key()...)
	}
	return due, errors.Join(it.Error(), it.Close())
}

// expireHead deletes a key that the disk says is due, if it still is.
func (s *Store) expireHead(headKey []byte, now int64) (bool, error) {
	phys, hash, key, err := splitHeadKey(headKey)
	if err != nil {
		return false, err
	}
	sh := &s.shards[shardOf(hash)]
	sh.mu.Lock()
	defer s.unlockShard(sh)
	db := slices.Index(s.mapping.phys, phys)
	if db < 0 {
		return false, nil // flushed meanwhile
	}
	t := s.table(shardOf(hash), db)
	i := t.find(hash, key)
	if i < 0 {
		if t.resident {
			return false, nil
		}
		if i, err = s.fault(t, hash, key, 0); err != nil || i < 0 {
			return false, err
		}
	}
	meta := t.slots[i].meta
	if meta&metaTombstone != 0 || meta&metaTTL == 0 || t.expire(meta) > now {
		return false, nil
	}
	s.expireSlot(t, db, i)
	return true, nil
}
