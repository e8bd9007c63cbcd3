package persistence

import (
	"sync"

	"github.com/vigildb/vigil/persistence/keyspace"
)

// discarded holds what a flush has left for the background to free.
type discarded struct {
	mu struct {
		sync.Mutex
		tables []oldTable
		phys   []uint32 // flushed databases that the disk still has
		lsn    uint64   // record of the last of these flushes
	}
}

type oldTable struct {
	shard int
	t     *keyspace.Table
}

func (d *discarded) table(shard int, t *keyspace.Table) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.tables = append(d.mu.tables, oldTable{shard, t})
}

// databases notes physical databases that record lsn left without a name.
func (d *discarded) databases(phys []uint32, lsn uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.phys = append(d.mu.phys, phys...)
	d.mu.lsn = lsn
}

// flushed returns the databases to be removed from disk, once Pebble has the
// journal up to lsn.
func (d *discarded) flushed() (phys []uint32, lsn uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.phys, d.mu.lsn
}

// purged records that the first n of them are removed from disk.
func (d *discarded) purged(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.phys = append([]uint32(nil), d.mu.phys[n:]...)
}

func (d *discarded) take() []oldTable {
	d.mu.Lock()
	defer d.mu.Unlock()
	tables := d.mu.tables
	d.mu.tables = nil
	return tables
}

// drain frees what was discarded. One shard is locked at a time, for as long as
// it takes to hand back the pages of one table.
func (d *discarded) drain(s *Store) {
	for _, old := range d.take() {
		sh := &s.keyspace.Shard[old.shard]
		sh.Mu.Lock()
		old.t.Drop()
		s.keyspace.UnlockShard(sh)
	}
}
