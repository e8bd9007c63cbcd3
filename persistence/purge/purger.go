// Package purge frees what flushed databases leave behind: tables in memory, and ranges of keys on disk.
//
// FLUSHDB gives a logical database another physical one, so it takes as long however much there was. What had the old number is
// noted here, and freed in the background: tables at once, one shard locked at a time; what the disk has once the journal says
// there that they were flushed, since a crash would bring back a part of them else. Physical numbers are never used again, so
// each database is one range of counts, of lists, of heads and of pages.
package purge

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/writeback"
)

// Host is what purging asks of its store.
type Host interface {
	// AwaitSync waits until the device has the journal up to a record, and in a group until that is committed.
	AwaitSync(lsn uint64) error
	// Seal adds to a batch that it may hold what the records up to one did, before it is committed.
	Seal(b *pebble.Batch, lsn uint64) error
}

// Config is what a Purger works on. All of it belongs to the store.
type Config struct {
	Host     Host
	Disk     *lsm.Disk
	Keyspace *keyspace.Keyspace
	Writer   *writeback.Writer
	Clock    *expiry.Clock
}

// Purger frees flushed databases.
type Purger struct {
	Config

	mu     sync.Mutex
	tables []table  // guarded by mu
	phys   []uint32 // flushed databases that the disk still has; guarded by mu
	lsn    uint64   // record of the last of these flushes; guarded by mu
}

type table struct {
	shard int
	t     *keyspace.Table
}

// Table notes a table whose database was flushed. The lock of its shard is held.
func (p *Purger) Table(shard int, t *keyspace.Table) {
	t.Dropped = true
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tables = append(p.tables, table{shard, t})
}

// Databases notes physical databases that record lsn left without a name, and wakes the writeback, which removes them.
func (p *Purger) Databases(phys []uint32, lsn uint64) {
	p.mu.Lock()
	p.phys = append(p.phys, phys...)
	p.lsn = lsn
	p.mu.Unlock()
	p.Writer.Signal()
}

// Replaced is Databases for those that a new list of databases lacks, and forgets how many keys they have on disk. All shards
// are locked.
func (p *Purger) Replaced(old, phys []uint32, lsn uint64) {
	var flushed []uint32
	for _, was := range old {
		if slices.Contains(phys, was) {
			continue
		}
		flushed = append(flushed, was)
		for i := range p.Keyspace.Shard {
			delete(p.Keyspace.Shard[i].Counts, was)
		}
	}
	if len(flushed) > 0 {
		p.Databases(flushed, lsn)
	}
}

// Forget drops what was noted, and frees tables: all of memory is about to be made anew. All shards are locked.
func (p *Purger) Forget() {
	for _, old := range p.take() {
		old.t.Drop()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phys = nil
}

func (p *Purger) take() []table {
	p.mu.Lock()
	defer p.mu.Unlock()
	tables := p.tables
	p.tables = nil
	return tables
}

// flushed returns the databases to be removed from disk, once Pebble has the journal up to lsn.
func (p *Purger) flushed() (phys []uint32, lsn uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.phys, p.lsn
}

// purged notes that the first n of them are removed from disk.
func (p *Purger) purged(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phys = append([]uint32(nil), p.phys[n:]...)
}

// Drain frees tables. One shard is locked at a time, for as long as it takes to hand back the pages of one.
func (p *Purger) Drain() {
	for _, old := range p.take() {
		sh := &p.Keyspace.Shard[old.shard]
		sh.Mu.Lock()
		old.t.Drop()
		p.Keyspace.UnlockShard(sh)
	}
}

// Run frees memory and disk of flushed databases, if there are any. The error is the disk's, or keyspace.ErrTorn.
func (p *Purger) Run() error {
	p.Drain()
	if phys, _ := p.flushed(); len(phys) == 0 {
		return nil
	}
	p.Writer.Lock()
	defer p.Writer.Unlock()
	return p.RunLocked()
}

// RunLocked is Run amid a pass, with the lock of the writeback.
func (p *Purger) RunLocked() error {
	p.Drain()
	if p.Keyspace.Tear.Torn() {
		return keyspace.ErrTorn // the batch may be what a pass left that ended for this
	}
	if err := p.Writer.Commit(); err != nil { // what is under way may be of a flushed database
		return err
	}
	phys, lsn := p.flushed()
	if len(phys) == 0 {
		return nil
	}
	if err := p.Host.AwaitSync(lsn); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	for _, one := range phys {
		if err := p.remove(span{uint64(one), uint64(one) + 1}, lsn); err != nil {
			return err
		}
	}
	p.Clock.Forget(phys)
	p.purged(len(phys))
	return nil
}

// Unmapped removes what a flush before a crash left on disk: everything but the physical databases that logical ones have. The
// journal reaches lsn.
func (p *Purger) Unmapped(phys []uint32, lsn uint64) error {
	for _, gap := range gaps(phys) {
		if err := p.remove(gap, lsn); err != nil {
			return err
		}
	}
	for i := range p.Keyspace.Shard {
		for one := range p.Keyspace.Shard[i].Counts {
			if !slices.Contains(phys, one) {
				delete(p.Keyspace.Shard[i].Counts, one)
			}
		}
	}
	return nil
}

// span is a range of physical databases, the end not included.
type span struct{ from, to uint64 }

// gaps returns the ranges between physical databases.
func gaps(phys []uint32) []span {
	phys = slices.Clone(phys)
	slices.Sort(phys)
	var all []span
	from := uint64(0)
	for _, one := range phys {
		if uint64(one) > from {
			all = append(all, span{from, uint64(one)})
		}
		from = uint64(one) + 1
	}
	return append(all, span{from, 1 << 32})
}

// remove removes a range of physical databases if the disk has any of it: range deletions are not free. They were flushed by the
// records up to one.
func (p *Purger) remove(r span, lsn uint64) error {
	b := p.Disk.DB.NewBatch()
	for _, prefix := range []byte{format.PrefixCount, format.PrefixExpiry, format.PrefixHead, format.PrefixPage} {
		low, high := format.AppendPhysBound(nil, prefix, r.from), format.AppendPhysBound(nil, prefix, r.to)
		some, err := lsm.Any(p.Disk.DB, low, high)
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
	if err := p.Host.Seal(b, lsn); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := p.Disk.Apply(b, pebble.Sync); err != nil {
		return fmt.Errorf("purge databases: %w", err)
	}
	// Pebble drops the tables only once it has a table that says so, and it would
	// keep the deletion in its memtable until others fill that.
	if _, err := p.Disk.Flush(); err != nil {
		return fmt.Errorf("purge databases: %w", err)
	}
	return nil
}
