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
func (h writerHost) Written(v structures.Value) structures.Value { return written(h.s.Level(), v) }
func (h writerHost) Unforced() bool                              { return !h.s.replay.Served() }
func (h writerHost) Trimmed() uint64                             { return h.s.passes.Trimmed.Load() }
func (h writerHost) Space() (free, total uint64)                 { return h.s.reserve.Space() }
func (h writerHost) Bound() int64                                { return h.s.eviction.SpillBound() }

// Seal adds to a batch what it may hold of the journal, see [files.Files.Seal]. A member adds that what the batch has may be all that
// is committed.
func (h writerHost) Seal(b *pebble.Batch, lsn uint64) error {
	if h.s.member != nil {
		return h.s.member.Rest(b)
	}
	return h.s.files.Seal(b, lsn)
}
