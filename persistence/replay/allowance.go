package replay

import (
	"context"
	"fmt"

	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/writeback"
)

// A replay keeps to the bound on memory. The journal may hold many times more than fits:
// it is as long as the disk allows while the server runs, and the bound may have been
// lowered since, or be a new one. So when memory is full, the shard at hand is written and
// leaves it, by the goroutine that has the shard, and the replay goes on.
//
// That is what the writeback does at other times, with three differences. The newest
// record that a value contains is that of its shard, not of the journal: shards are at
// different records within a window. Nothing has to be on the device, as the journal stays
// as it is until all is replayed; so a start that is killed amid this has done no harm, and
// has not been for nothing, by its marks. And values go under every policy: what the disk
// holds comes back when it is needed, and a start is no reason to delete a key.

const (
	// roomWindows is which part of the bound a window of the journal is, and leastWindowBytes
	// the least: each window is applied shard by shard, which has a price.
	roomWindows, leastWindowBytes = 16, 1 << 20
	// roomGrain is which part of the bound a shard may grow by amid a window before memory is
	// looked at.
	roomGrain = 32
)

// Allowance is what a replay knows of the bound.
type Allowance struct {
	Bound  int64 // bytes from which on shards leave memory; 0 is none
	grain  int64
	Window int  // bytes of the journal that are replayed at a time
	ahead  bool // a window is read while another one is applied
	used   bool // something has left memory
	amid   bool // a record is applied in part
}

// NewAllowance returns the room for a replay under a bound on memory, 0 if there is none. An
// eighth is left free, for what comes in at once when the server serves.
func NewAllowance(bound int64) Allowance {
	if bound == 0 {
		return Allowance{Window: windowBytes, ahead: true}
	}
	bound = max(bound, writeback.Floor)
	window := int(min(max(bound/roomWindows, leastWindowBytes), windowBytes))
	return Allowance{Bound: bound - bound/8, grain: bound / roomGrain, Window: window, ahead: window == windowBytes}
}

// grown is by how much the shard at hand grew since it was accounted for.
func (w *worker) grown() int64 {
	sh := &w.replay.Keyspace.Shard[w.shard]
	return sh.Unreported()
}

// full reports that memory is beyond the bound by what was applied to the shard at hand.
func (w *worker) full() bool {
	r := w.replay
	if r.allowance.Bound == 0 || r.allowance.amid {
		return false
	}
	grown := w.grown()
	return grown > r.allowance.grain && r.Keyspace.Memory.Load()+grown > r.allowance.Bound
}

// hasRoom reports that memory has room for values that no record asks for.
func (w *worker) hasRoom() bool {
	bound := w.replay.Bound()
	return bound == 0 || w.replay.Keyspace.Memory.Load()+w.grown() < bound-bound/8
}

// makeRoom writes what is dirty in the shard at hand and evicts all of it. The
// shard contains the records up to lsn, whole ones.
func (w *worker) makeRoom(lsn uint64) error {
	r, sh := w.replay, &w.replay.Keyspace.Shard[w.shard]
	r.Writer.Lock()
	defer r.Writer.Unlock()
	w.replay.allowance.used = true
	r.Commits.Durable.Advance(w.replay.last.LSN) // the journal that is replayed was written before
	if err := w.reconcileTables(); err != nil {
		return err
	}
	sh.Contains = lsn
	err := r.Writer.WriteShard(context.Background(), w.shard)
	if err == nil {
		err = r.Writer.Commit() // at once: what is under way would be taken for missing by reconcileTables
	}
	if err != nil {
		return fmt.Errorf("make room: %w", err)
	}
	sh.Mu.Lock()
	defer r.Keyspace.UnlockShard(sh)
	sh.Contains = 0
	for _, keep := range []pages{pagesOnly, wholeValues} {
		for _, t := range sh.Tables {
			if t != nil {
				w.evictClean(t, keep)
			}
		}
		if r.Keyspace.Memory.Load()+w.grown() <= w.replay.allowance.Bound {
			break
		}
	}
	return nil
}

// pages says what leaves memory of a large value whose pages can be read one by one.
type pages int

const (
	// pagesOnly: what it knows of its pages stays, so that elements can be added without
	// reading these.
	pagesOnly pages = iota
	wholeValues
)

// evictClean removes from a table what the disk has.
func (w *worker) evictClean(t *keyspace.Table, of pages) {
	known := w.replay.known[w.shard]
	for i := 0; i < t.Places() && t.Used > 0; {
		meta := t.Meta(i)
		if meta&(keyspace.Tombstone|keyspace.Dirty|keyspace.OnDisk) != keyspace.OnDisk {
			i++
			continue
		}
		if o := t.Object(meta); of == pagesOnly && o != nil && o.Pager != nil {
			for range 2 { // the first time pages may all have been used
				writeback.PagerOf(o).Evict(o.Size)
			}
			i++
			continue
		}
		if known != nil {
			delete(known, knownKey(t.Phys, t.Key(meta)))
		}
		t.Spill(i) // another slot may have moved here
	}
}
