package persistence

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/wal"
)

// batchPart is which part of a memtable the writeback's batches are. A batch of half
// a memtable would become one of its own.
const batchPart = 4

// pebbleOptions are those of an instance of Pebble behind a fence.
func (s *Store) pebbleOptions(f *fence.FS) *pebble.Options {
	o := lsm.Options(f, pebbleLog{s, f})
	o.CacheSize, o.MemTableSize, o.MaxOpenFiles = s.opts.CacheBytes, lsm.MemTableBytes(s.opts.bound()), s.opts.OpenFiles
	o.EventListener = s.pebbleEvents(f)
	return o
}

// openDisk locks the directory and opens Pebble in it. The lock stays for the
// life of the store, whereas Pebble is replaced after a failure: it gets none.
func (s *Store) openDisk() error {
	if err := s.opts.FS.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return err
	}
	lock, err := lsm.Lock(s.opts.FS, s.opts.Dir)
	if err != nil {
		return err
	}
	s.lockFile = lock
	s.reserve.Open()
	if err = s.prepareFiles(); err != nil {
		return errors.Join(err, lock.Close())
	}
	f := s.newFence()
	s.disk.SetFence(f)
	if s.disk.DB, err = lsm.Open(s.opts.Dir, s.pebbleOptions(f), f, s.closing.Load); err != nil {
		return errors.Join(wal.Named(err), s.marked.Mark.Close(), lock.Close())
	}
	return nil
}

// newFence makes the fence of another instance of Pebble.
func (s *Store) newFence() *fence.FS {
	f := fence.New(s.marked, s.opts.Dir)
	f.HoldCompactions(s.reserve.Holds)
	return f
}

func (s *Store) closeDisk() error {
	return errors.Join(lsm.Close(s.opts.Dir, s.disk.DB, s.disk.Fence()), s.marked.Mark.Close(), s.lockFile.Close())
}

// loadCounts reads how many keys each shard has on disk.
func (s *Store) loadCounts() error {
	it, err := s.disk.DB.NewIter(&pebble.IterOptions{
		LowerBound: format.AppendGroup(nil, format.PrefixCount), UpperBound: format.AppendGroupEnd(nil, format.PrefixCount)})
	if err != nil {
		return fmt.Errorf("read counts: %w", err)
	}
	for it.First(); it.Valid(); it.Next() {
		phys, shard, n, err := format.DecodeCount(it.Key(), it.Value())
		if err != nil {
			return errors.Join(err, it.Close())
		}
		s.keyspace.Shard[shard].SetCount(phys, n)
	}
	return it.Close()
}
