package commits

import (
	"fmt"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/structures"
)

// While the disk cannot be written, a read under SyncAlways must not return what is
// only in memory, but should return everything else: classes of hashes are too
// coarse for that, because the failure may last long. All records that are not on
// the device are still in memory then, so the keys that they changed are known.

// unsyncedKeys is the set of keys that have records which are not on the device.
type unsyncedKeys struct {
	upTo   uint64              // last record that was looked at
	hashes map[uint64]struct{} // of the keys
}

// excludes reports whether no unsynced record up to lsn, the newest of the key's class,
// changed the key. It is false if lsn is newer than the records that were looked at.
func (d *unsyncedKeys) excludes(hash, lsn uint64) bool {
	if lsn > d.upTo {
		return false
	}
	_, in := d.hashes[hash]
	return !in
}

// findUnsynced gathers the unsynced keys after a failure under SyncAlways: they are
// not needed under other policies.
func (c *committer) findUnsynced() {
	if c.Policy() != journal.SyncAlways {
		return
	}
	newest := c.Synced()
	for _, chunks := range [][]journal.Chunk{c.kept, c.due} {
		if n := len(chunks); n > 0 {
			newest = max(newest, chunks[n-1].Last)
		}
	}
	if d := c.Seen.unsynced.Load(); d != nil && d.upTo == newest {
		return
	}
	d := &unsyncedKeys{upTo: newest, hashes: map[uint64]struct{}{}}
	for _, chunks := range [][]journal.Chunk{c.kept, c.due} {
		for i := range chunks {
			if err := d.add(c.Hash, chunks[i].Records()); err != nil {
				// A bug, which must not end the process: the classes are correct too,
				// only coarser.
				c.Operator.Error("unsynced keys", fmt.Errorf("chunk %d in memory: %w", chunks[i].Index, err))
				d.upTo = 0
			}
		}
	}
	c.Seen.unsynced.Store(d)
}

// add adds the keys of records.
func (d *unsyncedKeys) add(hash func(key []byte) uint64, records []byte) error {
	for len(records) > 0 {
		rec, rest, err := format.NextRecord(records)
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
			if op == format.OpKey {
				args.Uint()
				d.hashes[hash(args.Bytes())] = struct{}{}
			}
		}
	}
	return nil
}
