package eviction

import (
	"cmp"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/slots"
	"github.com/vigildb/vigil/persistence/writeback"
)

// Host is what the evictor asks of its store.
type Host interface {
	// Defers reports that another server decides which keys go.
	Defers() bool
	// Evict deletes the key at slot i of a table, also on disk. The lock of its shard is held.
	Evict(t *keyspace.Table, db, i int)
}

// Config is what an Evictor works on. All of it belongs to the store.
type Config struct {
	Host     Host
	Keyspace *keyspace.Keyspace
	Writer   *writeback.Writer
	Uses     *slots.Uses
	Now      func() int64  // unix time in ms
	Seed     func() uint64 // not 0
	// Derived stands for a bound of 0 in what deletes no key and refuses no command.
	Derived int64
}

// Evictor frees memory.
type Evictor struct {
	Config

	max     atomic.Int64
	bound   atomic.Int64
	policy  atomic.Int32
	samples atomic.Int32
	spilled atomic.Int64
}

// Set changes the bound on memory in bytes (0 is none, but for Config.Derived), what happens beyond
// it, and how many keys are compared for each one that goes.
func (e *Evictor) Set(bytes int64, p Policy, samples int) {
	e.bound.Store(cmp.Or(bytes, e.Derived))
	if p == Spill {
		bytes = e.bound.Load()
	}
	e.max.Store(bytes)
	e.policy.Store(int32(p))
	e.samples.Store(int32(max(1, samples)))
	e.Uses.LFU.Store(p.LFU())
	e.Uses.LRM.Store(p.LRM())
}

// Bound is what the store lets keys and values take in memory, whatever the policy; 0: no bound.
func (e *Evictor) Bound() int64 { return e.bound.Load() }

// SpillBound is the bound beyond which values leave memory, 0 if they do not.
func (e *Evictor) SpillBound() int64 {
	if Policy(e.policy.Load()) != Spill {
		return 0
	}
	return e.max.Load()
}

// Spilled is how many values were dropped from memory.
func (e *Evictor) Spilled() int64 { return e.spilled.Load() }

// Over reports whether commands that need memory have to be refused: keys
// and values take more than the bound and the policy does not spill, or it does
// and the bound is below 1 MiB, which is too little to hold anything. Call
// MakeRoom first.
func (e *Evictor) Over() bool {
	bound := e.max.Load()
	if Policy(e.policy.Load()) == Spill {
		return bound > 0 && bound < writeback.Floor
	}
	return bound > 0 && e.Keyspace.Memory.Load() > bound
}

const (
	// mostPerCall limits the keys that one call of MakeRoom removes, so that
	// one command does not have to remove everything after the limit was
	// lowered.
	mostPerCall = 512
	// mostMisses is the number of shards without a candidate after which it
	// gives up. It looks at them in a row, so that it looks at each: one key
	// that may go is found.
	mostMisses = 2 * format.ShardCount
	// mostLooks is the number of neighbouring slots in which it looks for
	// candidates.
	mostLooks = 128
)

// MakeRoom frees memory if more than the bound is in use, by the policy: under
// Spill, values that the disk has leave memory; under the deleting policies
// keys are deleted; under None nothing happens. The server calls it
// before commands that need memory, without locks. A member of a group that does not
// lead it deletes nothing.
func (e *Evictor) MakeRoom() {
	bound := e.max.Load()
	policy := Policy(e.policy.Load())
	if bound == 0 || policy == None || policy != Spill && e.Host.Defers() {
		return
	}
	e.Writer.EvictExcess()
	if e.Keyspace.Memory.Load() <= bound {
		return
	}
	if policy == Spill && e.Writer.Starved() {
		return // until the next batch is written there is nothing to be found
	}
	r := round{Evictor: e, policy: policy, clock: e.Uses.ClockAt(e.Now())}
	random := e.Seed()
	misses := 0
	for range mostPerCall {
		random = slots.Xorshift(random)
		for i := random >> 20; !r.shard(int(i%format.ShardCount), random); i++ {
			if misses++; misses > mostMisses {
				if policy == Spill { // what is dirty can go once it is written
					e.Writer.EvictPages(e.Keyspace.Memory.Load() - bound)
					e.Writer.Starve()
				}
				return
			}
			random = slots.Xorshift(random)
		}
		if e.Keyspace.Memory.Load() <= bound {
			return
		}
	}
}

// round is one call of MakeRoom.
type round struct {
	*Evictor
	policy Policy
	clock  uint64
}

// shard removes the best of a few keys of a shard and reports whether it found one.
func (r *round) shard(i int, random uint64) bool {
	sh := &r.Keyspace.Shard[i]
	if !r.Keyspace.LockFree(sh) {
		return false
	}
	defer r.Keyspace.UnlockShard(sh)
	var best *keyspace.Table
	bestSlot, bestScore, bestDB := 0, uint64(0), 0
	for db, t := range sh.Tables {
		if t == nil || t.Used == 0 || r.policy == Spill && t.Used == t.Dirty {
			continue
		}
		at, found := int(random>>28%uint64(t.Places())), int32(0)
		for n := 0; n < min(t.Places(), mostLooks) && found < r.samples.Load(); n++ {
			if at++; at >= t.Places() {
				at = 0
			}
			score, ok := r.score(t, at, random>>uint(n%32))
			if !ok {
				continue
			}
			found++
			if best == nil || score > bestScore {
				best, bestSlot, bestScore, bestDB = t, at, score, db
			}
		}
	}
	switch {
	case best == nil:
		return false
	case r.policy == Spill:
		r.spill(best, bestSlot)
		return true
	case r.Host.Defers():
		return false // not any more
	}
	r.Host.Evict(best, bestDB, bestSlot)
	return true
}

// spill drops a value, or some pages of a large one, from memory.
func (r *round) spill(t *keyspace.Table, i int) {
	if o := t.Object(t.Meta(i)); o != nil && o.Pager != nil {
		for range 2 { // the first time around pages may all have been used
			if freed, _ := writeback.PagerOf(o).Evict(writeback.EvictBytes); freed > 0 {
				return
			}
		}
	}
	t.Spill(i)
	r.spilled.Add(1)
}

// score is the eviction score of a slot: higher goes first. ok is false if it
// must stay.
func (r *round) score(t *keyspace.Table, i int, random uint64) (score uint64, ok bool) {
	meta := t.Meta(i)
	switch {
	case meta == 0 || meta&keyspace.Tombstone != 0:
		return 0, false
	case r.policy == Spill && (meta&(keyspace.Dirty|keyspace.OnDisk) != keyspace.OnDisk || t.InBatch(t.HashAt(i))):
		return 0, false
	case r.policy.volatile() && meta&keyspace.HasExpiry == 0:
		return 0, false
	case r.policy != Spill && t.BlessedAt(meta):
		return 0, false
	}
	touch := meta >> keyspace.TouchShift
	switch r.policy {
	case AllKeysLFU, VolatileLFU:
		return 255 - slots.Counter(touch, r.clock), true
	case AllKeysRandom, VolatileRandom:
		return random & 0xffff, true
	case VolatileTTL:
		return ^uint64(t.Expire(meta)), true
	}
	return uint64(slots.IdleSeconds(touch, r.clock)), true
}
