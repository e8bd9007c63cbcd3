package replay

import (
	"fmt"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// A follower applies entries with a worker, as Load does, but while others read, and
// the writeback writes. Three things differ. All shards of an entry are locked together,
// and its records are numbered before they are unlocked: else a value would be written
// that says that it contains a record less than it does. A key that is not in memory is
// read from the disk first: what Load assumes of it, and puts right at the end, would be
// wrong for as long as the member serves. And databases that are flushed go from the disk.

// Live is a replay that applies entries.
type Live struct{ *replay }

// Live makes one that goes on where memory ends.
func (p *Replayer) Live() Live {
	r := &replay{Replayer: p, live: true, last: journal.Position{LSN: p.Commits.Journal.Newest(), Index: p.Group.Applied()}}
	r.workers = []*worker{r.worker()}
	r.workers[0].upcoming = make([]fetched, mostPrefetched)
	unlock := p.Keyspace.LockAll()
	r.index()
	unlock()
	return Live{r}
}

// Apply implements member.Applier.
func (r Live) Apply(index uint64, chunk []byte) error {
	return r.entry(&windowChunk{Chunk: format.Chunk{Index: index, Bytes: chunk}})
}

// Skip implements member.Applier.
func (r Live) Skip(index uint64) { r.last.Index = index }

// entry applies a chunk.
func (r *replay) entry(c *windowChunk) error {
	w := r.workers[0]
	w.Clock = r.Uses.ClockAt(r.Now())
	var set keyspace.Shards
	apart := c.Apart()
	w.forget() // the entry before, which an operation that is apart would have applied again
	if apart {
		set.AddAll()
	} else {
		if err := w.sort(c); err != nil {
			return err
		}
		for sh := range w.sorted {
			if len(w.sorted[sh]) > 0 {
				set[sh>>6] |= 1 << (sh & 63)
			}
		}
	}
	r.Keyspace.Lock(&set, true)
	defer r.Keyspace.Unlock(&set)
	if err := r.entryLocked(w, c, apart); err != nil {
		return err
	}
	if w.origin.wholeLSN > 0 || w.origin.partLSN > 0 { // most groups follow nobody
		r.settleOrigin(r.Origin())
		w.origin = replayedOrigin{}
	}
	r.Commits.Durable.Advance(r.last.LSN)
	r.Commits.Journal.Resume(r.last)
	return nil
}

func (r *replay) entryLocked(w *worker, c *windowChunk, apart bool) error {
	if apart {
		if err := r.apart(&window{chunks: []windowChunk{*c}}); err != nil {
			return err
		}
		r.Catalog().TellNews()
		return nil
	}
	if err := r.advance(c); err != nil {
		return err
	}
	w.prefetch()
	for sh := range w.sorted {
		if len(w.sorted[sh]) == 0 {
			continue
		}
		w.enter(sh)
		if err := w.apply(w.sorted[sh]); err != nil {
			return err
		}
	}
	return nil
}

// mostPrefetched is for how many keys of an entry memory is asked for: what comes for the last
// of more could replace what has come for the first.
const mostPrefetched = 512

// fetched is a key whose memory was asked for.
type fetched struct {
	hash  uint64
	table *keyspace.Table
}

// prefetch asks for the memory of the keys that were sorted, as apply does for those of one
// shard; an entry has few in each: for the slots of all, then for what these refer to.
func (w *worker) prefetch() {
	n := 0
	for sh := range w.sorted {
		w.enter(sh)
		for i := range w.sorted[sh] {
			if w.choose(w.sorted[sh][i].phys); w.t == nil || w.t.Used == 0 || n == mostPrefetched {
				continue
			}
			hash := w.sorted[sh][i].hash
			w.t.PrefetchSlot(hash)
			w.upcoming[n] = fetched{hash, w.t}
			n++
		}
	}
	for _, k := range w.upcoming[:n] {
		k.table.PrefetchRecord(k.hash)
	}
	clear(w.upcoming[:n])
}

// bringIn reads the key at hand from the disk, if it is there and not in memory.
func (w *worker) bringIn() error {
	if w.t.Resident || w.t.Find(w.hash, w.key) >= 0 || planted == assumedKeys {
		return nil
	}
	if _, _, err := w.replay.Heads.Fault(w.t, w.hash, w.key, w.Fresh()); err != nil {
		return fmt.Errorf("before a change of it: %w", err)
	}
	return nil
}
