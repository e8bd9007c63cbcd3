package persistence

import (
	"context"
	"errors"
	"fmt"

	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/commits"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/replay"
	"github.com/vigildb/vigil/persistence/wal"
)

// Open opens or makes the store in o.Dir, replays what the journal holds beyond
// the materialised values and starts the background work. The errors are ErrLocked,
// ErrVersion, ErrCorrupt, or the file system's, wrapped.
func Open(o Options) (*Store, error) {
	s, err := Start(o)
	if err != nil {
		return nil, err
	}
	if err := s.Load(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Start is Open without the replay, for callers that have something to do while
// it lasts. Until Load has returned, the store takes nothing but what needs no
// key: Progress, NewTx, Hash, Memory, Synced, WriteError, Eviction and SetSync.
func Start(o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{opts: o}
	s.keyspace.Init(&s.keys.Values, o.RecentBytes)
	s.feed.Keys = &s.keys.Values
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.passes.Ctx, s.stopPasses = context.WithCancel(s.ctx)
	opening := opener{s}
	opening.initFiles()
	s.commits.Init(commits.Config{Files: &s.files, Reserve: &s.reserve, Passes: &s.writer, Pacer: &s.writer, Operator: operatorLog{s},
		Elapsed: o.Elapsed, Hash: s.Hash, LockAll: s.keyspace.LockAll, Done: s.ctx.Done()})
	opening.join()
	opening.initRooms()
	s.txSeed.Store(o.Seed)
	s.eviction.Set(o.MaxMemory, o.Policy, o.Samples)
	s.SetSync(o.Sync)
	if err := s.files.Open(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	if err := opening.survey(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Dir, errors.Join(wal.Named(err), s.files.Tail.Close(), s.closeLog(), s.files.Close()))
	}
	return s, nil
}

// opener is a store that is being opened.
type opener struct{ *Store }

// survey reads what must be known before the replay.
func (s opener) survey() error {
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.files.LoadMeta(); err != nil {
		return err
	}
	s.keys = format.DeriveKeys(s.files.Meta.Secret)
	s.keyspace.Phys = s.files.Meta.Phys
	s.passes.Trimmed.Store(s.files.Meta.Trimmed.LSN)
	if err := s.openLog(); err != nil {
		return err
	}
	if err := s.files.OpenTail(); err != nil {
		return err
	}
	for i := range s.keyspace.Shard {
		s.keyspace.Shard[i].Tables = make([]*keyspace.Table, len(s.files.Meta.Phys))
	}
	return s.loadContents()
}

// loadContents reads what must be known of what is on disk.
func (s *Store) loadContents() (err error) {
	s.catalog, err = catalog.Load(s.files.Disk.DB, map[byte]catalog.Listener{
		format.OpUser: s.opts.OnUsers, format.OpConfiguration: s.opts.OnConfiguration, format.OpMove: s.opts.OnMoves})
	return errors.Join(err, s.heads.LoadCounts(), s.files.LoadMarks())
}

// Load replays the journal and starts the background work, once. After an error,
// which may be ctx's, only Close may follow; what is on disk is as it was.
func (s *Store) Load(ctx context.Context) error {
	opening := opener{s}
	if err := opening.load(ctx); err != nil {
		return fmt.Errorf("open store %s: %w", s.opts.Dir, wal.Named(err))
	}
	s.replay.Serve()
	opening.startTasks()
	return nil
}

func (s opener) load(ctx context.Context) error {
	if err := s.writer.Settle(); err != nil {
		return err
	}
	at, err := s.replay.Journal(ctx)
	if err != nil {
		return err
	}
	s.commits.Journal.Resume(at)
	s.commits.Durable.Resume(at.LSN)
	if s.files.Tail != nil && s.member == nil && planted != unkeptRecords {
		s.commits.Journal.SetTail(s.files.Tail)
	}
	if s.files.Lost != nil {
		s.opts.Logf(LevelWarn, "%s", s.files.Lost.Report(s.commits.Journal.Newest()))
	}
	if err := s.extend(); err != nil {
		return err
	}
	if err := s.files.Complete(); err != nil {
		return err
	}
	for _, dir := range []string{intakeDir, frozenDir} { // which are there after a crash
		if err := s.opts.FS.RemoveAll(s.opts.FS.PathJoin(s.opts.Dir, dir)); err != nil {
			return err
		}
	}
	if err := s.purger.Unmapped(s.files.Meta.Phys, s.commits.Journal.Newest()); err != nil {
		return err
	}
	return s.files.Disk.Fence().Adopt(s.commits.Fatal)
}

// Progress returns how far Load has got.
func (s *Store) Progress() *replay.Progress { return &s.replay.Progress }
