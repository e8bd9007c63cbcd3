package sweep

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// The cycle processes the lists of the index that are due. A list is removed only
// after the journal, up to what was seen meanwhile, is on the device: after a crash
// either the list exists, and its entries are processed again, or the journal has
// the deletions and everything else that made its entries obsolete. The cycle does
// not wait for that: the next one removes the lists that this one has processed.

const (
	costOfList  = 5000 // in slots: 20 us
	costOfDue   = 300  // 1.2 us
	costOfMoved = 25
	costOfClock = 10
	holdDue     = 64 // entries looked up in one hold of a lock

	// LeaderDelay is after how many milliseconds a follower looks again for a key that
	// is over and that the leader has not deleted.
	LeaderDelay = 10_000
)

// sweepLists deletes keys that are due according to the lists, within about the
// budget, and returns their number and the cost.
func (s *Sweeper) sweepLists(now, budget int64) (expired int, cost int64, err error) {
	if len(s.lists.done) > 0 {
		if err := s.retireLists(); err != nil || len(s.lists.done) > 0 {
			return 0, 0, err
		}
	}
	defer func() {
		if len(s.lists.done) > 0 {
			s.lists.lsn = s.host.Sync()
		}
	}()
	sh := &s.keyspace.Shard[0]
	if !s.keyspace.LockSound(sh) {
		return 0, 0, nil
	}
	s.lists.phys = append(s.lists.phys[:0], s.keyspace.Phys...)
	sh.Mu.Unlock()
	for range s.lists.phys {
		if cost >= budget {
			break
		}
		s.lists.at = (s.lists.at + 1) % len(s.lists.phys)
		cost += costOfClock
		due, mark := s.clock.Due(s.lists.phys[s.lists.at], now)
		if !due {
			continue
		}
		n, c, err := s.sweepDatabase(s.lists.at, now, budget-cost, mark)
		expired, cost = expired+n, cost+c
		if err != nil {
			return expired, cost, err
		}
	}
	return expired, cost, nil
}

// sweepDatabase processes lists of one database. It reads one list at a time,
// and holds nothing of Pebble while keys are deleted.
func (s *Sweeper) sweepDatabase(db int, now, budget int64, mark uint64) (expired int, cost int64, err error) {
	phys, from := s.lists.phys[db], format.AppendPhysBound(nil, format.PrefixExpiry, uint64(s.lists.phys[db]))
	var entries []format.Expiring
	for cost < budget {
		key, at, list, err := s.nextList(phys, from, entries[:0], now)
		if err != nil {
			return expired, cost, err
		}
		cost += costOfList
		if key == nil {
			s.clock.Set(phys, at, mark)
			return expired, cost, nil
		}
		entries, from = list, append(append(from[:0], key...), 0)
		n, c, err := s.sweepEntries(db, phys, at, now, list)
		expired, cost = expired+n, cost+c
		if err != nil {
			return expired, cost, err
		}
		s.lists.done = append(s.lists.done, key)
	}
	return expired, cost, nil
}

// nextList is expiry.Next of the instance of Pebble that there is.
func (s *Sweeper) nextList(phys uint32, from []byte, dst []format.Expiring, now int64) (key []byte, at int64, list []format.Expiring, err error) {
	s.disk.RLock()
	defer s.disk.RUnlock()
	return expiry.Next(s.disk.DB, phys, from, dst, now)
}

// sweepEntries deletes the keys of a list that are due, and reschedules the
// others.
func (s *Sweeper) sweepEntries(db int, phys uint32, at, now int64, list []format.Expiring) (expired int, cost int64, err error) {
	due := list[:0]
	for _, e := range list {
		if expire := at + int64(e.Ticks)*format.ExpiryTick; expire > now {
			s.lists.moved.Add(now, phys, e.Hash, expire)
			cost += costOfMoved
			continue
		}
		due = append(due, e)
	}
	for len(due) > 0 {
		n := 1
		for n < len(due) && n < holdDue && format.ShardOf(due[n].Hash) == format.ShardOf(due[0].Hash) {
			n++
		}
		some, err := s.expireHashes(db, phys, now, due[:n])
		if err != nil {
			return expired, cost, err
		}
		expired, cost, due = expired+some, cost+costOfLock+int64(n)*costOfDue, due[n:]
	}
	return expired, cost, nil
}

// expireHashes deletes the expired keys with these hashes, all of one shard.
func (s *Sweeper) expireHashes(db int, phys uint32, now int64, due []format.Expiring) (expired int, err error) {
	shard := format.ShardOf(due[0].Hash)
	sh := &s.keyspace.Shard[shard]
	if !s.keyspace.LockSound(sh) {
		return 0, nil
	}
	defer s.keyspace.UnlockShard(sh)
	if s.keyspace.Phys[db] != phys {
		if db = slices.Index(s.keyspace.Phys, phys); db < 0 { // else swapped meanwhile
			return 0, nil // flushed
		}
	}
	t := s.keyspace.Table(shard, db)
	var it *pebble.Iterator
	if !t.Resident {
		if it, err = s.disk.DB.NewIter(&pebble.IterOptions{
			LowerBound: format.AppendHeadBound(nil, phys, due[0].Hash),
			UpperBound: format.AppendHeadEnd(nil, phys, due[len(due)-1].Hash)}); err != nil {
			return 0, fmt.Errorf("read heads: %w", err)
		}
		defer func() { err = errors.Join(err, it.Close()) }()
	}
	for i, e := range due {
		if i > 0 && e.Hash == due[i-1].Hash {
			continue
		}
		expired += s.expireInMemory(t, db, e.Hash, now)
		if it == nil {
			continue
		}
		n, err := s.expireHeads(it, t, db, e.Hash, now)
		expired += n
		if err != nil {
			return expired, fmt.Errorf("expire keys on disk: %w", err)
		}
	}
	return expired, nil
}

// expireInMemory deletes keys that have a slot. One that expires later by a change
// that counts on the entry keeps one.
func (s *Sweeper) expireInMemory(t *keyspace.Table, db int, hash uint64, now int64) (expired int) {
	for i := t.Seek(hash); i < t.Places(); {
		meta := t.Meta(i)
		switch {
		case meta != 0 && t.HashAt(i) != hash:
			return expired
		case meta&keyspace.HasExpiry == 0: // it may be empty
			i++
		case t.Expire(meta) > now:
			if t.Indexed(meta) {
				s.lists.moved.Add(now, t.Phys, hash, t.Expire(meta))
			}
			i++
		case s.host.Defers():
			s.lists.moved.Add(now, t.Phys, hash, now+LeaderDelay)
			i++
		default:
			s.expireSlot(t, db, i) // another slot may be here now
			expired++
		}
	}
	return expired
}

// expireHeads deletes keys that have no slot.
func (s *Sweeper) expireHeads(it *pebble.Iterator, t *keyspace.Table, db int, hash uint64, now int64) (expired int, err error) {
	t.Scratch = format.AppendHeadBound(t.Scratch[:0], t.Phys, hash)
	for ok := it.SeekGE(t.Scratch); ok; ok = it.Next() {
		_, at, key, err := format.SplitHeadKey(it.Key())
		if err != nil {
			return expired, err
		}
		if at != hash {
			break
		}
		if t.Find(hash, key) >= 0 {
			continue
		}
		h, err := format.DecodeHead(it.Value())
		switch {
		case err != nil:
			return expired, err
		case h.Expire == 0:
		case h.Expire > now:
			s.lists.moved.Add(now, t.Phys, hash, h.Expire)
		case s.host.Defers():
			s.lists.moved.Add(now, t.Phys, hash, now+LeaderDelay)
		default:
			s.expireCold(t, db, hash, key, h.Paged)
			expired++
		}
	}
	return expired, it.Error()
}

// expireCold deletes a key that only the disk has. Its value is not read.
func (s *Sweeper) expireCold(t *keyspace.Table, db int, hash uint64, key []byte, paged bool) {
	t.AddTombstone(hash, key, paged)
	s.host.Journal(deletion(t, key), nil, nil)
	s.host.Expired(db, key)
}

// retireLists removes the lists that the last cycle has processed, if the
// journal is far enough.
func (s *Sweeper) retireLists() error {
	if synced, err := s.host.Synced(s.lists.lsn); err != nil || !synced {
		return err
	}
	s.disk.RLock()
	defer s.disk.RUnlock()
	b := s.disk.DB.NewBatch()
	for _, key := range s.lists.done {
		if err := b.Delete(key, nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	moved := s.lists.moved // kept for another attempt
	written, err := moved.Write(b, s.keys)
	if err == nil {
		err = s.disk.Apply(b, pebble.NoSync)
	}
	if err != nil {
		return fmt.Errorf("remove expiries: %w", err)
	}
	s.clock.Note(written)
	s.lists.done, s.lists.moved = s.lists.done[:0], expiry.Lists{}
	return nil
}
