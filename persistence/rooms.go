package persistence

import (
	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/passes"
	"github.com/vigildb/vigil/persistence/replay"
)

// initReplay describes what a replay works on.
func (s *Store) initReplay() {
	s.replay.Allowance = replay.NewAllowance(s.opts.bound())
	s.replay.Config = replay.Config{
		Files: &s.files, Commits: &s.commits, Keyspace: &s.keyspace, Heads: &s.heads, Writer: &s.writer, Purger: &s.purger, Uses: &s.uses,
		Catalog: func() *catalog.Catalog { return s.catalog }, Hash: s.Hash, Now: s.opts.Now, Bound: s.bound.Load,
		Seed: func() uint64 { return s.txSeed.Add(0x9e3779b97f4a7c15) | 1 }, Unreadable: operatorLog{s}.unreadable, Arrived: s.origin.set,
	}
	if s.member != nil {
		s.replay.Group = s.member
	}
}

// initPasses describes what passes work on.
func (s *Store) initPasses() {
	s.passes.Config = passes.Config{
		Files: &s.files, Commits: &s.commits, Keyspace: &s.keyspace, Writer: &s.writer, Purger: &s.purger, Sweeper: &s.sweeper,
		Replayer: &s.replay, Warmer: &s.warmer, Reserve: &s.reserve, Operator: operatorLog{s}, Ctx: s.passes.Ctx, Now: s.opts.Now,
		IdleAfter: s.opts.IdleAfter, Catalog: func() *catalog.Catalog { return s.catalog }, Load: s.loadContents, Origin: s.origin.get, Seal: s.seal,
	}
	if s.member != nil {
		s.passes.Group = s.member
	}
}
