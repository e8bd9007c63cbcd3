package persistence

import "sync"

// discarded holds what a flush left behind for the background to free.
type discarded struct {
	mu struct {
		sync.Mutex
		tables []oldTable
	}
}

type oldTable struct {
	shard int
	t     *table
}

func (d *discarded) table(shard int, t *table) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.tables = append(d.mu.tables, oldTable{shard, t})
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
		sh := &s.shards[old.shard]
		sh.mu.Lock()
		old.t.drop()
		s.unlockShard(sh)
	}
}
