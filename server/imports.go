package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/commands/script/lua"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/intake"
	"github.com/vigildb/vigil/server/importer"
)

// OnConflict says what an import does with keys that are there already.
type OnConflict int

const (
	// ConflictFail: there may be none. The import is one step.
	ConflictFail OnConflict = iota
	// ConflictReplaceAll: what the databases had is gone. The import is one step.
	ConflictReplaceAll
	// ConflictSkip: they stay. The file is read to its end first, then its keys go in some at a time.
	ConflictSkip
	// ConflictReplace: they are replaced, and the others stay.
	ConflictReplace
)

// ImportOptions say what Import does.
type ImportOptions struct {
	Path        string    // of a file, a directory, or "-" for Stdin
	Stdin       io.Reader // what "-" is
	OnConflict  OnConflict
	Only        []int // databases; none: all
	SkipUnknown bool  // see docs/migration.md
	Whole       bool  // the last command of an append-only file must not be cut short
	Until       int64 // unix s; 0: all
}

// ErrNotEmpty is returned by Import, which is to fail on a conflict, if there are keys already.
var ErrNotEmpty = errors.New("there are keys already: skip or replace those that the file has too, or replace-all")

// importJob is one import.
type importJob struct {
	*transfer
	o     ImportOptions
	run   *importer.Import // nil before it has begun; guarded by mu
	merge importer.Summary // Put, Kept and Libraries; guarded by mu

	origin *persistence.Replicated // whose data it is, if a master's
	reign  uint64                  // of a member of a group, which imports while it leads
}

// fresh reports whether the databases are to have nothing but what is imported.
func (j *importJob) fresh() bool {
	return j.o.OnConflict == ConflictFail || j.o.OnConflict == ConflictReplaceAll
}

// gradual reports whether the keys go in some at a time: beside others, or into a group, whose members get everything through
// the log.
func (j *importJob) gradual(srv *Server) bool { return srv.opts.Group != nil || !j.fresh() }

// Import makes keys of a file of Redis or Valkey, in one step unless it is to skip or replace keys. Clients
// see nothing of it before. progress, if it is not nil, is called about once a second.
func (srv *Server) Import(ctx context.Context, o ImportOptions, progress func(importer.Summary)) (importer.Summary, error) {
	j, err := srv.beginImport(ctx, o)
	if err != nil {
		return importer.Summary{}, err
	}
	return j.await(func() error {
		err := srv.runImport(j)
		if err == nil {
			// So that the meta has the databases, and no record is needed to know them.
			err = srv.store.Passes().Materialise(ctx)
		}
		return err
	}, progress)
}

// done is what was done so far. j.mu is held.
func (j *importJob) done() importer.Summary {
	var s importer.Summary
	if j.run != nil {
		s = j.run.Summary()
	}
	s.Put, s.Kept, s.Libraries = j.merge.Put, j.merge.Kept, j.merge.Libraries
	return s
}

func (srv *Server) beginImport(ctx context.Context, o ImportOptions) (*importJob, error) {
	switch {
	case !srv.leads():
		return nil, errors.New("an import into a group is for the member that leads it: VIGIL.CLUSTER STATUS shows the leader")
	case srv.slotted():
		return nil, fmt.Errorf("an import into a group with slots is not possible: import into a server that is alone, and found the group with its data: %w", persistence.ErrMember)
	case srv.following.active.Load():
		return nil, errors.New("an import into a replica is not possible: its keys are the master's")
	}
	j := &importJob{o: o, reign: srv.following.current()}
	j.o.Only = slices.Clone(o.Only)
	var err error
	j.transfer, err = srv.imports.begin(ctx, srv, "import", o.Path, j.done)
	return j, err
}

// runImport makes an import.
func (srv *Server) runImport(j *importJob) (err error) {
	if j.o.OnConflict == ConflictFail && !srv.emptyFor(j.o.Only) {
		return ErrNotEmpty
	}
	in, err := srv.store.NewIntake()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	set := srv.settings()
	o := importer.Options{Path: j.o.Path, Stdin: j.o.Stdin, Databases: set.limits.Databases, MaxString: uint64(set.limits.MaxBulk),
		MaxBloom: set.limits.ModuleMemory(), MaxKey: persistence.MaxKey, HashKeys: in.HashKeys(), Now: srv.clock.Now().UnixMilli(),
		Only: j.o.Only, SkipUnknown: j.o.SkipUnknown, Slots: j.o.SkipUnknown, Torn: !j.o.Whole, Until: j.o.Until}
	var shop *workshop
	run := importer.New(o, in, func() (importer.Workshop, error) {
		shop, err = srv.openWorkshop(in, &o)
		return shop, err
	})
	j.mu.Lock()
	j.run = run
	j.mu.Unlock()
	err = run.Run(j.ctx)
	libs := run.Libraries()
	if shop != nil {
		libs = append(libs, shop.libraries...)
		err = errors.Join(err, shop.close())
	}
	if err == nil {
		err = in.Finish()
	}
	if err == nil {
		err = j.ctx.Err()
	}
	if err != nil {
		return err
	}
	return srv.settleImport(j, in, libs)
}

// emptyFor reports whether databases have no keys, all if only is empty.
func (srv *Server) emptyFor(only []int) bool {
	o := importer.Options{Only: only}
	tx := srv.store.NewTx()
	var all persistence.Shards
	all.AddAll()
	for !tx.Lock(&all, srv.clock.Now().UnixMilli()) {
		srv.waitABit()
	}
	defer tx.Unlock()
	for db := range srv.settings().limits.Databases {
		if o.Wants(db) && tx.Databases().Size(db) > 0 {
			return false
		}
	}
	return true
}

// backstage returns a session of no client, for what the server does with all keys.
func (srv *Server) backstage() *session {
	s := makeSession(srv, srv.store.NewTx())
	s.ctx.Client, s.ctx.Host, s.ctx.Table, s.ctx.Tx = &s.Client, s, srv.table, s.tx
	return s
}

// lockBackstage locks shards, and those that waiting clients need.
func (s *session) lockBackstage(ctx context.Context, set *persistence.Shards) error {
	s.turn.start(s.srv.clock.Now())
	s.ctx.Now, s.shards = s.turn.millis(), *set
	s.keys = s.keys[:0]
	for s.locked = s.lockToServe(); !s.locked; s.locked = s.lockToServe() {
		if s.srv.waitABit(); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	s.tx.OnChange = s.changed
	return nil
}

// settleImport makes what was taken in what clients see.
func (srv *Server) settleImport(j *importJob, in *intake.Intake, libs []string) error {
	s := srv.backstage()
	if err := srv.scripts.enter(); err != nil {
		return err
	}
	s.scripting.inside = true
	defer s.release()
	next, err := srv.joinLibraries(libs, j.o)
	if err != nil {
		return err
	}
	j.mu.Lock()
	j.merge.Libraries = int64(len(libs))
	j.mu.Unlock()
	if j.gradual(srv) {
		if err := s.clear(j); err != nil {
			return err
		}
		put, kept, err := s.merge(j, in)
		j.mu.Lock()
		j.merge.Put, j.merge.Kept = put, kept
		j.mu.Unlock()
		if err != nil {
			return fmt.Errorf("after %d keys, which stay: %w", put, err)
		}
	}
	var all persistence.Shards
	all.AddAll()
	if err := s.lockToChange(j.ctx, &all, j.reign); err != nil {
		return err
	}
	if !j.gradual(srv) {
		if err := s.takeOver(j, in); err != nil {
			return err
		}
	}
	now := srv.scripts.engine.Libraries()
	s.scripting.keepLibraries(now, next)
	if j.origin != nil {
		s.tx.SetReplicated(*j.origin)
	}
	s.srv.tracking.ChangedAll(&s.cache)
	err = s.tx.Err()
	s.commit()
	if err == nil {
		srv.scripts.engine.SetLibraries(next)
	}
	if lsn := s.durability.Awaited(); lsn > 0 && err == nil {
		s.unlock()
		err = srv.journal.WaitDurable(lsn)
	}
	return err
}

// clear empties the databases of a group that are to have nothing but what is imported. If that is a master's data, clients
// see nothing of it before its end.
func (s *session) clear(j *importJob) error {
	if !j.fresh() {
		return nil
	}
	var all persistence.Shards
	all.AddAll()
	if err := s.lockToChange(j.ctx, &all, j.reign); err != nil {
		return err
	}
	err := s.takeOver(j, nil)
	if err == nil && j.origin != nil {
		s.tx.SetReplicated(persistence.Incomplete())
	}
	s.srv.tracking.ChangedAll(&s.cache)
	err = errors.Join(err, s.tx.Err())
	s.commit()
	s.unlock()
	return err
}

// takeOver puts what was taken in, or nothing if in is nil, in place of the databases that the import is about. All shards are
// locked.
func (s *session) takeOver(j *importJob, in *intake.Intake) error {
	o := importer.Options{Only: j.o.Only}
	databases := s.srv.settings().limits.Databases
	for db := range databases {
		if o.Wants(db) && j.o.OnConflict == ConflictFail && s.tx.Databases().Size(db) > 0 {
			return ErrNotEmpty
		}
	}
	for db := range databases {
		if o.Wants(db) {
			s.WakeDB(db, db)
		}
	}
	wanted := func(db int) bool { return db < databases && o.Wants(db) }
	if in != nil {
		s.tx.TakeOver(in, wanted)
	} else {
		s.tx.Databases().FlushSome(wanted)
	}
	if err := s.tx.Err(); err != nil {
		return err
	}
	for db := range databases {
		if o.Wants(db) {
			s.touchDB(db, db) // keys that are there now
		}
	}
	return nil
}

// merge gives clients the keys that were taken in, beside those that they have.
func (s *session) merge(j *importJob, in *intake.Intake) (put, kept int64, err error) {
	return s.tx.Merge(in, j.o.OnConflict != ConflictSkip, func(set *persistence.Shards) (func() error, error) {
		if err := s.srv.store.WriteError(); err != nil {
			return nil, err
		}
		if err := s.lockToChange(j.ctx, set, j.reign); err != nil {
			return nil, err
		}
		return func() error {
			err := s.tx.Err()
			s.commit()
			s.unlock()
			s.srv.store.Commits().Throttle()
			return err
		}, nil
	})
}

// joinLibraries returns the libraries of functions that there are with those of an import. The call is inside the gate of scripts.
func (srv *Server) joinLibraries(sources []string, o ImportOptions) (*lua.Libraries, error) {
	e, memory := srv.scripts.engine, srv.settings().conf.LuaMemoryLimit
	added := lua.NewLibraries()
	for n, source := range sources {
		if _, err := e.AddLibrary(added, source, false, memory); err != nil {
			if !o.SkipUnknown {
				text, _ := commands.Text(err)
				return nil, fmt.Errorf("library %d of functions: %s", n+1, text)
			}
			srv.logf(logWarning, "A library of functions was not imported: %v", err)
		}
	}
	now := e.Libraries()
	switch {
	case o.OnConflict == ConflictReplaceAll && len(o.Only) == 0:
		return added, nil
	case o.OnConflict == ConflictSkip:
		next := added.Clone()
		return next, next.Join(now, true)
	}
	next := now.Clone()
	return next, next.Join(added, o.OnConflict != ConflictFail)
}

// errImportDir is returned for a file that is not in import-dir.
var (
	errImportDir  = commands.WireError("ERR the directive import-dir says in which directory files may be, and it is empty")
	errImportPath = commands.WireError("ERR the path has to stay within import-dir")
)

// transferPath returns where a file of a client is.
func (srv *Server) transferPath(path string) (string, error) {
	dir := srv.settings().conf.ImportDir
	if dir == "" {
		return "", errImportDir
	}
	if !filepath.IsLocal(path) {
		return "", errImportPath
	}
	return filepath.Join(dir, path), nil
}

// BeginImport begins an import in the background, for VIGIL.IMPORT.
func (h host) BeginImport(a admin.Import) error {
	srv := h.srv
	path, err := srv.transferPath(a.Path)
	if err != nil {
		return err
	}
	o := ImportOptions{Path: path, Only: a.Only, Until: a.Until, SkipUnknown: a.SkipUnknown, Whole: a.Whole,
		OnConflict: map[string]OnConflict{"SKIP": ConflictSkip, "REPLACE": ConflictReplace, "REPLACE-ALL": ConflictReplaceAll}[a.OnConflict]}
	j, err := srv.beginImport(srv.done, o)
	if err != nil {
		return commands.Errorf("ERR %v", err)
	}
	j.goOn(func() error { return srv.runImport(j) })
	return nil
}

// ImportStatus describes the import under way, or the last one.
func (h host) ImportStatus() admin.Transfer { return h.srv.imports.status(h.srv.clock.Now()) }

// StopImport ends the import under way, and reports whether there was one.
func (h host) StopImport() bool { return h.srv.imports.stop() }
