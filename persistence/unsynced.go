package persistence

import (
	"fmt"

	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/structures"
)

// While the disk cannot be written, a reader under SyncAlways must not be shown what
// is only in memory, and need not miss anything else: classes of hashes are too
// coarse for that, as nobody knows how long it lasts. All records that the device
// lacks are still in memory then, so the keys that they changed can be told.

// doubt is the keys of which the device lacks records.
type doubt struct {
	upTo   uint64              // last record that was looked at
	hashes map[uint64]struct{} // of the keys
}

// excludes reports that the device has the newest record lsn of a key's class as
// far as that key is concerned.
func (d *doubt) excludes(hash, lsn uint64) bool {
	if lsn > d.upTo {
		return false
	}
	_, in := d.hashes[hash]
	return !in
}

// doubtNow gathers the keys in doubt after a failure under SyncAlways: under other
// policies nobody asks.
func (c *committer) doubtNow() {
	s := c.s
	if SyncPolicy(s.sync.Load()) != SyncAlways {
		return
	}
	newest := s.Synced()
	for _, chunks := range [][]journal.Chunk{c.kept, c.due} {
		if n := len(chunks); n > 0 {
			newest = max(newest, chunks[n-1].Last)
		}
	}
	if d := s.seen.doubt.Load(); d != nil && d.upTo == newest {
		return
	}
	d := &doubt{upTo: newest, hashes: map[uint64]struct{}{}}
	for _, chunks := range [][]journal.Chunk{c.kept, c.due} {
		for i := range chunks {
			if err := d.add(s, chunks[i].Records()); err != nil {
				// A bug of ours, which must not end the process: classes tell as well.
				s.report(LevelError, "doubt", fmt.Errorf("chunk %d in memory: %w", chunks[i].Index, err))
				d.upTo = 0
			}
		}
	}
	s.seen.doubt.Store(d)
}

// add adds the keys of records.
func (d *doubt) add(s *Store, records []byte) error {
	for len(records) > 0 {
		rec, rest, err := nextRecord(records)
		if err != nil {
			return err
		}
		records = rest
		for len(rec) > 0 {
			var op byte
			var args structures.Args
			if op, args, rec, err = structures.NextOp(rec); err != nil {
				return err
			}
			if op == opKey {
				args.Uint()
				d.hashes[s.Hash(args.Bytes())] = struct{}{}
			}
		}
	}
	return nil
}
