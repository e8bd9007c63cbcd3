package persistence

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/commits"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/feed"
	"github.com/vigildb/vigil/persistence/files"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/persistence/passes"
	"github.com/vigildb/vigil/persistence/purge"
	"github.com/vigildb/vigil/persistence/replay"
	"github.com/vigildb/vigil/persistence/reserve"
	"github.com/vigildb/vigil/persistence/slots"
	"github.com/vigildb/vigil/persistence/sweep"
	"github.com/vigildb/vigil/persistence/tasks"
	"github.com/vigildb/vigil/persistence/writeback"
)

// Store is an open keyspace. Its methods are safe for concurrent use.
type Store struct {
	opts    Options
	keys    format.Keys
	files   files.Files
	reports reports

	keyspace keyspace.Keyspace
	commits  commits.Commits

	catalog *catalog.Catalog // guarded by the lock of shard keyspace.TextShard

	eviction eviction.Evictor
	uses     slots.Uses
	txSeed   atomic.Uint64
	stats    counters
	tally    tally

	member    *member.Member // nil if the store is alone
	tracker   atomic.Pointer[Tracker]
	feed      feed.Feed
	purger    purge.Purger
	intake    atomic.Bool // one is under way
	ownPhys   uint32      // next database of an intake of a member; guarded by the locks of all shards
	following atomic.Bool // a master decides what expires
	origin    origin
	frozen    atomic.Bool // a copy is open
	reserve   reserve.Reserve

	writer   writeback.Writer
	heads    heads.Heads
	replay   replay.Replayer
	warmer   heads.Warmer
	sweeper  sweep.Sweeper
	expiries expiry.Clock

	// Background goroutines end when ctx does; Close waits for them.
	ctx    context.Context
	cancel context.CancelFunc
	tasks  tasks.Group
	// passes ends before ctx: Close has better use for the time.
	passes     passes.Passes
	stopPasses context.CancelFunc
	closing    atomic.Bool
}

// extend adds databases up to Options.Databases. It comes after the replay, which
// may still need the numbers that new databases get, and before a new store has
// its first record.
func (s opener) extend() error {
	if len(s.files.Meta.Phys) >= s.opts.Databases {
		return nil
	}
	if s.member != nil && len(s.files.Meta.Phys) > 0 {
		return tooFewDatabases(len(s.files.Meta.Phys), s.opts.Databases)
	}
	s.files.Meta.Extend(s.opts.Databases)
	s.keyspace.Phys = s.files.Meta.Phys
	s.files.Meta.Mapped = s.commits.Journal.Newest()
	for i := range s.keyspace.Shard {
		more := make([]*keyspace.Table, len(s.files.Meta.Phys))
		copy(more, s.keyspace.Shard[i].Tables)
		s.keyspace.Shard[i].Tables = more
	}
	if err := s.files.WriteMeta(&s.files.Meta, nil); err != nil {
		return fmt.Errorf("write meta: %w", err)
	}
	return nil
}

// Hash is the hash of a key, which chooses its shard. It is the same for the
// whole life of a store, and nobody without the store's secret can tell which
// keys share a part of it.
func (s *Store) Hash(key []byte) uint64 { return s.keys.Hash.Sum(key) }

// Databases is the number of logical databases, at least Options.Databases.
func (s *Store) Databases() int { return len(s.files.Meta.Phys) }

// SetSync changes when the journal is forced to the device, from the next
// record on. Replies of a group wait for the commit under all policies.
func (s *Store) SetSync(p SyncPolicy) { s.commits.SetPolicy(s.member.SetPolicy(p)) }

// Passes are the passes of the writeback.
func (s *Store) Passes() *passes.Passes { return &s.passes }

// Commits are what was recorded, and how far it has got.
func (s *Store) Commits() *commits.Commits { return &s.commits }

// Eviction is what frees memory, and its policy.
func (s *Store) Eviction() *eviction.Evictor { return &s.eviction }

// seed returns a seed for a generator, never 0.
func (s *Store) seed() uint64 { return s.txSeed.Add(0x9e3779b97f4a7c15) | 1 }

// Memory is the number of bytes that keys and values take: the records of short
// strings, the tables, and estimates for other values.
func (s *Store) Memory() int64 { return s.keyspace.Memory.Load() }
