package persistence

import (
	"fmt"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
)

// A follower applies entries with a replayer, as Load does, but while others read, and
// the writeback writes. Three things differ. All shards of an entry are locked together,
// and its records are numbered before they are unlocked: else a value would be written
// that says that it contains a record less than it does. A key that is not in memory is
// read from the disk first: what Load assumes of it, and puts right at the end, would be
// wrong for as long as the member serves. And databases that are flushed go from the disk.

// newLive makes a replay that goes on where memory ends.
func (s *Store) newLive() *replay {
	r := &replay{s: s, live: true, last: journal.Position{LSN: s.commits.Journal.Newest(), Index: s.member.Applied()}}
	r.workers = []*replayer{r.worker()}
	r.workers[0].upcoming = make([]upcomingKey, mostPrefetched)
	var all Shards
	all.AddAll()
	s.keyspace.Lock(&all, true)
	r.index()
	s.keyspace.Unlock(&all)
	return r
}

// Apply implements member.Applier.
func (r *replay) Apply(index uint64, chunk []byte) error {
	return r.entry(&windowChunk{Chunk: format.Chunk{Index: index, Bytes: chunk}})
}

// Skip implements member.Applier.
func (r *replay) Skip(index uint64) { r.last.Index = index }

// entry applies a chunk.
func (r *replay) entry(c *windowChunk) error {
	s, w := r.s, r.workers[0]
	w.tx.placer.Clock = s.uses.ClockAt(s.opts.Now())
	var set Shards
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
	s.keyspace.Lock(&set, true)
	defer s.keyspace.Unlock(&set)
	if err := r.entryLocked(w, c, apart); err != nil {
		return err
	}
	s.commits.Durable.Advance(r.last.LSN)
	s.commits.Journal.Resume(r.last)
	return nil
}

func (r *replay) entryLocked(w *replayer, c *windowChunk, apart bool) error {
	if apart {
		if err := r.apart(&window{chunks: []windowChunk{*c}}); err != nil {
			return err
		}
		r.s.catalog.TellNews()
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

// prefetch asks for the memory of the keys that were sorted, as apply does for those of one
// shard, of which an entry has few: for the slots of all, then for what these refer to.
func (w *replayer) prefetch() {
	n := 0
	for sh := range w.sorted {
		w.enter(sh)
		for i := range w.sorted[sh] {
			if w.choose(w.sorted[sh][i].phys); w.t == nil || w.t.Used == 0 || n == mostPrefetched {
				continue
			}
			hash := w.sorted[sh][i].hash
			w.t.PrefetchSlot(hash)
			w.upcoming[n] = upcomingKey{hash: hash, table: w.t}
			n++
		}
	}
	for _, k := range w.upcoming[:n] {
		k.table.PrefetchRecord(k.hash)
	}
	clear(w.upcoming[:n])
}

// bringIn reads the key at hand from the disk, if it is there and not in memory.
func (w *replayer) bringIn() error {
	if w.t.Resident || w.t.Find(w.hash, w.key) >= 0 || planted == assumedKeys {
		return nil
	}
	if _, _, err := w.replay.s.heads.Fault(w.t, w.hash, w.key, w.tx.placer.Fresh()); err != nil {
		return fmt.Errorf("before a change of it: %w", err)
	}
	return nil
}
