package persistence

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
)

// physRange is a range of physical databases, the end not included.
type physRange struct{ from, to uint64 }

// unmapped returns the ranges of physical databases but those that logical ones have.
func unmapped(phys []uint32) []physRange {
	phys = slices.Clone(phys)
	slices.Sort(phys)
	var ranges []physRange
	from := uint64(0)
	for _, p := range phys {
		if uint64(p) > from {
			ranges = append(ranges, physRange{from, uint64(p)})
		}
		from = uint64(p) + 1
	}
	return append(ranges, physRange{from, 1 << 32})
}

// purgeUnmapped removes what a flush before a crash left on disk.
func (s *Store) purgeUnmapped() error {
	for _, r := range unmapped(s.mapping.Phys) {
		if err := s.purgeRange(r, s.journal.Newest()); err != nil {
			return err
		}
	}
	for i := range s.keyspace.Shard {
		for phys := range s.keyspace.Shard[i].Counts {
			if !slices.Contains(s.mapping.Phys, phys) {
				delete(s.keyspace.Shard[i].Counts, phys)
			}
		}
	}
	return nil
}

// purgeFlushed frees memory and disk of flushed databases, if there are any.
func (s *Store) purgeFlushed() error {
	s.discard.drain(s)
	if phys, _ := s.discard.flushed(); len(phys) == 0 {
		return nil
	}
	s.writer.Lock()
	defer s.writer.Unlock()
	return s.purge()
}

// purge removes what flushed databases left on disk, with one range each of
// counts, expiries, heads and pages.
func (s *Store) purge() error {
	s.discard.drain(s)
	if s.keyspace.Tear.Torn() {
		return keyspace.ErrTorn // the batch may be what a pass left that ended for this
	}
	if err := s.writer.Commit(); err != nil { // what is under way may be of a flushed database
		return err
	}
	phys, lsn := s.discard.flushed()
	if len(phys) == 0 {
		return nil
	}
	// Without the record of the flush, a crash would bring back a part of it.
	if err := s.awaitSync(lsn); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	for _, p := range phys {
		if err := s.purgeRange(physRange{uint64(p), uint64(p) + 1}, lsn); err != nil {
			return err
		}
	}
	s.expiries.Forget(phys)
	s.discard.purged(len(phys))
	return nil
}

// purgeRange removes a range of physical databases if the disk has any of it:
// range deletions are not free. They were flushed by the records up to one.
func (s *Store) purgeRange(r physRange, lsn uint64) error {
	b := s.disk.DB.NewBatch()
	for _, prefix := range []byte{format.PrefixCount, format.PrefixExpiry, format.PrefixHead, format.PrefixPage} {
		low, high := format.AppendPhysBound(nil, prefix, r.from), format.AppendPhysBound(nil, prefix, r.to)
		some, err := lsm.Any(s.disk.DB, low, high)
		if err == nil && some {
			err = b.DeleteRange(low, high, nil)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("purge databases: %w", err), b.Close())
		}
	}
	if b.Empty() {
		return b.Close()
	}
	if err := s.seal(b, lsn); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := s.disk.Apply(b, pebble.Sync); err != nil {
		return fmt.Errorf("purge databases: %w", err)
	}
	// Pebble drops the tables only once it has a table that says so, and it would
	// keep the deletion in its memtable until others fill that.
	if _, err := s.disk.Flush(); err != nil {
		return fmt.Errorf("purge databases: %w", err)
	}
	return nil
}
