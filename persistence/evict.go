package persistence

import (
	"slices"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/slots"
	"github.com/vigildb/vigil/persistence/writeback"
)

// OverMemory reports whether commands that need memory have to be refused: keys
// and values take more than MaxMemory and the policy does not spill, or it does
// and MaxMemory is below 1 MiB, which is too little to hold anything. Call
// MakeRoom first.
func (s *Store) OverMemory() bool {
	bound := s.maxMemory.Load()
	if Policy(s.policy.Load()) == PolicySpill {
		return bound > 0 && bound < writeback.Floor
	}
	return bound > 0 && s.keyspace.Memory.Load() > bound
}

const (
	// evictPerCall limits the keys that one call of MakeRoom removes, so that
	// one command does not have to remove everything after the limit was
	// lowered.
	evictPerCall = 512
	// evictMisses is the number of shards without a candidate after which it
	// gives up. It looks at them in a row, so that it looks at each: one key
	// that may go is found.
	evictMisses = 2 * format.ShardCount
	// evictLooks is the number of neighbouring slots in which it looks for
	// candidates.
	evictLooks = 128
)

// MakeRoom frees memory if more than MaxMemory is in use, by the policy: from
// PolicySpill, values that the disk has leave memory; under the deleting policies
// keys are deleted; under PolicyNoEviction nothing happens. The server calls it
// before commands that need memory, without locks. A member of a group that does not
// lead it deletes nothing.
func (s *Store) MakeRoom() {
	bound := s.maxMemory.Load()
	policy := Policy(s.policy.Load())
	if bound == 0 || policy == PolicyNoEviction || policy != PolicySpill && s.keepsExpired() {
		return
	}
	s.writer.EvictExcess()
	if s.keyspace.Memory.Load() <= bound {
		return
	}
	if policy == PolicySpill && s.writer.Starved() {
		return // until the next batch is written there is nothing to be found
	}
	e := evictor{s: s, policy: policy, now: s.opts.Now()}
	e.clock = s.uses.ClockAt(e.now)
	random := s.txSeed.Add(0x9e3779b97f4a7c15) | 1
	misses := 0
	for range evictPerCall {
		random = slots.Xorshift(random)
		for i := random >> 20; !e.shard(int(i%format.ShardCount), random); i++ {
			if misses++; misses > evictMisses {
				if policy == PolicySpill { // what is dirty can go once it is written
					s.writer.EvictPages(s.keyspace.Memory.Load() - bound)
					s.writer.Starve()
				}
				return
			}
			random = slots.Xorshift(random)
		}
		if s.keyspace.Memory.Load() <= bound {
			return
		}
	}
}

// evictor removes the best of a few keys.
type evictor struct {
	s      *Store
	policy Policy
	now    int64
	clock  uint64
}

// shard removes one key of a shard and reports whether it found one.
func (e *evictor) shard(i int, random uint64) bool {
	sh := &e.s.keyspace.Shard[i]
	if !e.s.keyspace.LockFree(sh) {
		return false
	}
	defer e.s.keyspace.UnlockShard(sh)
	var best *keyspace.Table
	bestSlot, bestScore, bestDB := 0, uint64(0), 0
	for db, t := range sh.Tables {
		if t == nil || t.Used == 0 || e.policy == PolicySpill && t.Used == t.Dirty {
			continue
		}
		at, found := int(random>>28%uint64(t.Places())), int32(0)
		// Neighbours in a table are neighbours by hash, so they are a random
		// sample.
		for n := 0; n < min(t.Places(), evictLooks) && found < e.s.samples.Load(); n++ {
			if at++; at >= t.Places() {
				at = 0
			}
			score, ok := e.score(t, at, random>>uint(n%32))
			if !ok {
				continue
			}
			found++
			if best == nil || score > bestScore {
				best, bestSlot, bestScore, bestDB = t, at, score, db
			}
		}
	}
	if best == nil {
		return false
	}
	if e.policy == PolicySpill {
		if o := best.Object(best.Meta(bestSlot)); o != nil && o.Pager != nil {
			for range 2 { // the first time around pages may all have been used
				if freed, _ := writeback.PagerOf(o).Evict(writeback.EvictBytes); freed > 0 {
					return true
				}
			}
		}
		best.Spill(bestSlot)
		e.s.stats.spilled.Add(1)
		return true
	}
	if e.s.keepsExpired() {
		return false // not any more
	}
	e.s.evict(best, bestDB, bestSlot)
	return true
}

// score is the eviction score of a slot: higher goes first. ok is false if it
// must stay.
func (e *evictor) score(t *keyspace.Table, i int, random uint64) (score uint64, ok bool) {
	meta := t.Meta(i)
	switch {
	case meta == 0 || meta&keyspace.Tombstone != 0:
		return 0, false
	case e.policy == PolicySpill && (meta&(keyspace.Dirty|keyspace.OnDisk) != keyspace.OnDisk || t.InBatch(t.HashAt(i))):
		return 0, false
	case e.policy.volatile() && meta&keyspace.HasExpiry == 0:
		return 0, false
	case e.policy != PolicySpill && t.BlessedAt(meta):
		return 0, false
	}
	touch := meta >> keyspace.TouchShift
	switch e.policy {
	case PolicyAllKeysLFU, PolicyVolatileLFU:
		return 255 - slots.Counter(touch, e.clock), true
	case PolicyAllKeysRandom, PolicyVolatileRandom:
		return random & 0xffff, true
	case PolicyVolatileTTL:
		return ^uint64(t.Expire(meta)), true
	}
	return uint64(slots.IdleSeconds(touch, e.clock)), true
}

// evict deletes the key at slot i, also on disk.
func (s *Store) evict(t *keyspace.Table, db, i int) {
	key := slices.Clone(t.Key(t.Meta(i)))
	hash := t.HashAt(i)
	s.commits.Evicted(hash, s.sweeper.Delete(t, i, key))
	s.stats.evicted.Add(1)
	s.event(EventEvicted, db, key)
}
