package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/script/lua"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/intake"
	"github.com/vigildb/vigil/server/importer"
	"github.com/vigildb/vigil/server/replica"
	"github.com/vigildb/vigil/structures/rdbfile"
)

// applier runs what a master sends. It implements [replica.Data] for the goroutine of one follower: a session of no client, which may
// change keys although the server is a replica, and does not ask for memory or permissions.
type applier struct {
	s     *session
	reign uint64            // of a member of a group, which applies while it leads
	exec  *commands.Command // EXEC, which a transaction is locked for
	room  []appliedCall     // for the calls of the next transaction

	mu      sync.Mutex
	pending durableAt // guarded by mu
	durable int64     // offset of what is on the device; guarded by mu
}

// durableAt is the newest record of a moment, and the offset of the stream then.
type durableAt struct {
	lsn    uint64
	offset int64
}

func (srv *Server) newApplier(reign uint64) *applier {
	s := srv.backstage()
	s.applies = true
	s.access.become(srv.users.Default())
	s.ctx.Reply = commands.NewReply(nil, 2)
	s.ctx.InMulti = true
	a := &applier{s: s, reign: reign}
	for _, cmd := range srv.table.All() { // which rename-command may have taken the name from
		if cmd.Is(commands.LocksQueue) {
			a.exec = cmd
		}
	}
	return a
}

// Position is what the store has of the stream of a master.
func (a *applier) Position() replica.Position {
	now := a.s.srv.store.Replicated()
	if !now.Follows {
		return replica.Position{}
	}
	return replica.Position{ID: now.ID, Offset: now.Offset, DB: now.DB}
}

// timeless is the time, in unix ms, at which commands run that may not see that something has expired: this is for the master to
// decide. Nothing has expired then.
const timeless = 1000

// nowFor is the time that a command sees.
func nowFor(cmd *commands.Command, argv [][]byte, now int64) int64 {
	switch {
	case cmd.Is(commands.RunsScripts), cmd.GroupName() == "stream":
		return now
	case cmd.Name == "RESTORE":
		for _, a := range argv[min(len(argv), 4):] {
			if word(a) == "ABSTTL" {
				return timeless
			}
		}
		return now // what it says counts from now
	}
	return timeless
}

// word is an argument in upper case, if it may be an option.
func word(arg []byte) string {
	if len(arg) > 16 {
		return ""
	}
	return strings.ToUpper(string(arg))
}

// Apply implements [replica.Data].
func (a *applier) Apply(calls []replica.Call, offset int64, db int, pass func(*replica.CommandError) bool) error {
	s := a.s
	if err := s.srv.store.DiskError(); err != nil {
		return err
	}
	if s.srv.store.Eviction().Over() {
		s.srv.store.Eviction().MakeRoom()
	}
	s.turn.start(s.srv.clock.Now())
	queue, err := a.look(calls, pass)
	if err != nil {
		return err
	}
	if len(queue) == 0 {
		return nil
	}
	if err := a.lock(queue); err != nil {
		return err
	}
	end := s.tx.SeeExpired()
	failed := a.runAll(queue, pass)
	end()
	if failed != nil {
		s.abandon()
		return failed
	}
	s.tx.Arrived(offset, db)
	a.settle()
	return s.srv.done.Err()
}

// settle commits and unlocks, and waits if the disk is behind.
func (a *applier) settle() {
	s := a.s
	s.commit()
	s.release()
	s.transaction.queue = nil
	s.totals.publishCalls(&s.srv.stats)
	if lsn := s.durability.Awaited(); lsn > 0 && s.durability.big {
		_ = s.srv.journal.WaitDurable(lsn) // the next command finds out what is wrong
	}
	s.durability = durability{s: s}
	s.srv.store.Commits().Throttle()
}

// appliedCall is a call with its row, and the database that it is for.
type appliedCall struct {
	queuedCall
	db int
}

// look finds the rows of calls. Those that may not be there are left out, or an error.
func (a *applier) look(calls []replica.Call, pass func(*replica.CommandError) bool) ([]appliedCall, error) {
	s := a.s
	clear(a.room)
	queue := a.room[:0]
	for _, call := range calls {
		cmd, sub := s.lookup(call.Args)
		var err error
		switch {
		case cmd == nil:
			err = commands.ErrUnknownCommand(call.Args)
		case !sub && len(cmd.Subcommands()) > 0 && len(call.Args) > 1:
			err = commands.ErrUnknownSubcommand(cmd, call.Args[1])
		case cmd.Run == nil, !cmd.ArityOK(len(call.Args)):
			err = commands.ErrArity(cmd)
		case !streamed(cmd):
			err = errNotStreamed
		default:
			err = admitKeys(cmd, call.Args)
		}
		if err == nil {
			argv := call.Args
			if countsFromNow(cmd, argv) {
				argv = importer.Absolute(argv, s.turn.millis())
				cmd, _ = s.lookup(argv)
			}
			queue = append(queue, appliedCall{queuedCall{cmd, argv}, call.DB})
			continue
		}
		text, _ := commands.Text(err)
		failed := &replica.CommandError{Args: call.Args, Text: string(text), Unknown: cmd == nil || !sub && len(cmd.Subcommands()) > 0}
		if !pass(failed) {
			return nil, failed
		}
	}
	if cap(queue) <= keepArgs {
		a.room = queue
	}
	return queue, nil
}

var errNotStreamed = commands.WireError("ERR this command does not belong into the stream of a master")

// streamed reports whether a master may send a command.
func streamed(cmd *commands.Command) bool {
	if cmd.Flags&(commands.Admin|commands.NotQueued|commands.LocksQueue|commands.Agrees) != 0 {
		return false
	}
	return cmd.Flags&(commands.Write|commands.MayReplicate|commands.ReadOnly|commands.RunsScripts) != 0 || cmd.GroupName() == "scripting"
}

// countsFromNow reports that a call may have an expiry that counts from now.
func countsFromNow(cmd *commands.Command, argv [][]byte) bool {
	switch cmd.Name {
	case "SET", "GETEX":
		return len(argv) > 3
	case "EXPIRE", "PEXPIRE", "SETEX", "PSETEX", "HEXPIRE", "HPEXPIRE":
		return true
	}
	return false
}

// lock locks what calls need.
func (a *applier) lock(queue []appliedCall) error {
	s := a.s
	row, argv := a.exec, [][]byte(nil)
	s.transaction.queue = s.transaction.queue[:0]
	if len(queue) == 1 {
		row, argv = queue[0].cmd, queue[0].argv
	} else {
		for _, q := range queue {
			s.transaction.queue = append(s.transaction.queue, q.queuedCall)
		}
	}
	s.in.argv, s.ctx.Now = argv, s.turn.millis()
	s.prepare(row, argv)
	for {
		err := s.lock(row, argv)
		if err == nil {
			break
		}
		if s.srv.done.Err() != nil {
			return s.srv.done.Err()
		}
		if !errors.Is(err, lua.ErrBusyScript) && !errors.Is(err, lua.ErrBusyFunction) {
			return err
		}
		s.srv.waitABit() // a script runs for too long
	}
	s.scripting.crowded = false
	if !s.locked { // no key: PUBLISH
		s.shards.AddTexts()
		for s.locked = s.lockToServe(); !s.locked; s.locked = s.lockToServe() {
			if s.srv.waitABit(); s.srv.done.Err() != nil {
				return s.srv.done.Err()
			}
		}
	}
	if err := s.reigns(a.reign); err != nil {
		s.release()
		return err
	}
	return nil
}

// runAll runs calls whose keys are locked, until one fails that may not.
func (a *applier) runAll(queue []appliedCall, pass func(*replica.CommandError) bool) error {
	s := a.s
	now := s.turn.millis()
	for _, q := range queue {
		s.SetDB(q.db)
		s.tx.Select(q.db)
		s.ctx.Now = nowFor(q.cmd, q.argv, now)
		start := s.turn.elapsed
		s.ctx.InMulti = true
		err := s.invoke(q.cmd, q.argv)
		s.ctx.Reply.Reset(keepBuffer)
		s.turn.elapsed = s.srv.clock.Since(s.turn.began)
		s.totals.called(q.cmd, s.turn.elapsed-start, err != nil, &s.srv.stats)
		if err == nil {
			continue
		}
		text, known := commands.Text(err)
		if !known || s.tx.Err() != nil {
			return err // the disk, or a bug: it may go another time
		}
		failed := &replica.CommandError{Args: q.argv, Text: string(text), Unknown: unknownType(q.cmd, err)}
		if !pass(failed) {
			return failed
		}
	}
	return nil
}

// unknownType reports that a command brings a value of a type that is not known.
func unknownType(cmd *commands.Command, err error) bool {
	return cmd.Name == "RESTORE" && err != commands.ErrBusyKey
}

// Note implements [replica.Data].
func (a *applier) Note(offset int64, db int) error {
	now := a.s.srv.store.Replicated()
	now.Offset, now.DB = offset, db
	return a.record(now)
}

// Rename implements [replica.Data].
func (a *applier) Rename(id string, offset int64) error {
	now := a.s.srv.store.Replicated()
	now.ID2, now.Second, now.ID = now.ID, offset+1, id
	return a.record(now)
}

// record notes whose data this is, without any change of keys.
func (a *applier) record(r persistence.Replicated) error {
	s := a.s
	if err := s.srv.store.DiskError(); err != nil {
		return err
	}
	var set persistence.Shards
	set.AddTexts()
	if err := s.lockToChange(context.Background(), &set, a.reign); err != nil {
		return err
	}
	s.tx.SetReplicated(r)
	err := s.tx.Err()
	a.settle()
	return err
}

// Durable returns the offset of what is known to be on the device.
func (a *applier) Durable() int64 {
	store := a.s.srv.store
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := &a.pending; store.Commits().Synced() >= p.lsn {
		a.durable = p.offset
		now, lsn := store.ReplicatedAt()
		*p = durableAt{lsn, now.Offset}
	}
	return a.durable
}

// received is a file of a master that was read into databases that nobody sees.
type received struct {
	a    *applier
	ctx  context.Context
	in   *intake.Intake
	run  *importer.Import
	rest io.Reader
}

// Read implements [replica.Data].
func (a *applier) Read(ctx context.Context, file io.Reader, size int64) (replica.Snapshot, error) {
	srv := a.s.srv
	in, err := srv.store.NewIntake()
	if err != nil {
		return nil, err
	}
	set := srv.settings()
	o := importer.Options{Databases: set.limits.Databases, MaxString: uint64(set.limits.MaxBulk), MaxBloom: set.limits.ModuleMemory(), MaxKey: persistence.MaxKey,
		HashKeys: in.HashKeys(), Replica: true}
	r := &received{a: a, ctx: ctx, in: in, run: importer.New(o, in, nil)}
	reader := rdbfile.NewReader(file, size, o.Reader())
	if err = r.run.Receive(ctx, reader); err == nil {
		err = in.Finish()
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	r.rest = reader.Rest()
	return r, nil
}

// Rest is what follows the file.
func (r *received) Rest() io.Reader { return r.rest }

// Keep makes it the data of the server, in one record with where it comes from; that of a group by many, see importJob.gradual.
func (r *received) Keep(at replica.Position) error {
	srv := r.a.s.srv
	origin := persistence.Replicated{Follows: true, ID: at.ID, Offset: at.Offset, DB: at.DB}
	j := &importJob{transfer: &transfer{ctx: r.ctx}, o: ImportOptions{OnConflict: ConflictReplaceAll}, origin: &origin, reign: r.a.reign}
	if err := srv.settleImport(j, r.in, r.run.Libraries()); err != nil {
		return err
	}
	summary := r.run.Summary()
	for _, line := range summary.Lines() {
		srv.logf(logNotice, "MASTER <-> REPLICA sync: %s", line)
	}
	srv.logf(logNotice, "MASTER <-> REPLICA sync: finished with %d keys", summary.All)
	return nil
}

// Close drops it unless it was kept.
func (r *received) Close() error {
	if err := r.in.Close(); err != nil {
		return fmt.Errorf("remove what was received: %w", err)
	}
	return nil
}
