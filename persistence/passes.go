package persistence

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/purge"
	"github.com/vigildb/vigil/persistence/sweep"
	"github.com/vigildb/vigil/persistence/writeback"
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

// initWriter makes the writeback, and what looks for expired keys and flushed databases. They do nothing before the disk is there.
func (s *Store) initWriter() {
	s.writer.Init(writeback.Config{
		Host: writerHost{s}, Operator: operatorLog{s}, Disk: &s.files.Disk, Keyspace: &s.keyspace, Keys: &s.keys, Journal: &s.commits.Journal, Log: &s.commits.Length,
		Expiries: &s.expiries, Now: s.opts.Now,
		BatchBytes: s.opts.BatchBytes, JournalBound: s.opts.JournalBound, LargeBytes: s.opts.LargeBytes,
	})
	s.heads.Config = heads.Config{Disk: &s.files.Disk, Keyspace: &s.keyspace, Writer: &s.writer, Values: &s.keys.Values}
	s.warmer.WarmConfig = heads.WarmConfig{Heads: &s.heads, Touch: func() uint64 { return s.uses.ClockAt(s.opts.Now()) },
		Warn: func(err error) { s.opts.Logf(LevelError, "%v", err) },
		Stops: func() bool {
			bound := s.bound.Load()
			return s.passes.Ctx.Err() != nil || bound > 0 && s.keyspace.Memory.Load() >= bound-bound/8
		}}
	s.purger.Config = purge.Config{Host: writerHost{s}, Disk: &s.files.Disk, Keyspace: &s.keyspace, Writer: &s.writer, Clock: &s.expiries}
	s.sweeper.Init(sweep.Config{
		Host: sweepHost{s}, Operator: operatorLog{s}, Disk: &s.files.Disk, Keyspace: &s.keyspace, Keys: &s.keys, Clock: &s.expiries,
	})
}
