package persistence

import (
	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/passes"
	"github.com/vigildb/vigil/persistence/purge"
	"github.com/vigildb/vigil/persistence/replay"
	"github.com/vigildb/vigil/persistence/sweep"
	"github.com/vigildb/vigil/persistence/writeback"
)

// initRooms says what the rooms work on that values pass through. They do nothing before the disk is there.
func (s opener) initRooms() {
	s.writer.Init(writeback.Config{
		Host: writerHost{s.Store}, Operator: operatorLog{s.Store}, Disk: &s.files.Disk, Keyspace: &s.keyspace, Keys: &s.keys, Journal: &s.commits.Journal, Log: &s.commits.Length,
		Expiries: &s.expiries, Now: s.opts.Now,
		BatchBytes: s.opts.BatchBytes, JournalBound: s.opts.JournalBound, LargeBytes: s.opts.LargeBytes,
	})
	s.eviction.Config = eviction.Config{
		Host: sweepHost{s.Store}, Keyspace: &s.keyspace, Writer: &s.writer, Uses: &s.uses, Now: s.opts.Now, Seed: s.seed, Derived: s.opts.DerivedMaxMemory,
	}
	s.heads.Config = heads.Config{Disk: &s.files.Disk, Keyspace: &s.keyspace, Writer: &s.writer, Values: &s.keys.Values}
	s.warmer.WarmConfig = heads.WarmConfig{Heads: &s.heads, Touch: func() uint64 { return s.uses.ClockAt(s.opts.Now()) },
		Failed: func(err error) { s.opts.Logf(LevelError, "%v", err) },
		Stops: func() bool {
			bound := s.eviction.Bound()
			return s.passes.Ctx.Err() != nil || bound > 0 && s.keyspace.Memory.Load() >= bound-bound/8
		}}
	s.purger.Config = purge.Config{Host: writerHost{s.Store}, Disk: &s.files.Disk, Keyspace: &s.keyspace, Writer: &s.writer, Clock: &s.expiries}
	s.sweeper.Init(sweep.Config{
		Host: sweepHost{s.Store}, Operator: operatorLog{s.Store}, Disk: &s.files.Disk, Keyspace: &s.keyspace, Keys: &s.keys, Clock: &s.expiries,
	})
	s.replay.Allowance = replay.NewAllowance(s.opts.bound())
	s.replay.Config = replay.Config{
		Files: &s.files, Commits: &s.commits, Keyspace: &s.keyspace, Heads: &s.heads, Writer: &s.writer, Purger: &s.purger, Uses: &s.uses,
		Catalog: func() *catalog.Catalog { return s.catalog }, Hash: s.Hash, Now: s.opts.Now, Bound: s.eviction.Bound,
		Seed: s.seed, Unreadable: operatorLog{s.Store}.unreadable, Origin: s.origin.get, Arrived: s.origin.set,
	}
	s.passes.Config = passes.Config{
		Files: &s.files, Commits: &s.commits, Keyspace: &s.keyspace, Writer: &s.writer, Purger: &s.purger, Sweeper: &s.sweeper,
		Replayer: &s.replay, Warmer: &s.warmer, Reserve: &s.reserve, Operator: operatorLog{s.Store}, Ctx: s.passes.Ctx, Now: s.opts.Now,
		IdleAfter: s.opts.IdleAfter, Catalog: func() *catalog.Catalog { return s.catalog }, Load: s.loadContents, Origin: s.origin.get, Seal: writerHost{s.Store}.Seal,
	}
	if s.member != nil {
		s.replay.Group, s.passes.Group = s.member, s.member
	}
}
