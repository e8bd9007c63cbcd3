package persistence

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/structures"
)

// writerHost is the store as the writeback sees it.
type writerHost struct{ s *Store }

// Contained implements writeback.Host: within a replay shards are at different records.
func (h writerHost) Contained(shard int) uint64 {
	if lsn := h.s.keyspace.Shard[shard].Contains; lsn != 0 {
		return lsn
	}
	return h.s.commits.Journal.Newest()
}

func (h writerHost) AwaitSync(lsn uint64) error                  { return h.s.commits.AwaitSync(lsn) }
func (h writerHost) Seal(b *pebble.Batch, lsn uint64) error      { return h.s.seal(b, lsn) }
func (h writerHost) Written(v structures.Value) structures.Value { return h.s.written(v) }
func (h writerHost) Unforced() bool                              { return !h.s.replay.Served() }
func (h writerHost) Trimmed() uint64                             { return h.s.passes.Trimmed.Load() }
func (h writerHost) Space() (free, total uint64)                 { return h.s.reserve.Space() }

// Bound implements writeback.Host: MaxMemory if values spill.
func (h writerHost) Bound() int64 {
	if Policy(h.s.policy.Load()) != PolicySpill {
		return 0
	}
	return h.s.maxMemory.Load()
}
